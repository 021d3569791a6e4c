"""Answers `/version`, health checks, plain and aggregated discovery, and hands OpenAPI paths to `openapi`."""

from typing import Any

import orjson
from grove.runtime.client.transport import Request, Response

from grove_sandbox.apiserver.discovery import openapi
from grove_sandbox.apiserver.errors import JSON_HEADERS, method_not_allowed
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.state import ServerState

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
HEALTH = ("/healthz", "/livez", "/readyz")
PATCH_RELEASES = {"1.34": "0", "1.35": "8", "1.36": "4", "1.37": "1"}


def answer(state: ServerState, request: Request) -> Response | None:
    """None if the path is not a discovery path."""
    path = request.path.rstrip("/")
    if request.method != "GET":
        raise_for_method(path)
        return None
    accept = next((v for k, v in request.headers.items() if k.lower() == "accept"), "")
    if path in ("/api", "/apis") and _wants_aggregated(accept):
        body = _aggregated(state, core=path == "/api")
        return Response(200, {"content-type": AGGREGATED}, orjson.dumps(body))
    if path in HEALTH:
        return Response(200, {"content-type": "text/plain; charset=utf-8"}, b"ok")
    if path.startswith("/openapi/"):
        return openapi.answer(state, path)
    found = _document(state, path)
    return None if found is None else Response(200, JSON_HEADERS, orjson.dumps(found))


def raise_for_method(path: str) -> None:
    if path in ("/api", "/apis", "/version", *HEALTH):
        raise method_not_allowed()


def _document(state: ServerState, path: str) -> Any:
    parts = path.strip("/").split("/")
    groups = state.registry.versions()
    if path == "":
        return {
            "paths": ["/api", "/api/v1", "/apis", *(f"/apis/{g}" for g in sorted(groups) if g), "/version"]
        }
    if path == "/version":
        return version(state)
    if path == "/api":
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
        }
    if path == "/apis":
        known = [_group(name, versions) for name, versions in groups.items() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": known}
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in groups:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], groups[parts[1]])}
    if parts == ["api", "v1"]:
        return _resources(state, "", "v1")
    if parts[0] == "apis" and len(parts) == 3 and parts[2] in groups.get(parts[1], ()):
        return _resources(state, parts[1], parts[2])
    return None


def version(state: ServerState) -> dict[str, str]:
    major, _, minor = state.dialect.partition(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{state.dialect}.{PATCH_RELEASES[state.dialect]}+grove-sandbox",
        "gitCommit": "embedded",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "python",
        "platform": "any",
    }


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(state: ServerState, group: str, version: str) -> dict[str, Any]:
    resources: list[dict[str, Any]] = []
    for t in sorted(_types(state, group, version), key=lambda t: t.plural):
        entry: dict[str, Any] = {
            "name": t.plural,
            "singularName": t.singular,
            "namespaced": t.namespaced,
            "kind": t.kind,
            "verbs": list(t.verbs),
        }
        if t.short_names:
            entry["shortNames"] = list(t.short_names)
        if t.categories:
            entry["categories"] = list(t.categories)
        resources.append(entry)
        for name, kind, verbs in subresources(t):
            sub = {
                "name": f"{t.plural}/{name}",
                "singularName": "",
                "namespaced": t.namespaced,
                "kind": kind["kind"],
                "verbs": verbs,
            }
            if (kind["group"], kind["version"]) != (t.group, t.version):
                sub |= {"group": kind["group"], "version": kind["version"]}
            resources.append(sub)
    group_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }


def subresources(t: ServedResource) -> list[tuple[str, dict[str, str], list[str]]]:
    """Name, kind and verbs of each subresource."""
    found: list[tuple[str, dict[str, str], list[str]]] = []
    change = ["get", "patch", "update"]
    if (t.group, t.plural) == ("", "pods"):
        found.append(("binding", {"group": "", "version": "v1", "kind": "Binding"}, ["create"]))
        found.append(("eviction", {"group": "policy", "version": "v1", "kind": "Eviction"}, ["create"]))
    if (t.group, t.plural) == ("", "namespaces"):
        found.append(("finalize", {"group": "", "version": "v1", "kind": "Namespace"}, ["update"]))
    if t.scale:
        found.append(("scale", {"group": "autoscaling", "version": "v1", "kind": "Scale"}, change))
    if t.status:
        found.append(("status", {"group": t.group, "version": t.version, "kind": t.kind}, change))
    return found


def _types(state: ServerState, group: str, version: str) -> list[ServedResource]:
    return [t for t in state.registry if t.group == group and t.version == version]


def _wants_aggregated(accept: str) -> bool:
    first = accept.split(",")[0].replace(" ", "")
    return "as=APIGroupDiscoveryList" in first and ";v=v2;" in f"{first};"


def _aggregated(state: ServerState, *, core: bool) -> dict[str, Any]:
    items = [
        {
            "metadata": {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None},
            "versions": [_aggregated_version(state, name, version) for version in versions],
        }
        for name, versions in state.registry.versions().items()
        if (name == "") is core
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_version(state: ServerState, group: str, version: str) -> dict[str, Any]:
    resources = []
    for t in sorted(_types(state, group, version), key=lambda t: t.plural):
        entry: dict[str, Any] = {
            "resource": t.plural,
            "responseKind": {"group": t.group, "version": t.version, "kind": t.kind},
            "scope": "Namespaced" if t.namespaced else "Cluster",
            "singularResource": t.singular,
            "verbs": list(t.verbs),
        }
        if t.short_names:
            entry["shortNames"] = list(t.short_names)
        if t.categories:
            entry["categories"] = list(t.categories)
        below = [
            {"subresource": name, "responseKind": kind, "verbs": verbs}
            for name, kind, verbs in subresources(t)
        ]
        if below:
            entry["subresources"] = below
        resources.append(entry)
    return {"version": version, "resources": resources, "freshness": "Current"}
