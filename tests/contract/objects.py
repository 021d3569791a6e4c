"""Manifests for the cases, and the CRD of Widget, which has every schema feature that they need."""

from __future__ import annotations

from typing import Any

from tests.contract.api import Json

GROUP = "contract.grove.test"
WIDGETS = f"{GROUP}/v1/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def configmap(name: str, labels: dict[str, str] | None = None, **data: str) -> Json:
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    if labels:
        body["metadata"]["labels"] = labels
    if data:
        body["data"] = data
    return body


def widget(name: str, *, metadata: Json | None = None, **spec: Any) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"title": "a widget", **spec},
    }


def pod(name: str, *, gates: tuple[str, ...] = (), metadata: Json | None = None, **spec: Any) -> Json:
    body = {"containers": [{"name": "main", "image": "app:1"}], **spec}
    if gates:
        body["schedulingGates"] = [{"name": gate} for gate in gates]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **(metadata or {})},
        "spec": body,
    }


def node(name: str) -> Json:
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": resources, "allocatable": resources},
    }


def binding(name: str, node: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def owner(obj: Json, *, controller: bool = False, block: bool = False) -> Json:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": controller,
        "blockOwnerDeletion": block,
    }


def crd(plural: str, kind: str, schema: Json, *, scope: str = "Namespaced", **version: Any) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **version,
                }
            ],
        },
    }


_SPEC: Json = {
    "type": "object",
    "required": ["title"],
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
            "message": "low must not exceed high",
        },
        {
            "rule": "self.size != 13",
            "messageExpression": "self.title + ' has an unlucky size'",
            "reason": "FieldValueForbidden",
            "fieldPath": ".size",
        },
    ],
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 20},
        "size": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100, "default": 1},
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "color": {"type": "string", "enum": ["red", "green", "blue"]},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "frozen": {
            "type": "string",
            "maxLength": 50,
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "frozen is immutable"}],
        },
        "replicas": {"type": "integer", "format": "int32", "minimum": 0},
        "parts": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": True},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "policy": {
            "type": "object",
            "default": {"mode": "auto"},
            "properties": {"mode": {"type": "string"}, "step": {"type": "integer", "default": 2}},
        },
        "note": {"type": "string", "nullable": True},
        "ratio": {"type": "number"},
        "enabled": {"type": "boolean"},
    },
}

WIDGET_CRD = crd(
    "widgets",
    "Widget",
    {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _SPEC,
            "status": {
                "type": "object",
                "properties": {
                    "phase": {"type": "string", "enum": ["Good", "Bad"]},
                    "replicas": {"type": "integer"},
                    "selector": {"type": "string"},
                    "observedGeneration": {"type": "integer", "format": "int64"},
                },
            },
        },
    },
    subresources={
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    },
    additionalPrinterColumns=[
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how big"},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
    selectableFields=[{"jsonPath": ".spec.color"}],
)
WIDGET_CRD["spec"]["names"] |= {"shortNames": ["wd"], "categories": ["contract"]}
