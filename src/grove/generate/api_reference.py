"""Generates docs/api-reference.md from the models."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Raw

from grove.api.config import OperatorConfiguration
from grove.api.meta import ObjectMeta, Resource
from grove.api.serialization.codec import to_builtins
from grove.api.serialization.crds import KINDS
from grove.api.serialization.model import FieldInfo, Model, fields, unwrap

_HEADER = """# API reference

`make docs` generates this page from the models in `src/grove/api`; do not edit it.

The API server fills in the defaults. Grove checks the bounds. *Immutable* fields
must not change after creation; the CRD enforces that where an API server can.
"""

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", Raw: "JSON"}


def page() -> str:
    """The page: a section for each kind, and in it one for each structure that no earlier kind uses."""
    described: set[type[Model]] = {ObjectMeta}
    lines = [_HEADER]
    kinds: list[type[Model]] = [*KINDS, OperatorConfiguration]
    for kind in kinds:
        lines += _section(kind, described)
    return "\n".join(lines)


def _section(kind: type[Model], described: set[type[Model]]) -> Iterator[str]:
    yield f"## {kind.__name__}\n"
    yield f"{(kind.__doc__ or '').strip()}\n"
    if issubclass(kind, Resource):
        r = kind.resource
        short = ", ".join(f"`{s}`" for s in r.short_names)
        yield f"`{r.api_version}`, {'namespaced' if r.namespaced else 'cluster-scoped'}, `{r.plural}` ({short})\n"
    waiting: list[type[Model]] = [kind]
    while waiting:
        model = waiting.pop(0)
        if model in described:
            continue
        described.add(model)
        if model is not kind:
            yield f"### {model.__name__}\n"
        yield "| field | type | default | about |\n|---|---|---|---|"
        yield from (_row(f) for f in fields(model))
        yield ""
        waiting += [m for f in fields(model) if (m := _model_in(f.type)) is not None]


def _row(field: FieldInfo) -> str:
    default = "" if field.api_default is msgspec.NODEFAULT else _default(field.api_default)
    if field.required:
        default = "*required*"
    return f"| `{field.json_name}` | {_type(field.type)} | {default} | {_about(field)} |"


def _default(value: Any) -> str:
    return "see below" if isinstance(value, Model) else f"`{to_builtins(value)!r}`".replace("'", '"')


def _about(field: FieldInfo) -> str:
    about = field.about
    notes = [about.text]
    if about.above is not None:
        notes.append(f"More than {about.above}.")
    if about.at_least is not None:
        notes.append(f"At least {about.at_least}.")
    if about.max_length is not None:
        notes.append(f"At most {about.max_length} characters.")
    if about.key is not None:
        notes.append(f"Unique by `{about.key}`.")
    if about.immutable:
        notes.append("*Immutable.*")
    return " ".join(n for n in notes if n).replace("|", "\\|")


def _type(kind: Any) -> str:
    kind, _ = unwrap(kind)
    origin = get_origin(kind)
    if origin is list:
        return f"list of {_type(get_args(kind)[0])}"
    if origin is dict:
        return "map of string"
    if origin is Literal:
        return " \\| ".join(f"`{v}`" for v in get_args(kind))
    if kind in _PLAIN:
        return _PLAIN[kind]
    if issubclass(kind, Model) and kind is not ObjectMeta:
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return str(kind.__name__)


def _model_in(kind: Any) -> type[Model] | None:
    kind, _ = unwrap(kind)
    if get_origin(kind) is list:
        return _model_in(get_args(kind)[0])
    return kind if isinstance(kind, type) and issubclass(kind, Model) else None
