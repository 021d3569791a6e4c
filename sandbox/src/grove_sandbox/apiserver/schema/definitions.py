"""Kubernetes' own OpenAPI definitions of the builtin kinds, in the dialect of one release.

Decoding (`shapes`), strategic merge patch, server-side apply and `kubectl explain` all use them, so no builtin field is
described twice. `refresh_definitions` generates `definitions.json`.
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
    """All definitions of a release. A PodSpec has only that release's field for its gang."""
    path = Path(__file__).with_name("definitions.json")
    definitions: Definitions = orjson.loads(path.read_bytes())
    link = definitions[_POD_SPEC]["properties"]
    if dialect in ("1.34", "1.35"):
        del link["schedulingGroup"]
    if dialect == "1.35":
        link["workloadRef"] = {"allOf": [{"$ref": REF + "io.k8s.api.core.v1.WorkloadReference"}]}
    return definitions


def resolve(definitions: Definitions, schema: Any) -> tuple[str, Any]:
    """The name and schema behind a reference. The name is empty for an inline schema."""
    ref = schema.get("$ref")
    if ref is None and "allOf" in schema:
        ref = schema["allOf"][0].get("$ref")
    if ref is None:
        return "", schema
    name = ref.removeprefix(REF)
    return name, definitions[name]


def name_of(dialect: Dialect, group: str, version: str, kind: str) -> str:
    """The name of the definition of a kind. Empty for a kind that is not builtin."""
    return _kinds(dialect).get((group, version, kind), "")


@cache
def _kinds(dialect: Dialect) -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, schema in load(dialect).items()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
        if name.endswith(f".{kind['kind']}")
    }
