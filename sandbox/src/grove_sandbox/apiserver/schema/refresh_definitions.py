"""Regenerates definitions.json and messages.json from Kubernetes' own files (Apache-2.0). Run by hand at a new release.

    python -m grove_sandbox.apiserver.schema.refresh_definitions MODULES

MODULES is a directory of unpacked Go modules: `kubernetes@VERSION` for each version in SOURCES, and `api` and
`apimachinery` of the latest. Only kinds that the embedded cluster serves are kept: their OpenAPI definitions, with
descriptions cut to the first sentence, and the field numbers of their protobuf messages.
"""

import re
import sys
from pathlib import Path
from typing import Any

import orjson

DEFINITIONS = Path(__file__).with_name("definitions.json")
MESSAGES = Path(__file__).with_name("messages.json")
LATEST = "v1.37.1"
SOURCES: dict[tuple[str, str], tuple[str, ...]] = {
    (LATEST, "api__v1"): (
        "Binding", "ConfigMap", "DeleteOptions", "Event", "Eviction", "Namespace", "Node",
        "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount",
    ),
    (LATEST, "apis__apps__v1"): ("Scale",),
    (LATEST, "apis__admissionregistration.k8s.io__v1"): (
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    ),
    (LATEST, "apis__apiextensions.k8s.io__v1"): ("CustomResourceDefinition",),
    (LATEST, "apis__authentication.k8s.io__v1"): ("SelfSubjectReview", "TokenReview"),
    (LATEST, "apis__authorization.k8s.io__v1"): (
        "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview",
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
_OWN = re.compile(r"\.api\.|apiextensions|\.meta\.v1\.")
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_POINTER = re.compile(r"^\s+\w+\s+\*\S+\s+`json:\"(\w+)", re.MULTILINE)
_FIELD = re.compile(r"\s+(optional|repeated|map<string, ([\w.]+)>) ?([\w.]*) (\w+) = (\d+)( \[.*\])?;")


def refresh(modules: Path) -> None:
    definitions = _definitions(modules)
    _write(DEFINITIONS, definitions)
    _write(MESSAGES, _messages(modules, definitions))


def _definitions(modules: Path) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for (version, document), kinds in SOURCES.items():
        path = modules / f"kubernetes@{version}" / "api" / "openapi-spec" / "v3" / f"{document}_openapi.json"
        schemas = orjson.loads(path.read_bytes())["components"]["schemas"]
        wanted = [name for name in schemas if name.rpartition(".")[2] in kinds and _OWN.search(name)]
        while wanted:
            name = wanted.pop()
            if name not in kept:
                kept[name] = _shorten(schemas[name])
                wanted += [found.decode() for found in _REF.findall(orjson.dumps(schemas[name]))]
    return kept


def _messages(modules: Path, definitions: dict[str, Any]) -> dict[str, Any]:
    """For each message, field number to name, type and label (one, pointer, many or map).

    An embedded Go struct is a message in protobuf but no field in JSON, so its name is empty. A plain scalar is always
    encoded, so zero means absent. A zero behind a pointer was set explicitly.
    """
    version = LATEST.removeprefix("v1")
    every: dict[str, Any] = {}
    for module in ("api", "apimachinery"):
        root = modules / f"{module}@v0{version}"
        for path in sorted(root.rglob("generated.proto")):
            text = path.read_text()
            package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
            assert package
            pointers = _pointers(path.parent)
            for name, body in _MESSAGE.findall(text):
                fields = every[_full(package[1], name)] = _fields(package[1], body)
                for field in fields.values():
                    if field[2] == "one" and (name, field[0]) in pointers:
                        field[2] = "pointer"
    kept: dict[str, Any] = {}
    wanted = [name for name in definitions if name in every]
    while wanted:
        name = wanted.pop()
        if name in kept:
            continue
        known = definitions.get(name, {}).get("properties")
        kept[name] = {}
        for number, (field, kind, label) in every[name].items():
            embedded = known is not None and field not in known and kind in every
            kept[name][number] = ["" if embedded else field, kind, label]
            wanted += [kind] if kind in every else []
    return kept


def _fields(package: str, body: str) -> dict[str, list[str]]:
    fields = {}
    for line in body.splitlines():
        match = _FIELD.fullmatch(line)
        if match:
            label = {"optional": "one", "repeated": "many"}.get(match[1], "map")
            fields[match[5]] = [match[4], _full(package, match[2] or match[3]), label]
    return fields


def _pointers(directory: Path) -> set[tuple[str, str]]:
    """Struct name and JSON name of every field that is a pointer in Go."""
    found = set()
    for path in directory.glob("*types*.go"):
        for name, body in _STRUCT.findall(path.read_text()):
            found |= {(name, field) for field in _POINTER.findall(body)}
    return found


def _full(package: str, name: str) -> str:
    """The OpenAPI name of a message. A scalar keeps its name."""
    if not name.startswith(".") and name[0].islower():
        return name
    qualified = name[1:] if name.startswith(".") else f"{package}.{name}"
    return qualified.replace("k8s.io.", "io.k8s.", 1)


def _write(path: Path, entries: dict[str, Any]) -> None:
    lines = [orjson.dumps(name) + b": " + orjson.dumps(entries[name]) for name in sorted(entries)]
    path.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


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
