"""Derives the CustomResourceDefinitions from the models.

The schemas are no stricter than the reference's: every object stored under its CRDs is valid under ours. An immutable
field gets a transition rule if an API server accepts one there: its value must have bounded size, and the server must
be able to correlate it with the old value. `grove.api.validation` checks what a schema cannot express.
"""

from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Raw

from grove.api.meta import ObjectMeta, Resource
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.scalars import SCHEMAS
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.api.serialization.codec import to_builtins
from grove.api.serialization.model import Cel, FieldInfo, Model, fields, unwrap
from grove.api.topology import ClusterTopologyBinding

KINDS: tuple[type[Resource], ...] = (
    PodCliqueSet,
    PodClique,
    PodCliqueScalingGroup,
    ClusterTopologyBinding,
    PodGang,
)

Json = dict[str, Any]

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}


def all_crds() -> list[Json]:
    return [crd(kind) for kind in KINDS]


def crd(kind: type[Resource]) -> Json:
    r = kind.resource
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": r.crd_name},
        "spec": {
            "group": r.group,
            "scope": "Namespaced" if r.namespaced else "Cluster",
            "names": {
                "kind": r.kind,
                "listKind": f"{r.kind}List",
                "plural": r.plural,
                "singular": r.kind.lower(),
                "shortNames": list(r.short_names),
                "categories": ["grove"],
            },
            "versions": [
                {
                    "name": r.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema(kind)},
                    "subresources": _subresources(kind),
                    "additionalPrinterColumns": [
                        {"name": c.name, "type": c.type, "jsonPath": c.path}
                        | ({"priority": 1} if c.wide else {})
                        for c in r.columns
                    ],
                }
            ],
        },
    }


def schema(kind: type[Resource]) -> Json:
    """The OpenAPI schema of a kind. Every API server knows apiVersion, kind and metadata, so they are not described."""
    return _object(kind, correlatable=True)


def _subresources(kind: type[Resource]) -> Json:
    scale = kind.resource.scale
    if scale is None:
        return {"status": {}}
    return {
        "status": {},
        "scale": {
            "specReplicasPath": scale.spec_replicas_path,
            "statusReplicasPath": scale.status_replicas_path,
            "labelSelectorPath": scale.selector_path,
        },
    }


def _object(model: type[Model], *, correlatable: bool) -> Json:
    """`correlatable`: an API server can find the old value of this object in an update."""
    result: Json = {"type": "object"}
    if model.__doc__ and issubclass(model, Resource):
        result["description"] = model.__doc__
    found = fields(model)
    result["properties"] = {f.json_name: _field(model, f, correlatable=correlatable) for f in found}
    required = [f.json_name for f in found if f.required and f.type is not ObjectMeta]
    if required:
        result["required"] = required
    if model.cel:
        result["x-kubernetes-validations"] = [_rule(c) for c in model.cel]
    return result


def _field(model: type[Model], field: FieldInfo, *, correlatable: bool) -> Json:
    if issubclass(model, Resource) and field.name in ("api_version", "kind", "metadata"):
        return {"type": "object" if field.name == "metadata" else "string"}
    about = field.about
    result: Json = {"description": about.text} if about.text else {}
    result |= _type(
        field.type, correlatable=correlatable and (about.merged or get_origin(field.type) is not list)
    )
    said = {
        "minLength": about.min_length,
        "maxLength": about.max_length,
        "minItems": about.min_items,
        "pattern": about.pattern,
    }
    result |= {k: v for k, v in said.items() if v is not None}
    if about.merged:
        result |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [about.key]}
    if about.atomic:
        result["x-kubernetes-list-type"] = "atomic"
    result |= about.schema or {}
    if field.api_default is not msgspec.NODEFAULT:
        result["default"] = to_builtins(field.api_default)
    if about.immutable and correlatable and _is_small(field.type):
        rule = {"rule": "self == oldSelf", "message": "this field cannot be changed"}
        result["x-kubernetes-validations"] = [rule]
    return result


def _type(kind: Any, *, correlatable: bool) -> Json:
    kind, about = unwrap(kind)
    origin = get_origin(kind)
    if origin is list:
        item, item_about = unwrap(get_args(kind)[0])
        return {
            "type": "array",
            "items": _type(item, correlatable=correlatable) | dict(item_about.schema or {}),
        }
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(get_args(kind)[1], correlatable=False)}
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if kind in SCHEMAS:
        return dict(SCHEMAS[kind])
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind is Raw:
        return dict(about.schema or {})
    return _object(kind, correlatable=correlatable)


def _is_small(kind: Any) -> bool:
    """Whether an API server can bound the cost of comparing two values of this type."""
    return kind in (int, bool) or get_origin(kind) is Literal


def _rule(cel: Cel) -> Json:
    rule: Json = {"rule": cel.rule, "message": cel.message}
    if cel.create_only:
        rule |= {"rule": f"oldSelf.hasValue() || ({cel.rule})", "optionalOldSelf": True}
    if cel.reason:
        rule["reason"] = cel.reason
    if cel.field_path:
        rule["fieldPath"] = cel.field_path
    return rule
