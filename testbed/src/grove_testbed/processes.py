"""A child process with a log file, a readiness check and an end."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")


class StartError(RuntimeError):
    """A process ended, or did not become ready in time; the message ends in its last words."""


@dataclass
class Process:
    """A running program. Start it on a thread that lives as long: the kernel ties it to that thread."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    popen: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> Process:
        """``environment`` comes on top of our own."""
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [*leash, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | dict(environment or {}),
            )
        return cls(name, command, log, environment or {}, popen)

    def restarted(self) -> Process:
        """The same program again, after ``kill``; it goes on in the same log."""
        return Process.start(self.name, self.command, self.log, self.environment)

    def wait_until(self, ready: Callable[[], bool], seconds: float = 90) -> None:
        """Waits for a condition that only this process can bring about."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.popen.poll() is not None:
                raise StartError(f"{self.name} ended with code {self.popen.returncode}. {self.last_words()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self.name} was not ready after {seconds:.0f} s. {self.last_words()}")
            time.sleep(0.05)

    def last_words(self, lines: int = 15) -> str:
        text = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([f"Log {self.log}:", *text])

    def kill(self) -> None:
        """As abruptly as a power cut."""
        self.popen.kill()
        self.popen.wait()

    def stop(self, seconds: float = 5) -> None:
        self.popen.terminate()
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()


def answers_ok(url: str, tls: ssl.SSLContext | None = None) -> Callable[[], bool]:
    """A readiness check: does GET of this address answer 200?"""

    def check() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2, context=tls) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return check
