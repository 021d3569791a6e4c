"""Waits until the parents are ready, then exits with 0, and with it the init container.

    list    what is there now; ends the wait, or says from where to watch
    watch   every change from there on; ends the wait, or is resumed where it stopped
    410     the server has forgotten that point: list again
    401     the token has expired or was replaced, and is read again. 403: the Role of the set may still be on its way.
            Both are asked again a few times, then the program fails: the kubelet shows its last words in the pod's
            status, and starts it again
    else    a server that is away or busy is asked again for as long as it takes, with growing pauses

There is no timeout: a parent may take hours to load a model. Each change is one line of the log.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from grove.startup.pods import AnswerError, ConnectionLostError, PodsClient
from grove.startup.waiting import BadRequirementError, Pod, Wait, parse_arguments

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
POD_INFO = "/var/grove/pod-info"
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
# Half a minute of pauses: longer than a new Role takes to be known to every API server.
REFUSALS = 6
GONE = 410


class FailedError(Exception):
    """The wait cannot go on."""


def main(arguments: Sequence[str], environ: Mapping[str, str], root: str = "") -> int:
    """The whole program; returns its exit code. `root` is in front of all paths."""
    signal.signal(signal.SIGTERM, _stop)  # as process 1 of a container it would ignore the signal otherwise
    try:
        told = parse_arguments(arguments)
        namespace, gang = _info(root, "namespace"), _info(root, "podgangname")
        if not namespace or not gang:
            raise FailedError(f"{root}{POD_INFO} does not tell the namespace and the gang of this pod")
        wait = Wait(told)
        host, port = environ["KUBERNETES_SERVICE_HOST"], int(environ["KUBERNETES_SERVICE_PORT"])
        client = PodsClient(host, port, f"{root}{ACCOUNT}", namespace)
        started = time.monotonic()
        Waiter(wait, client, gang).run()
    except KeyError as e:
        return _fail(f"the variable {e} is not set: this program runs in a pod")
    except (BadRequirementError, FailedError) as e:
        return _fail(str(e))
    say(f"done after {time.monotonic() - started:.1f} s: {wait}")
    return 0


class Waiter:
    """Keeps `wait` up to date until it is over."""

    def __init__(
        self, wait: Wait, client: PodsClient, gang: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._wait = wait
        self._client = client
        self._selector = wait.selector(gang)
        self._sleep = sleep
        self._version = ""
        self._said = ""
        self._failures = 0
        self._refusals = 0

    def run(self) -> None:
        """Raises FailedError if the server keeps refusing."""
        say(f"waiting for {self._wait}")
        while not self._wait.is_over:
            try:
                if self._version:
                    self._watch()
                else:
                    self._list()
            except AnswerError as e:
                self._refused(e)
            except ConnectionLostError as e:
                self._pause(str(e))

    def _list(self) -> None:
        found: list[Pod] = []
        version = ""
        for pods, page_version in self._client.pages(self._selector):
            found += pods
            version = page_version
        self._answered()
        self._wait.replace(found)
        self._version = version
        self._tell()

    def _watch(self) -> None:
        """Until the wait is over or the server ends the watch."""
        for kind, body in self._client.watch(self._selector, self._version):
            self._answered()
            self._version = body["metadata"]["resourceVersion"]
            if kind == "BOOKMARK":
                continue
            pod = Pod.of(body)
            if kind == "DELETED":
                self._wait.remove(pod.name)
            else:
                self._wait.update(pod)
            self._tell()
            if self._wait.is_over:
                self._client.close()
                return

    def _answered(self) -> None:
        self._failures = self._refusals = 0

    def _refused(self, error: AnswerError) -> None:
        if error.code == GONE:
            self._version = ""
            say("the watch is too old for the server, listing again")
        elif error.code in (401, 403):
            self._refusals += 1
            if self._refusals >= REFUSALS:
                raise FailedError(_refusal(error)) from error
            self._pause(str(error))
        elif error.code in (0, 408, 429) or error.code >= 500:
            self._pause(str(error), error.retry_after)
        else:
            raise FailedError(f"the API server refuses to list or watch pods: {error}") from error

    def _pause(self, why: str, at_least: float = 0.0) -> None:
        """Doubles with every failure in a row. A random part keeps the pods of a gang from asking all at once."""
        longest = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
        self._failures += 1
        pause = max(longest * (0.5 + os.urandom(1)[0] / 512), at_least)
        say(f"{why}; asking again in {pause:.1f} s")
        self._sleep(pause)

    def _tell(self) -> None:
        now = str(self._wait)
        if now != self._said:
            self._said = now
            say(now)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _refusal(error: AnswerError) -> str:
    if error.code == 401:
        return f"the API server does not accept this pod's token: {error}"
    return (
        f"this pod's service account may not list and watch pods: {error}. The operator keeps a Role and a "
        "RoleBinding for that in every set with a start order: look at the errors in the set's status"
    )


def _info(root: str, name: str) -> str:
    """A file of the downward API; empty if it is missing."""
    try:
        with open(f"{root}{POD_INFO}/{name}") as file:  # noqa: PTH123 (pathlib is large)
            return file.read().strip()
    except FileNotFoundError:
        return ""


def _fail(why: str) -> int:
    say(f"failed: {why}")
    return 1


def _stop(number: int, _: object) -> None:
    raise SystemExit(128 + number)
