"""Resource claims that pods share, at every level, as the set scales."""

import copy
from typing import Any

import pytest

from tests.flow.operating import GroveCluster, running

pytestmark = pytest.mark.looptime

GROVE = "/apis/grove.io/v1alpha1/namespaces/default"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"


def claim(name: str) -> dict[str, Any]:
    return {"name": name, "templateSpec": {"spec": devices()}}


def devices(name: str = "gpu") -> dict[str, Any]:
    return {"devices": {"requests": [{"name": name, "exactly": {"deviceClassName": "gpu.example.com"}}]}}


def share(name: str, scope: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "scope": scope} | more


def clique(name: str, *sharing: dict[str, Any]) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "registry.example/app:1"}]}
    return {
        "name": name,
        "spec": {"roleName": name, "replicas": 1, "podSpec": pod},
        "resourceSharing": list(sharing),
    }


SET: dict[str, Any] = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodCliqueSet",
    "metadata": {"name": "rs"},
    "spec": {
        "replicas": 1,
        "template": {
            "resourceClaimTemplates": [claim(f"t{n}") for n in range(2, 9)],
            "resourceSharing": [
                share("t5", "AllReplicas"),
                share("external", "PerReplica"),
                share("t7", "AllReplicas", filter={"childScalingGroupNames": ["sga"]}),
            ],
            "cliques": [clique("a", share("t4", "PerReplica")), clique("b", share("t6", "AllReplicas"))],
            "podCliqueScalingGroups": [
                {
                    "name": "sga",
                    "cliqueNames": ["b"],
                    "replicas": 2,
                    "minAvailable": 2,
                    "resourceSharing": [share("t2", "AllReplicas"), share("t3", "PerReplica")],
                }
            ],
        },
    },
}


async def claims(grove: GroveCluster) -> set[str]:
    return set(await grove.list("resourceclaims"))


async def make_template(grove: GroveCluster, device: str = "gpu") -> None:
    body = {"metadata": {"name": "external", "namespace": "default"}, "spec": {"spec": devices(device)}}
    await grove.cluster.create(
        TEMPLATES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"} | body
    )


FIRST = {
    "rs-all-t5",
    "rs-0-external",
    "rs-all-t7",
    "rs-0-a-0-t4",
    "rs-0-sga-all-t2",
    "rs-0-sga-0-t3",
    "rs-0-sga-1-t3",
    "rs-0-sga-0-b-all-t6",
    "rs-0-sga-1-b-all-t6",
}


async def test_claims_follow_the_scale_of_their_owners() -> None:
    async with running() as grove:
        await make_template(grove)
        await grove.apply(SET)
        await grove.settle()
        assert await claims(grove) == FIRST
        pods = await grove.list("pods")
        used = {
            p["spec"]["hostname"]: {c["resourceClaimName"] for c in p["spec"]["resourceClaims"]}
            for p in pods.values()
        }
        assert used["rs-0-a-0"] == {"rs-all-t5", "rs-0-external", "rs-0-a-0-t4"}
        assert used["rs-0-sga-1-b-0"] == {
            "rs-all-t5",
            "rs-0-external",
            "rs-all-t7",
            "rs-0-sga-all-t2",
            "rs-0-sga-1-t3",
            "rs-0-sga-1-b-all-t6",
        }
        await grove.call("PATCH", f"{GROVE}/podcliques/rs-0-a/scale", {"spec": {"replicas": 2}})
        await grove.call("PATCH", f"{GROVE}/podcliquesets/rs/scale", {"spec": {"replicas": 2}})
        await grove.settle()
        more = {c.replace("rs-0", "rs-1") for c in FIRST} | {"rs-0-a-1-t4"}
        assert await claims(grove) == FIRST | more
        await grove.call("PATCH", f"{GROVE}/podcliques/rs-0-a/scale", {"spec": {"replicas": 1}})
        await grove.call("PATCH", f"{GROVE}/podcliquesets/rs/scale", {"spec": {"replicas": 1}})
        await grove.settle()
        assert await claims(grove) == FIRST
        await grove.call("DELETE", f"{GROVE}/podcliquesets/rs")
        await grove.settle()
        assert await claims(grove) == set()


async def test_a_template_that_is_missing_is_named_and_used_once_it_is_there() -> None:
    async with running() as grove:
        await grove.apply(SET)
        await grove.settle()
        [error] = (await grove.list("podcliquesets"))["rs"]["status"]["lastErrors"]
        assert "ResourceClaimTemplate default/external does not exist" in error["description"]
        await make_template(grove)
        await grove.settle()
        assert "lastErrors" not in (await grove.list("podcliquesets"))["rs"]["status"]
        assert await claims(grove) == FIRST


async def test_a_template_of_another_namespace_is_used_only_if_it_is_shared() -> None:
    found = copy.deepcopy(SET)
    found["spec"]["template"]["resourceSharing"][1]["namespace"] = "platform"
    templates = TEMPLATES.replace("/default/", "/platform/")
    body = {"metadata": {"name": "external", "namespace": "platform"}, "spec": {"spec": devices()}}
    async with running() as grove:
        await grove.cluster.create(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "platform"}}
        )
        await grove.cluster.create(
            templates, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"} | body
        )
        await grove.apply(found)
        await grove.settle()
        assert await claims(grove) == FIRST - {"rs-0-external"}
        [error] = (await grove.list("podcliquesets"))["rs"]["status"]["lastErrors"]
        assert "grove.io/shared-with-namespaces: default" in error["description"]
        shared = {"metadata": {"annotations": {"grove.io/shared-with-namespaces": "other, default"}}}
        await grove.call("PATCH", f"{templates}/external", shared)
        await grove.settle()
        assert await claims(grove) == FIRST
        assert "lastErrors" not in (await grove.list("podcliquesets"))["rs"]["status"]


async def test_a_claim_keeps_the_spec_that_it_was_created_with() -> None:
    async with running() as grove:
        await make_template(grove)
        await grove.apply(SET)
        await grove.settle()
        before = await grove.list("resourceclaims")
        await grove.call("DELETE", f"{TEMPLATES}/external")
        await make_template(grove, "another")
        templates = [
            t | {"templateSpec": {"spec": devices("another")}}
            for t in SET["spec"]["template"]["resourceClaimTemplates"]
        ]
        edit = {"spec": {"template": {"resourceClaimTemplates": templates}}}
        await grove.call("PATCH", f"{GROVE}/podcliquesets/rs", edit)
        await grove.settle()
        assert await grove.list("resourceclaims") == before
        assert "lastErrors" not in (await grove.list("podcliquesets"))["rs"]["status"]
