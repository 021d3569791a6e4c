"""Decodes builtin objects as Go does: checks types, drops unknown fields, fills in defaults.

A real API server decodes JSON into structs. Here each OpenAPI definition is compiled once into a tree of `Shape`s,
whose `conform` rebuilds a value. Defaults belong to definitions, not to kinds: a `Probe` has the same ones
everywhere.
"""

from collections.abc import Callable
from typing import Any

from grove_sandbox.apiserver.schema.definitions import Definitions, resolve
from grove_sandbox.apiserver.schema.protobuf import plain_scalars
from grove_sandbox.apiserver.schema.quantities import canonical

Default = Callable[[dict[str, Any]], None]


class MismatchError(Exception):
    """A value has the wrong type. Each enclosing struct prepends its field to `path`."""

    def __init__(self, got: str, expected: str) -> None:
        self.got, self.expected, self.struct, self.path = got, expected, "", ""

    def __str__(self) -> str:
        field = f"Go struct field {self.struct}.{self.path}" if self.path else "Go value"
        return f"json: cannot unmarshal {self.got} into {field} of type {self.expected}"


_EMPTY: dict[str, Any] = {}


class Shape:
    """`conform` returns a value in this shape and adds the paths of unknown fields to `unknown`.

    `old` was conformed before: parts of the value that are the same Python object as in `old` are not checked again.
    """

    keeps_empty = True

    def conform(self, value: Any, unknown: list[str], old: Any = None) -> Any:
        return value  # any JSON value


class ScalarShape(Shape):
    def __init__(self, types: tuple[type, ...], go_type: str) -> None:
        self.types, self.go_type = types, go_type

    def conform(self, value: Any, unknown: list[str], old: Any = None) -> Any:
        if type(value) not in self.types:
            raise MismatchError(json_type(value), self.go_type)
        return value


class QuantityShape(Shape):
    def conform(self, value: Any, unknown: list[str], old: Any = None) -> Any:
        if type(value) not in (str, int, float):
            raise MismatchError(json_type(value), "resource.Quantity")
        return canonical(value)


class ListShape(Shape):
    keeps_empty = False

    def __init__(self, item: Shape, go_type: str) -> None:
        self.item, self.go_type = item, go_type

    def conform(self, value: Any, unknown: list[str], old: Any = None) -> Any:
        if type(value) is not list:
            raise MismatchError(json_type(value), self.go_type)
        item, result = self.item, []
        for index, element in enumerate(value):
            before = len(unknown)
            result.append(item.conform(element, unknown))
            if len(unknown) > before:
                unknown[before:] = [join(f"[{index}]", path) for path in unknown[before:]]
        return result


class MapShape(Shape):
    keeps_empty = False

    def __init__(self, item: Shape, go_type: str) -> None:
        self.item, self.go_type = item, go_type

    def conform(self, value: Any, unknown: list[str], old: Any = None) -> Any:
        if type(value) is not dict:
            raise MismatchError(json_type(value), self.go_type)
        item = self.item
        return {key: item.conform(element, unknown) for key, element in value.items()}


class StructShape(Shape):
    def __init__(self, name: str, default: Default | None) -> None:
        self.name, self.default = name, default
        self.fields: dict[str, Shape] = {}
        self.required: frozenset[str] = frozenset()
        self.optional: frozenset[str] = frozenset()  # zero equals absent

    def conform(self, value: Any, unknown: list[str], old: Any = None) -> Any:
        if type(value) is not dict:
            raise MismatchError(json_type(value), f"v1.{self.name}")
        fields, result = self.fields, {}
        known = old if type(old) is dict else _EMPTY
        for key, element in value.items():
            shape = fields.get(key)
            if shape is None:
                unknown.append(key)
                continue
            if element is None:
                continue
            former = known.get(key)
            if element is former:
                result[key] = element
                continue
            before = len(unknown)
            try:
                shaped = shape.conform(element, unknown, former)
            except MismatchError as mismatch:
                mismatch.path = f"{key}.{mismatch.path}" if mismatch.path else key
                mismatch.struct = mismatch.struct or self.name
                raise
            if len(unknown) > before:
                unknown[before:] = [join(key, path) for path in unknown[before:]]
            if shaped or (shape.keeps_empty and key not in self.optional) or key in self.required:
                result[key] = shaped
        if self.default:
            self.default(result)
        return result


class ShapeCompiler:
    """Compiles definitions on demand, each once, so that a definition may contain itself."""

    def __init__(self, definitions: Definitions, defaults: dict[str, Default]) -> None:
        self._definitions, self._defaults = definitions, defaults
        self._compiled: dict[str, Shape] = {}

    def of(self, name: str) -> Shape:
        if name not in self._compiled:
            self._compile(name, self._definitions[name])
        return self._compiled[name]

    def _compile(self, name: str, schema: Any) -> Shape:
        short = name.rpartition(".")[2]
        if short in ("Quantity", "IntOrString"):
            shape: Shape = (
                QuantityShape() if short == "Quantity" else ScalarShape((int, str), "intstr.IntOrString")
            )
        elif "properties" in schema:
            shape = self._compiled[name] = struct = StructShape(short, self._defaults.get(name))
            struct.required = frozenset(schema.get("required", ()))
            struct.optional = plain_scalars(name)
            for key, property_schema in schema["properties"].items():
                struct.fields[key] = self._shape(property_schema)
        else:
            shape = self._shape(schema)
        self._compiled[name] = shape
        return shape

    def _shape(self, schema: Any) -> Shape:
        name, target = resolve(self._definitions, schema)
        if name:
            return self.of(name)
        kind = target.get("type")
        if kind == "array":
            return ListShape(self._shape(target.get("items", {})), "[]" + go_name(target.get("items", {})))
        if kind == "object" and "additionalProperties" in target:
            inner = target["additionalProperties"]
            return MapShape(self._shape(inner), "map[string]" + go_name(inner))
        return _SCALARS.get((kind, target.get("format")), _SCALARS.get((kind, None), Shape()))


_SCALARS: dict[tuple[Any, Any], Shape] = {
    ("string", None): ScalarShape((str,), "string"),
    ("boolean", None): ScalarShape((bool,), "bool"),
    ("integer", None): ScalarShape((int,), "int64"),
    ("integer", "int32"): ScalarShape((int,), "int32"),
    ("number", None): ScalarShape((int, float), "float64"),
}
_JSON_TYPES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def json_type(value: Any) -> str:
    return _JSON_TYPES.get(type(value), "null")


def go_name(schema: Any) -> str:
    ref = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
    if ref:
        return "v1." + str(ref).rpartition(".")[2]
    kinds = {"string": "string", "integer": "int", "boolean": "bool"}
    return kinds.get(schema.get("type"), "interface {}")


def join(key: str, path: str) -> str:
    return key + path if path.startswith("[") else f"{key}.{path}"
