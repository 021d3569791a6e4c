"""The base class of all models, and the description of their fields.

A field is defined once, on its model. The CRD schema (`grove.api.serialization.crds`), validation
(`grove.api.validation`) and the reference page (`grove.generate.api_reference`) are derived from that definition::

    class PodCliqueSetSpec(Model):
        replicas: Annotated[Int32, About("How many replicas of the template to run.", at_least=0)] = default(0)

Conventions that every model follows:

- an optional field defaults to None, an optional list or map to an empty one; neither is written when unset;
- a field with a default in the API uses `default(value)`: filled in when absent, always written;
- a required field has no default.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
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
    """A CEL rule of the CRD. A `create_only` rule is not applied to updates."""

    rule: str
    message: str
    reason: str | None = None
    field_path: str | None = None
    create_only: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """Describes a field beyond its Python type.

    Validation checks the bounds `above`, `at_least` and `at_most`; the CRD does not have them: the reference's CRDs
    have none, and every object stored under those must stay valid under ours. The CRD has everything else.
    """

    text: str = ""
    above: int | None = None
    at_least: int | None = None
    at_most: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    pattern: str | None = None
    # The field that is unique among the items of a list. A `merged` list is `x-kubernetes-list-type: map` in the CRD.
    key: str | None = None
    merged: bool = False
    atomic: bool = False
    immutable: bool = False
    cel: tuple[Cel, ...] = ()
    # Merged into the CRD schema unchanged, for properties that the Python type cannot express.
    schema: Mapping[str, Any] | None = None


def default(value: Any) -> Any:
    """The API's default for a field: used if the field is absent, and always written."""
    if isinstance(value, str | int | float):
        return msgspec.field(default_factory=lambda: value)
    return msgspec.field(default_factory=lambda: copy.deepcopy(value))


# The most that any number of replicas may be, whatever the operator's configuration allows. No cluster is larger.
MAX_REPLICAS = 1_000_000
Int32 = Annotated[int, About(schema={"format": "int32"})]
Int64 = Annotated[int, About(schema={"format": "int64"})]


class _KeepsUnknown:
    """Fields that this version of the model does not know, as raw JSON; `grove.api.serialization.codec` fills them in.

    They are no field of the struct, since msgspec would then encode them as one.
    """

    __slots__ = ("unknown",)
    unknown: Mapping[str, Raw]


_NO_FIELDS: Mapping[str, Raw] = {}


class _ModelMeta(msgspec.StructMeta):
    """Makes all fields keyword-only, so that required and optional ones can be declared in any order."""

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
    # CEL rules for the object as a whole.
    cel: ClassVar[tuple[Cel, ...]] = ()

    def __post_init__(self) -> None:
        self.unknown = _NO_FIELDS

    def __copy__(self) -> Self:
        return replace(self)

    def __replace__(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return replace(self, **{f: copy.deepcopy(getattr(self, f), memo) for f in self.__struct_fields__})


M = TypeVar("M", bound=Model)


def replace(model: M, **changes: Any) -> M:
    """A copy with some fields changed. Keeps unknown fields."""
    changed = msgspec.structs.replace(model, **changes)
    changed.unknown = model.unknown
    return changed


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One field of a model, with its merged annotations."""

    name: str
    json_name: str
    type: Any
    about: About
    required: bool
    api_default: Any  # msgspec.NODEFAULT when the API has none


def unwrap(annotation: Any) -> tuple[Any, About]:
    """Splits `Annotated[X | None, About(..), ..]` into X and one About; the outermost annotation wins."""
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


@cache
def fields(model: type[Model]) -> tuple[FieldInfo, ...]:
    """The fields of a model, in the order in which they are encoded."""
    hints = get_type_hints(model, include_extras=True)
    return tuple(_field(f, hints[f.name]) for f in msgspec.structs.fields(model))


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
