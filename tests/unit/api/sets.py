"""Small sets to test with."""

from typing import Any

from grove.api import PodCliqueSet
from grove.api.serialization import codec

CONTAINER = {"name": "c", "image": "registry.example/app:1"}


def clique(name: str = "worker", **changes: Any) -> dict[str, Any]:
    """A clique as JSON. Each keyword goes to the clique or to its spec, wherever that field belongs."""
    outer = {
        k: changes.pop(k)
        for k in ("labels", "annotations", "topologyConstraint", "resourceSharing")
        if k in changes
    }
    spec = {"roleName": name, "replicas": 2, "podSpec": {"containers": [CONTAINER]}} | changes
    return {"name": name, "spec": spec} | outer


def pcs_json(*cliques: dict[str, Any], **template: Any) -> dict[str, Any]:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "train"},
        "spec": {"replicas": 1, "template": {"cliques": list(cliques) or [clique()], **template}},
    }


def pcs(*cliques: dict[str, Any], **template: Any) -> PodCliqueSet:
    return codec.decode(codec.encode(pcs_json(*cliques, **template)), PodCliqueSet)
