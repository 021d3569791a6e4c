"""A base image with Python, made from Debian packages: container registries need not be within reach.

One tar archive in the cache of binaries, keyed by what goes into it. `make image` builds the operator's image on it
where no other base is named, and programs of tests run on it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from grove_testbed.build import BuildError, NotBuiltError, cache_folder
from grove_testbed.nodes import requirements

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python3", "python3-venv")
# Nobody reads manuals in a container; and what a power cut breaks is made again.
_OPTIONS = (
    "force-unsafe-io",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)
COMMAND = "grove-testbed base-image"


def base_image() -> Path:
    """The archive; ``NotBuiltError`` says how to get it."""
    if not _path().exists():
        raise NotBuiltError(f"the base image is not built; run: {COMMAND}")
    return _path()


def build_base_image(say: Callable[[str], None]) -> Path:
    """The archive, made now unless the cache has it; it appears under its name only when it is whole."""
    target = _path()
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            requirements.check()
            say(f"Making a base image of Debian {SUITE} with {', '.join(PACKAGES)}")
            _make(target)
    return target


def _make(target: Path) -> None:
    partial = target.with_name(f"partial-{os.getpid()}.tar")
    command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    command += [f"--dpkgopt={option}" for option in _OPTIONS]
    # The same packages give the same archive.
    environment = os.environ | {"SOURCE_DATE_EPOCH": "0", "PATH": requirements.SEARCH_PATH}
    try:
        done = subprocess.run(
            ["nice", *command, SUITE, str(partial)], capture_output=True, text=True, env=environment
        )
        if done.returncode != 0:
            raise BuildError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


def _path() -> Path:
    digest = hashlib.sha256(repr((SUITE, PACKAGES, _OPTIONS)).encode()).hexdigest()[:12]
    return cache_folder() / "base-image" / f"{SUITE}-{digest}.tar"
