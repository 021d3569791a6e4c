"""Fills the cache of binaries: ``<cache>/<program>/<version>-<fingerprint>/<program>``.

A binary appears under its final name by one rename, after the compiler has finished: a build that was cut
short never counts. A file lock makes a second builder of the same program wait for the first and then use
its binary.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grove_testbed.components import Component
from grove_testbed.toolchain import find_go

# Told (packages compiled, packages to compile) while a build runs.
Progress = Callable[[int, int], None]


class BuildError(RuntimeError):
    """The compiler refused; the message ends in its last words."""


class NotBuiltError(LookupError):
    """A program is needed that nobody has built yet."""


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "grove-testbed"


def binary_path(component: Component) -> Path:
    """Where the binary is, or will be once it is built."""
    key = f"{component.version}-{component.fingerprint}"
    return cache_folder() / component.name / key / component.name


def is_built(component: Component) -> bool:
    return binary_path(component).exists()


def built(component: Component) -> Path:
    """The binary; ``NotBuiltError`` says how to get it."""
    if not is_built(component):
        raise NotBuiltError(
            f"{component.title} is not built; run: grove-testbed build {component.name}@{component.version}"
        )
    return binary_path(component)


def build(component: Component, progress: Progress, say: Callable[[str], None]) -> Path:
    """The binary, compiled now unless the cache has it."""
    target = binary_path(component)
    if target.exists():
        return target
    target.parent.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target.parent.with_suffix(target.parent.suffix + ".lock")):
        if not target.exists():
            _compile(component, target, progress, say)
    return target


def _compile(component: Component, target: Path, progress: Progress, say: Callable[[str], None]) -> None:
    go = find_go(cache_folder(), say)
    flags = ["-trimpath", "-buildvcs=false", "-mod=readonly", f"-ldflags={component.ldflags}"]
    # GOTOOLCHAIN=local: the Go we chose is the Go that builds. No C compiler is needed or used.
    environment = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    scratch = Path(tempfile.mkdtemp(prefix=f"{target.parent.name}.partial-", dir=target.parent.parent))
    log = cache_folder() / "logs" / f"build-{component.name}-{component.version}.log"
    log.parent.mkdir(parents=True, exist_ok=True)

    def run(*arguments: str) -> Iterator[str]:
        """The lines of a go command, each also kept in the log; BuildError unless it succeeds."""
        command = ["nice", "-n", "10", str(go), *arguments, component.package]
        with (
            log.open("a") as kept,
            subprocess.Popen(
                command,
                cwd=component.module,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            assert process.stdout is not None
            tail: list[str] = []
            for line in process.stdout:
                kept.write(line)
                tail = [*tail[-14:], line]
                yield line
        if process.returncode != 0:
            raise BuildError(f"Building {component.title} failed. Whole log: {log}\n{''.join(tail)}")

    try:
        log.unlink(missing_ok=True)
        stale = "{{if .Stale}}{{.ImportPath}}{{end}}"
        # The same flags as the build, or `go list` would call everything stale.
        total = sum(1 for line in run("list", *flags, "-deps", "-f", stale) if line.strip())
        progress(0, total)
        output = scratch / component.name
        for done, _ in enumerate(run("build", *flags, "-p", "2", "-v", "-o", str(output)), start=1):
            progress(min(done, total), total)
        target.parent.mkdir(exist_ok=True)
        output.rename(target)
    finally:
        shutil.rmtree(scratch)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
