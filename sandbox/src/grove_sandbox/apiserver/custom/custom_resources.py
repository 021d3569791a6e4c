"""One served version of a CustomResourceDefinition: schema, columns and subresources."""

from datetime import datetime
from typing import Any

from grove.schema import FieldError, Schema

from grove_sandbox.apiserver.custom.jsonpath import compile_path
from grove_sandbox.apiserver.errors import FieldViolation, StatusError
from grove_sandbox.apiserver.resources import metadata, names
from grove_sandbox.apiserver.resources.resource_types import ScalePaths, ServedResource
from grove_sandbox.apiserver.resources.strategy import Strategy, keep, undecodable
from grove_sandbox.apiserver.responses.kubectl_table import AGE, TableColumn
from grove_sandbox.apiserver.schema.definitions import META, REF, Definitions
from grove_sandbox.apiserver.schema.shapes import MismatchError, Shape
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object
from grove_sandbox.apiserver.verbs.selectors import field_reader
from grove_sandbox.timestamps import age


class CustomStrategy(Strategy):
    has_generation = True
    unconditional_update = False
    terminating = False  # the CRD is being deleted: creating objects is refused

    def __init__(self, source: Object, meta_shape: Shape) -> None:
        super().__init__(meta_shape, names.subdomain)
        self.source = source  # as written in the CRD, for OpenAPI
        self.schema = Schema(source)

    def openapi(self, definitions: Definitions) -> dict[str, Any]:
        properties = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            **(self.source.get("properties") or {}),
            "metadata": {"allOf": [{"$ref": REF + META + "ObjectMeta"}], "default": {}},
        }
        return {**self.source, "properties": properties}

    def decode(self, obj: Object, call: ApiCall, old: Object | None = None) -> tuple[Object, list[str]]:
        unknown: list[str] = []
        try:
            meta = self.shape.conform(obj.get("metadata") or {}, unknown)
        except MismatchError as mismatch:
            raise undecodable(call, str(mismatch)) from None
        unknown = [f"metadata.{path}" for path in unknown]
        pruned = self.schema.prune(obj)
        if pruned is not obj:
            unknown += self.schema.unknown_fields(obj)
        decoded = {**self.schema.default(pruned), "metadata": meta}
        return decoded, unknown

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        if self.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise StatusError(405, "MethodNotAllowed", why, call.type.resource.details())
        if call.type.status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def changes_generation(self, new: Object, old: Object) -> bool:
        return _substance(new) != _substance(old)

    def prepare_update(self, new: Object, old: Object, call: ApiCall) -> None:
        if call.type.status:
            keep(new, old, "status")
        if self.changes_generation(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, new: Object, old: Object, call: ApiCall) -> None:
        for field in (old.keys() | new.keys()) - {"status", "metadata", "kind", "apiVersion"}:
            keep(new, old, field)
        managed = new["metadata"].get("managedFields")
        new["metadata"] = dict(old["metadata"])
        if managed is not None:
            new["metadata"]["managedFields"] = managed

    def validate_create(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        errors = metadata.validate(obj["metadata"], self.name_rule, namespaced=call.type.namespaced)
        return errors + translate(self.schema.validate(call.typed(obj)))

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = metadata.validate_update(new, old)
        return errors + translate(self.schema.validate(call.typed(new), call.typed(old)))

    def validate_status(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        return self.validate_update(new, old, call)


def translate(errors: list[FieldError]) -> list[FieldViolation]:
    return [FieldViolation(error.field, str(error.reason), error.message) for error in errors]


def custom_type(spec: Object, version: Object, meta_shape: Shape) -> ServedResource:
    subresources, chosen = version.get("subresources") or {}, spec["names"]
    scale = subresources.get("scale")
    return ServedResource(
        group=spec["group"],
        version=version["name"],
        kind=chosen["kind"],
        plural=chosen["plural"],
        singular=chosen.get("singular") or chosen["kind"].lower(),
        list_kind=chosen.get("listKind") or f"{chosen['kind']}List",
        namespaced=spec["scope"] == "Namespaced",
        strategy=CustomStrategy(version["schema"]["openAPIV3Schema"], meta_shape),
        short_names=tuple(chosen.get("shortNames") or ()),
        categories=tuple(chosen.get("categories") or ()),
        status="status" in subresources,
        scale=ScalePaths(
            scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or ""
        )
        if scale
        else None,
        columns=tuple(printer_column(column) for column in version.get("additionalPrinterColumns") or ())
        or (AGE,),
        custom=True,
        fields={
            field["jsonPath"].strip("."): field_reader(field["jsonPath"].strip("."))
            for field in version.get("selectableFields") or ()
        },
    )


def printer_column(column: Object) -> TableColumn:
    """Raises ValueError for a JSONPath that this server does not support."""
    find, kind = compile_path(column["jsonPath"]), column["type"]

    def value(obj: Object, now: datetime) -> Any:
        found = find(obj)
        if not found or found[0] is None:
            return None
        first = found[0]
        if kind == "date":
            return age(str(first), now)
        if kind == "string":
            return ",".join(_text(item) for item in found) if len(found) > 1 else _text(first)
        return first if isinstance(first, bool | int | float) else None

    return TableColumn(
        column["name"],
        value,
        type=kind,
        format=column.get("format") or "",
        description=column.get("description") or "",
        priority=column.get("priority") or 0,
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(f'"{v}"' if isinstance(v, str) else _text(v) for v in value) + "]"
    return str(value)


def _substance(obj: Object) -> Object:
    """The fields whose change increments the generation: all but metadata. A status subresource was restored before."""
    return {k: v for k, v in obj.items() if k not in ("metadata", "kind", "apiVersion")}
