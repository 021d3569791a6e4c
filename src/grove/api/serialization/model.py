"""What a kind is made of: the base class of all models, and what is said about each of their fields.

A field is defined once, on its model. From that one definition come the CRD schema (`grove.api.serialization.crds`),
offline validation (`grove.api.validation`) and the reference page (`grove.generate.api_reference`)::

    class PodCliqueSetSpec(Model):
        replicas: Annotated[Int32, About("How many copies of the template to run.", at_least=0)] = default(0)

Conventions that every model follows:

- an optional field defaults to None, an optional list or map to an empty one; neither is written when unset;
- a field with a default in the API uses `default(value)`: filled in when absent, always written;
- a required field has no default.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Raw


@dataclass(frozen=True, slots=True)
class Cel:
    """A CEL rule of the CRD. `create_only` rules pass for objects that are stored already."""

    rule: str
    message: str
    reason: str | None = None
    field_path: str | None = None
    create_only: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """What is known about a field beyond its Python type.

    Bounds (`above`, `at_least`) are checked by validation and not by the CRD: the reference's CRDs have none, and
    every object that is stored under those must stay valid under ours. The rest goes into the CRD as well.
    """

    text: str = ""
    above: int | None = None
    at_least: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    pattern: str | None = None
    # Names the field that tells the items of a list apart; `merged` lists are also `listType: map` in the CRD.
    key: str | None = None
    merged: bool = False
    atomic: bool = False
    immutable: bool = False
    cel: tuple[Cel, ...] = ()
    # Merged into the CRD schema as it is, for what the Python type cannot say.
    schema: Mapping[str, Any] | None = None


def default(value: Any) -> Any:
    """The API's default for a field: used when the field is absent, and always written."""
    if isinstance(value, str | int | float):
        return msgspec.field(default_factory=lambda: value)
    return msgspec.field(default_factory=lambda: copy.deepcopy(value))


Int32 = Annotated[int, About(schema={"format": "int32"})]
Int64 = Annotated[int, About(schema={"format": "int64"})]


class _KeepsUnknown:
    """Room for the fields of a user's object that the model does not know; `grove.api.serialization.codec` fills it."""

    __slots__ = ("_unknown",)
    _unknown: dict[str, Raw]


class _ModelMeta(msgspec.StructMeta):
    """Fields are given by name, so that required and optional ones can stand in the order that reads best."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> "_ModelMeta":
        return super().__new__(mcls, name, bases, namespace, **{"kw_only": True, **config})


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(
    _KeepsUnknown,
    msgspec.Struct,
    metaclass=_ModelMeta,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    # CEL rules on the object as a whole.
    cel: ClassVar[tuple[Cel, ...]] = ()

    @property
    def unknown(self) -> dict[str, Raw]:
        """Fields that this version of the model does not know, as they were read."""
        return getattr(self, "_unknown", {})

    def __copy__(self) -> Self:
        return replace(self)

    def __replace__(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return replace(self, **{f: copy.deepcopy(getattr(self, f), memo) for f in self.__struct_fields__})


M = TypeVar("M", bound=Model)

# The models that were ever read with unknown fields in this process. No other need be asked: a slot that was never
# filled answers with an exception, which takes longer than to copy a model.
HAD_UNKNOWN: set[type[Model]] = set()


def replace(model: M, **changes: Any) -> M:
    """The same model with some fields changed; its unknown fields are kept."""
    changed = msgspec.structs.replace(model, **changes)
    if type(model) in HAD_UNKNOWN and (unknown := model.unknown):
        changed._unknown = dict(unknown)  # noqa: SLF001
    return changed


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One field of a model, with everything that its annotations say."""

    name: str
    json_name: str
    type: Any
    about: About
    required: bool
    api_default: Any  # msgspec.NODEFAULT when the API has none


def unwrap(annotation: Any) -> tuple[Any, About]:
    """Splits `Annotated[X | None, About(..), ..]` into X and one About; what stands further out wins."""
    parts: list[About] = []
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *extras = get_args(annotation)
            parts += [e for e in reversed(extras) if isinstance(e, About)]
        elif origin in (Union, UnionType) and type(None) in get_args(annotation):
            annotation = Union[tuple(a for a in get_args(annotation) if a is not type(None))]  # noqa: UP007
        else:
            return annotation, _merged(parts)


def _merged(parts: list[About]) -> About:
    said: dict[str, Any] = {}
    for name, field in About.__dataclass_fields__.items():
        said[name] = next((v for p in parts if (v := getattr(p, name)) != field.default), field.default)
    said["schema"] = {k: v for p in reversed(parts) for k, v in (p.schema or {}).items()}
    return About(**said)


_FIELDS: dict[type[Model], tuple[FieldInfo, ...]] = {}


def fields(model: type[Model]) -> tuple[FieldInfo, ...]:
    """The fields of a model in the order in which they are written."""
    if model not in _FIELDS:
        hints = get_type_hints(model, include_extras=True)
        _FIELDS[model] = tuple(_field(f, hints[f.name]) for f in msgspec.structs.fields(model))
    return _FIELDS[model]


def _field(field: msgspec.structs.FieldInfo, hint: Any) -> FieldInfo:
    kind, about = unwrap(hint)
    has_api_default = field.default_factory not in (msgspec.NODEFAULT, list, dict)
    return FieldInfo(
        name=field.name,
        json_name=field.encode_name,
        type=kind,
        about=about,
        required=field.required,
        api_default=field.default_factory() if has_api_default else msgspec.NODEFAULT,
    )
