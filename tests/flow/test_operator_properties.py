"""Any valid set converges, a second reconcile writes nothing, and scaling out and in again returns to the start."""

from typing import Any

import looptime
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api import PodCliqueSet, labels
from grove.api.serialization import codec
from grove.api.validation import validate
from tests.flow.operating import GroveCluster, Json, operator, running

POD = {
    "containers": [
        {"name": "c", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "100m"}}}
    ]
}


@st.composite
def sets(draw: st.DrawFn) -> Json:
    """Up to four cliques, some of them in up to two scaling groups, in any start order."""
    names = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True))
    cliques = []
    for name in names:
        replicas = draw(st.integers(1, 3))
        spec = {
            "roleName": name,
            "replicas": replicas,
            "minAvailable": draw(st.integers(1, replicas)),
            "podSpec": POD,
        }
        cliques.append({"name": name, "spec": spec})
    free = list(names)
    groups = []
    for group in draw(st.sampled_from([[], ["g"], ["g", "h"]])):
        members = (
            draw(st.lists(st.sampled_from(free), min_size=1, max_size=len(free), unique=True)) if free else []
        )
        if members:
            free = [n for n in free if n not in members]
            replicas = draw(st.integers(1, 3))
            minimum = draw(st.integers(1, replicas))
            groups.append(
                {"name": group, "cliqueNames": members, "replicas": replicas, "minAvailable": minimum}
            )
    order = draw(st.sampled_from(["CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder"]))
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "s"},
        "spec": {
            "replicas": draw(st.integers(0, 2)),
            "template": {"cliques": cliques, "podCliqueScalingGroups": groups, "cliqueStartupType": order},
        },
    }


def pods_wanted(pcs: Json) -> int:
    template = pcs["spec"]["template"]
    copies = {n: g["replicas"] for g in template["podCliqueScalingGroups"] for n in g["cliqueNames"]}
    one = sum(c["spec"]["replicas"] * copies.get(c["name"], 1) for c in template["cliques"])
    return int(one * pcs["spec"]["replicas"])


async def uids(grove: GroveCluster) -> dict[str, str]:
    found: dict[str, str] = {}
    for plural in ("pods", "podcliques", "podgangs", "podcliquescalinggroups", "services"):
        for name, obj in (await grove.list(plural)).items():
            if labels.PART_OF in obj["metadata"].get("labels", {}):
                found[f"{plural}/{name}"] = obj["metadata"]["uid"]
    return found


def in_virtual_time(scenario: Any) -> None:
    loop = looptime.new_event_loop()
    try:
        loop.run_until_complete(scenario)
    finally:
        loop.close()


@settings(max_examples=12)
@given(sets())
def test_any_valid_set_converges(pcs: Json) -> None:
    assert [p for p in validate(codec.decode(codec.encode(pcs), PodCliqueSet)) if not p.warning] == []

    async def scenario() -> None:
        async with running() as grove:
            await grove.apply(pcs)
            await grove.settle()
            pods = (await grove.list("pods")).values()
            assert len(pods) == pods_wanted(pcs)
            assert all(p["status"]["phase"] == "Running" for p in pods), "not every pod runs"
            assert len({p["spec"]["hostname"] for p in pods}) == len(pods)
            before, writes = await uids(grove), len(grove.writes)
            async with operator(grove):
                await grove.settle()
            assert grove.writes[writes:] == [], "a second look wrote something"
            path = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets/s/scale"
            for replicas in (pcs["spec"]["replicas"] + 1, pcs["spec"]["replicas"]):
                await grove.call("PATCH", path, {"spec": {"replicas": replicas}})
                await grove.settle()
            assert await uids(grove) == before, "out and in again is not where it began"

    in_virtual_time(scenario())
