"""A problem that validation reports: field, value, rule and remedy."""

from dataclasses import dataclass
from typing import Any

from grove.schema.errors import OMITTED, FieldError, FieldErrorReason, Path


@dataclass(frozen=True, slots=True)
class Problem(FieldError):  # noqa: N818
    """A field error with a remedy. A `warning` does not make an object invalid."""

    remedy: str = ""
    warning: bool = False


def invalid(path: Path, value: Any, detail: str, remedy: str) -> Problem:
    return Problem(FieldErrorReason.INVALID, path, value, detail, remedy)


def required(path: Path, detail: str, remedy: str) -> Problem:
    return Problem(FieldErrorReason.REQUIRED, path, OMITTED, detail, remedy)


def duplicate(path: Path, value: Any, detail: str, remedy: str) -> Problem:
    return Problem(FieldErrorReason.DUPLICATE, path, value, detail, remedy)


def forbidden(path: Path, detail: str, remedy: str) -> Problem:
    return Problem(FieldErrorReason.FORBIDDEN, path, OMITTED, detail, remedy)


def unsupported(path: Path, value: Any, supported: list[str], remedy: str) -> Problem:
    names = ", ".join(f'"{s}"' for s in supported)
    return Problem(FieldErrorReason.NOT_SUPPORTED, path, value, f"supported values: {names}", remedy)


def warning(path: Path, value: Any, detail: str, remedy: str) -> Problem:
    return Problem(FieldErrorReason.INVALID, path, value, detail, remedy, warning=True)
