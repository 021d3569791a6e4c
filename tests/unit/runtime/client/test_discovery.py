"""Discovery: which groups, versions and resources a server has."""

from grove.runtime.client.discovery import group_versions, resources
from grove.runtime.client.objects import APIResource
from tests.unit.runtime.scripted import Script, client, ok, refusal


async def test_versions_are_listed_with_the_preferred_one_first() -> None:
    versions = [
        {"groupVersion": "x/v1beta1", "version": "v1beta1"},
        {"groupVersion": "x/v1", "version": "v1"},
    ]
    group = {"name": "x.io", "versions": versions, "preferredVersion": versions[1]}
    script = Script(
        ok({"kind": "APIVersions", "versions": ["v1"]}), ok({"kind": "APIGroupList", "groups": [group]})
    )
    assert await group_versions(client(script)) == {"": ["v1"], "x.io": ["v1", "v1beta1"]}


async def test_resources_of_a_version_are_found_without_their_subresources() -> None:
    listed = [
        {
            "name": "podgroups",
            "kind": "PodGroup",
            "namespaced": True,
            "singularName": "podgroup",
            "verbs": ["get"],
        },
        {
            "name": "podgroups/status",
            "kind": "PodGroup",
            "namespaced": True,
            "singularName": "",
            "verbs": ["get"],
        },
    ]
    script = Script(ok({"kind": "APIResourceList", "resources": listed}), refusal(404, "NotFound"))
    found = await resources(client(script), "scheduling.example", "v1")
    assert found == {"podgroups": APIResource("scheduling.example", "v1", "podgroups", "PodGroup")}
    assert await resources(client(script), "not.served", "v1") == {}
    assert [r.path for r in script.requests] == ["/apis/scheduling.example/v1", "/apis/not.served/v1"]
