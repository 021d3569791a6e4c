"""Discovery documents, version and health of the server."""

from __future__ import annotations

from tests.contract.api import Api, Json
from tests.contract.objects import GROUP

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


def by_name(items: list[Json], key: str = "name") -> dict[str, Json]:
    return {item[key]: item for item in items}


async def test_the_core_versions(api: Api) -> None:
    body = (await api.get("/api")).body
    assert (body["kind"], body["versions"]) == ("APIVersions", ["v1"])


async def test_the_groups(widgets: Api) -> None:
    body = (await widgets.get("/apis")).body
    assert body["kind"] == "APIGroupList"
    groups = by_name(body["groups"])
    assert {"apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io", "autoscaling"} <= set(groups)
    assert groups[GROUP] == {
        "name": GROUP,
        "versions": [{"groupVersion": f"{GROUP}/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": f"{GROUP}/v1", "version": "v1"},
    }


async def test_one_group(widgets: Api) -> None:
    body = (await widgets.get(f"/apis/{GROUP}")).body
    assert (body["kind"], body["name"]) == ("APIGroup", GROUP)


async def test_the_resources_of_the_core(api: Api) -> None:
    body = (await api.get("/api/v1")).body
    assert (body["kind"], body["groupVersion"]) == ("APIResourceList", "v1")
    resources = by_name(body["resources"])
    pods = resources["pods"]
    assert (pods["singularName"], pods["namespaced"], pods["kind"]) == ("pod", True, "Pod")
    assert pods["shortNames"] == ["po"]
    assert pods["categories"] == ["all"]
    assert pods["verbs"] == [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ]
    assert resources["nodes"]["namespaced"] is False
    binding = resources["pods/binding"]
    assert (binding["kind"], binding["verbs"]) == ("Binding", ["create"])
    eviction = resources["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")
    assert resources["pods/status"]["verbs"] == ["get", "patch", "update"]


async def test_the_resources_of_a_custom_group(widgets: Api) -> None:
    body = (await widgets.get(f"/apis/{GROUP}/v1")).body
    resources = by_name(body["resources"])
    main = resources["widgets"]
    assert {key: main[key] for key in ("singularName", "namespaced", "kind", "shortNames", "categories")} == {
        "singularName": "widget",
        "namespaced": True,
        "kind": "Widget",
        "shortNames": ["wd"],
        "categories": ["contract"],
    }
    assert sorted(main["verbs"]) == [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ]
    assert sorted(resources["widgets/status"]["verbs"]) == ["get", "patch", "update"]
    scale = resources["widgets/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


async def test_discovery_in_one_answer(widgets: Api) -> None:
    answer = await widgets.get("/apis", accept=AGGREGATED)
    assert answer.headers["content-type"] == (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    assert (answer.body["apiVersion"], answer.body["kind"]) == (
        "apidiscovery.k8s.io/v2",
        "APIGroupDiscoveryList",
    )
    groups = {item["metadata"]["name"]: item for item in answer.body["items"]}
    (version,) = groups[GROUP]["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    resource = by_name(version["resources"], "resource")["widgets"]
    assert resource["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Widget"}
    assert (resource["scope"], resource["singularResource"]) == ("Namespaced", "widget")
    assert resource["shortNames"] == ["wd"]
    assert {sub["subresource"] for sub in resource["subresources"]} == {"status", "scale"}


async def test_the_core_in_one_answer(api: Api) -> None:
    body = (await api.get("/api", accept=AGGREGATED)).body
    (core,) = body["items"]
    assert "name" not in core["metadata"]
    resources = by_name(core["versions"][0]["resources"], "resource")
    assert resources["nodes"]["scope"] == "Cluster"
    assert resources["pods"]["responseKind"]["kind"] == "Pod"


async def test_an_unknown_version_of_a_known_group_is_404(widgets: Api) -> None:
    answer = await widgets.get(f"/apis/{GROUP}/v9")
    assert answer.code == 404


async def test_the_version_of_the_server(api: Api) -> None:
    body = (await api.get("/version")).body
    assert body["major"] == "1"
    assert body["minor"].isdigit()
    assert body["gitVersion"].startswith(f"v1.{body['minor']}.")
    assert {"gitCommit", "buildDate", "goVersion", "platform"} <= set(body)


async def test_health(api: Api) -> None:
    for path in ("/healthz", "/readyz", "/livez"):
        answer = await api.get(path, accept="*/*")
        assert (answer.code, answer.body) == (200, "ok")


async def test_schemas_can_be_found(widgets: Api) -> None:
    """kubectl explain and kubectl apply --validate read these."""
    index = (await widgets.get("/openapi/v3")).body["paths"]
    assert "api/v1" in index
    entry = index[f"apis/{GROUP}/v1"]
    document = (await widgets.get(entry["serverRelativeURL"])).body
    schemas = document["components"]["schemas"]
    (schema,) = [s for s in schemas.values() if _is_kind(s, "Widget")]
    assert schema["properties"]["spec"]["properties"]["color"]["enum"] == ["red", "green", "blue"]


def _is_kind(schema: Json, kind: str) -> bool:
    return any(gvk["kind"] == kind for gvk in schema.get("x-kubernetes-group-version-kind", []))
