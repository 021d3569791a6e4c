"""Kubernetes' own OpenAPI definitions of the builtin kinds, in the dialect of one release.

They drive decoding (`shapes`), strategic merge patch, server-side apply and `kubectl explain`, so that no
builtin field is described twice. `definitions.json` is made by `refresh_definitions`.
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

Dialect = Literal["1.34", "1.35", "1.36", "1.37"]
DIALECTS: tuple[Dialect, ...] = ("1.34", "1.35", "1.36", "1.37")
Definitions = dict[str, Any]

REF = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_POD_SPEC = "io.k8s.api.core.v1.PodSpec"


@cache
def load(dialect: Dialect) -> Definitions:
    """All definitions; the pod's link to its gang is the one this release has, and no other."""
    path = Path(__file__).with_name("definitions.json")
    definitions: Definitions = orjson.loads(path.read_bytes())
    link = definitions[_POD_SPEC]["properties"]
    if dialect in ("1.34", "1.35"):
        del link["schedulingGroup"]
    if dialect == "1.35":
        link["workloadRef"] = {"allOf": [{"$ref": REF + "io.k8s.api.core.v1.WorkloadReference"}]}
    return definitions


def resolve(definitions: Definitions, schema: Any) -> tuple[str, Any]:
    """Follow a reference to its definition; the name is empty for a schema written in place."""
    ref = schema.get("$ref")
    if ref is None and "allOf" in schema:
        ref = schema["allOf"][0].get("$ref")
    if ref is None:
        return "", schema
    name = ref.removeprefix(REF)
    return name, definitions[name]


def name_of(dialect: Dialect, group: str, version: str, kind: str) -> str:
    """The definition of a whole kind; empty for one that is not builtin."""
    return _kinds(dialect).get((group, version, kind), "")


@cache
def _kinds(dialect: Dialect) -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, schema in load(dialect).items()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
        if name.endswith(f".{kind['kind']}")
    }
