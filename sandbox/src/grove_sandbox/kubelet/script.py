"""Annotations of a pod that tell the kubelet how the pod behaves. Without any, it is ready at once and runs on.

===================================  =============================================================================
annotation                           meaning
===================================  =============================================================================
sandbox.grove.io/ready-after         seconds from the start of the containers until they become ready
sandbox.grove.io/never-ready         "true": the containers run, but never become ready
sandbox.grove.io/image-error         name of a container whose image cannot be pulled; "*" for all of them
sandbox.grove.io/init-seconds        how long each init container runs
sandbox.grove.io/init-exit-code      exit code of each init container, 0 by default
sandbox.grove.io/exit-after          seconds from the start of the containers until they exit
sandbox.grove.io/exit-code           exit code of the containers, 1 by default
sandbox.grove.io/exit-times          how often they exit before they keep running; without limit by default
sandbox.grove.io/stop-seconds        how long they take to stop when the pod is deleted, at most its grace period
===================================  =============================================================================

Seconds may have fractions. A pod with an unknown or malformed annotation does not start; its status has the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

from grove_sandbox.kubelet.objects import KubeletPod

PREFIX = "sandbox.grove.io/"


@dataclass(frozen=True)
class Script:
    ready_after: float = 0.0
    never_ready: bool = False
    image_error: str = ""
    init_seconds: float = 0.0
    init_exit_code: int = 0
    exit_after: float | None = None
    exit_code: int = 1
    exit_times: int | None = None
    stop_seconds: float = 0.0

    def cannot_pull(self, container: str) -> bool:
        return self.image_error in ("*", container) and bool(self.image_error)

    def exits_again(self, times: int) -> bool:
        """Whether containers that have exited `times` times exit once more."""
        return self.exit_after is not None and (self.exit_times is None or times < self.exit_times)


class ScriptError(ValueError):
    """An annotation under `sandbox.grove.io/` is unknown or malformed."""


def script_of(pod: KubeletPod) -> Script:
    values: dict[str, object] = {}
    for key, text in pod.metadata.annotations.items():
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX).replace("-", "_")
        read = _READERS.get(name)
        if read is None:
            raise ScriptError(f"unknown annotation {key}; known annotations: {_known()}")
        try:
            values[name] = read(text)
        except ValueError as error:
            raise ScriptError(f"annotation {key} has an invalid value: {text!r}") from error
    return Script(**values)  # type: ignore[arg-type]


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


_READERS: dict[str, Callable[[str], object]] = {
    "ready_after": _seconds,
    "never_ready": _boolean,
    "image_error": str,
    "init_seconds": _seconds,
    "init_exit_code": int,
    "exit_after": _seconds,
    "exit_code": int,
    "exit_times": int,
    "stop_seconds": _seconds,
}


def _known() -> str:
    return ", ".join(PREFIX + name.replace("_", "-") for name in _READERS)
