"""Reads the files that commands are given: manifests and the operator's configuration."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grove.cli.output import CommandError, Exit

if TYPE_CHECKING:
    from grove.api.config import OperatorConfiguration
    from grove.api.serialization.manifests import Source

_SUFFIXES = (".yaml", ".yml", ".json")


def read_sources(filenames: list[str]) -> "tuple[list[Source], list[str]]":
    """The texts of all files, and one message for each file that cannot be read."""
    from grove.api.serialization.manifests import Source

    sources: list[Source] = []
    unreadable: list[str] = []
    for name in filenames:
        if name == "-":
            sources.append(Source("<stdin>", sys.stdin.read()))
            continue
        path = Path(name)
        files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES) if path.is_dir() else [path]
        if not files:
            unreadable.append(f"{name}: no {', '.join(_SUFFIXES)} files in this folder")
        for file in files:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as e:
                unreadable.append(f"{file}: {getattr(e, 'strerror', None) or 'this is not UTF-8 text'}")
            else:
                # JSON may be indented with tabs; YAML, as which it is parsed, does not allow that.
                sources.append(Source(str(file), text.expandtabs() if file.suffix == ".json" else text))
    return sources, unreadable


def read_configuration(path: Path) -> "OperatorConfiguration":
    """Raises CommandError that lists everything that is wrong with the file."""
    from grove.api.config import OperatorConfiguration
    from grove.api.serialization.codec import DecodeError
    from grove.api.serialization.yaml import YamlError
    from grove.api.validation import check_configuration

    try:
        configuration = OperatorConfiguration.from_yaml(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise CommandError(f"{path}: {e.strerror}", code=Exit.USAGE) from e
    except (DecodeError, YamlError) as e:
        raise CommandError(f"{path}: {e}", "correct the configuration file", Exit.USAGE) from e
    problems = check_configuration(configuration)
    if problems:
        listed = "\n".join(f"  {p} ({p.remedy})" for p in problems)
        raise CommandError(f"{path} is not valid:\n{listed}", code=Exit.USAGE)
    return configuration
