"""Whatever goes wrong, the operator ends with the same objects, and no gate opens early on the way."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from grove_sandbox.faults import Faults, FaultyTransport, Killed, Rates

from grove.api import labels
from tests.flow.operating import GroveCluster, Json, cluster_with_crds, example, operator

pytestmark = pytest.mark.looptime


def small() -> Json:
    """One replica: a clique of two, and a group whose second copy is a scaled gang."""
    found = example("disaggregated")
    template = found["spec"]["template"]
    template["cliques"] = [c for c in template["cliques"] if c["name"] in ("leader", "decode")]
    for clique in template["cliques"]:
        clique["spec"] |= {"replicas": 2, "minAvailable": 1}
        clique["spec"].pop("startsAfter", None)
    template["podCliqueScalingGroups"][0]["cliqueNames"] = ["leader"]
    del template["cliqueStartupType"]
    return found


async def picture(grove: GroveCluster) -> dict[str, Any]:
    """What there is, without what differs from run to run: names of pods, uids, versions, times."""
    pods = (await grove.list("pods")).values()
    found: dict[str, Any] = {
        "pods": sorted(
            (p["spec"]["hostname"], p["status"]["phase"], bool(p["spec"].get("schedulingGates")))
            for p in pods
        )
    }
    for plural in ("podcliques", "podcliquescalinggroups", "podgangs", "services"):
        objects = await grove.list(plural)
        found[plural] = sorted(
            n for n, o in objects.items() if labels.PART_OF in o["metadata"].get("labels", {})
        )
    gangs = (await grove.list("podgangs")).values()
    found["named"] = {
        g["metadata"]["name"]: [len(x["podReferences"]) for x in g["spec"]["podgroups"]] for g in gangs
    }
    found["phases"] = {g["metadata"]["name"]: g["status"]["phase"] for g in gangs}
    [pcs] = (await grove.list("podcliquesets")).values()
    found["status"] = {
        k: pcs["status"][k] for k in ("availableReplicas", "updatedReplicas", "observedGeneration")
    }
    return found


async def undisturbed() -> tuple[dict[str, Any], int]:
    """What a run without faults ends with, and how many writes it takes."""
    async with cluster_with_crds() as grove:
        made: list[FaultyTransport] = []

        def count(server: Any) -> FaultyTransport:
            made.append(Faults(0).transport(server))
            return made[0]

        async with operator(grove, through=count):
            await grove.apply(small())
            await grove.settle()
        return await picture(grove), made[0].writes


@pytest.mark.parametrize("seed", range(12))
async def test_random_faults_end_in_the_same_objects(seed: int) -> None:
    expected, _ = await undisturbed()
    async with cluster_with_crds(seed=seed) as grove:
        faults = Faults(seed, Rates.all(0.04))
        async with operator(grove, through=faults.transport, seed=seed):
            await grove.apply(small())
            await asyncio.sleep(120)
            faults.stop()
            await grove.settle(quiet=120)
        assert faults.log
        assert await picture(grove) == expected


async def test_a_new_operator_continues_after_any_single_write() -> None:
    expected, writes = await undisturbed()
    assert writes > 10
    for last in range(1, writes + 1):
        async with cluster_with_crds() as grove:
            await grove.apply(small())
            await _run_until_killed(grove, last)
            async with operator(grove):
                await grove.settle()
            assert await picture(grove) == expected, f"killed after write {last}"


async def _run_until_killed(grove: GroveCluster, write: int) -> None:
    made: list[FaultyTransport] = []

    def through(server: Any) -> FaultyTransport:
        made.append(Faults(0).transport(server))
        made[0].kill_after(write)
        return made[0]

    with suppress(Killed, BaseExceptionGroup):
        async with operator(grove, through=through):
            await made[0].killed.wait()


@pytest.mark.parametrize("seed", range(8))
async def test_chaos_while_scaling_and_deleting_pods_ends_in_order(seed: int) -> None:
    dice = random.Random(seed)
    async with cluster_with_crds(seed=seed) as grove:
        faults = Faults(seed, Rates.all(0.03))
        async with operator(grove, through=faults.transport, seed=seed):
            await grove.apply(small())
            for _ in range(12):
                await asyncio.sleep(dice.uniform(0, 20))
                await _disturb(grove, dice)
            faults.stop()
            await grove.settle(quiet=120)
        cliques = await grove.list("podcliques")
        pods = Counter(
            p["metadata"]["labels"][labels.POD_CLIQUE] for p in (await grove.list("pods")).values()
        )
        assert pods == {n: c["spec"]["replicas"] for n, c in cliques.items() if c["spec"]["replicas"]}
        gangs = await grove.list("podgangs")
        named = Counter(
            {g["name"]: len(g["podReferences"]) for o in gangs.values() for g in o["spec"]["podgroups"]}
        )
        assert +named == pods


async def _disturb(grove: GroveCluster, dice: random.Random) -> None:
    path = "/apis/grove.io/v1alpha1/namespaces/default"
    pods = sorted(await grove.list("pods"))
    match dice.choice(("pod", "clique", "group", "set", "gang")):
        case "pod" if pods:
            await grove.call("DELETE", f"/api/v1/namespaces/default/pods/{dice.choice(pods)}")
        case "clique":
            if name := next(
                iter(n for n in sorted(await grove.list("podcliques")) if n.endswith("-decode")), None
            ):
                await grove.call(
                    "PATCH", f"{path}/podcliques/{name}/scale", {"spec": {"replicas": dice.randint(1, 4)}}
                )
        case "group":
            if name := next(iter(sorted(await grove.list("podcliquescalinggroups"))), None):
                scale = {"spec": {"replicas": dice.randint(1, 3)}}
                await grove.call("PATCH", f"{path}/podcliquescalinggroups/{name}/scale", scale)
        case "set":
            await grove.call(
                "PATCH", f"{path}/podcliquesets/llama/scale", {"spec": {"replicas": dice.randint(0, 2)}}
            )
        case _:
            if gangs := sorted(await grove.list("podgangs")):
                gang = f"/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs/{dice.choice(gangs)}"
                await grove.call("DELETE", gang)
