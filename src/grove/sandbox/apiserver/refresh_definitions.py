"""Renew definitions.json from Kubernetes' own OpenAPI documents (Apache-2.0), by hand, at a new release.

    python -m grove.sandbox.apiserver.refresh_definitions MODULES

MODULES is a directory that holds unpacked Go modules `kubernetes@VERSION` for each version named in SOURCES.
Only the kinds the embedded cluster serves are kept, each description cut to its first sentence.
"""

import re
import sys
from pathlib import Path
from typing import Any

import orjson

TARGET = Path(__file__).with_name("definitions.json")
LATEST = "v1.37.1"
SOURCES: dict[tuple[str, str], tuple[str, ...]] = {
    (LATEST, "api__v1"): (
        "ConfigMap", "Event", "Namespace", "Node", "PersistentVolumeClaim", "Pod", "Secret", "Service",
        "ServiceAccount",
    ),
    (LATEST, "apis__admissionregistration.k8s.io__v1"): (
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    ),
    (LATEST, "apis__apiextensions.k8s.io__v1"): ("CustomResourceDefinition",),
    (LATEST, "apis__authentication.k8s.io__v1"): ("SelfSubjectReview", "TokenReview"),
    (LATEST, "apis__authorization.k8s.io__v1"): (
        "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview",
    ),
    (LATEST, "apis__autoscaling__v2"): ("HorizontalPodAutoscaler",),
    (LATEST, "apis__coordination.k8s.io__v1"): ("Lease",),
    (LATEST, "apis__events.k8s.io__v1"): ("Event",),
    (LATEST, "apis__rbac.authorization.k8s.io__v1"): (
        "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
    ),
    (LATEST, "apis__resource.k8s.io__v1"): ("ResourceClaim", "ResourceClaimTemplate"),
    (LATEST, "apis__scheduling.k8s.io__v1"): ("PriorityClass",),
    (LATEST, "apis__scheduling.k8s.io__v1beta1"): ("PodGroup", "Workload"),
    (LATEST, "apis__scheduling.k8s.io__v1alpha3"): ("CompositePodGroup", "PodGroup", "Workload"),
    ("v1.36.4", "apis__scheduling.k8s.io__v1alpha2"): ("PodGroup", "Workload"),
    ("v1.35.8", "apis__scheduling.k8s.io__v1alpha1"): ("Workload",),
    ("v1.35.8", "api__v1"): ("WorkloadReference",),
}  # fmt: skip
_REF = re.compile(rb"#/components/schemas/([^\"]+)")


def refresh(modules: Path) -> None:
    kept: dict[str, Any] = {}
    for (version, document), kinds in SOURCES.items():
        path = modules / f"kubernetes@{version}" / "api" / "openapi-spec" / "v3" / f"{document}_openapi.json"
        schemas = orjson.loads(path.read_bytes())["components"]["schemas"]
        wanted = [name for name in schemas if name.rpartition(".")[2] in kinds and ".api." in name]
        wanted += [name for name in schemas if name.rpartition(".")[2] in kinds and "apiextensions" in name]
        while wanted:
            name = wanted.pop()
            if name not in kept:
                kept[name] = _shorten(schemas[name])
                wanted += [found.decode() for found in _REF.findall(orjson.dumps(schemas[name]))]
    lines = [orjson.dumps(name) + b": " + orjson.dumps(kept[name]) for name in sorted(kept)]
    TARGET.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


def _shorten(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shorten(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    short = {key: _shorten(value) for key, value in schema.items()}
    if isinstance(short.get("description"), str):
        short["description"] = re.split(r"(?<=[.:])\s", short["description"], maxsplit=1)[0]
    return short


if __name__ == "__main__":
    refresh(Path(sys.argv[1]))
