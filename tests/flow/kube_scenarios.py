"""What a gang on kube-scheduler must do, written once and run twice: on the embedded cluster and on real ones.

A scenario is a function of a `Lab`. It leaves the lab as it found it. The nodes are those of `NODES`: six CPUs in all.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from grove_sandbox.nodes import RACK, ZONE, node

from grove.api import labels
from grove.schedulers.guarantees import Guarantee
from tests.recording import shows

Json = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"
GANGS = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"
GROUPS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquescalinggroups"
TOPOLOGIES = "/apis/grove.io/v1alpha1/clustertopologybindings"

# Where each dialect keeps the objects of a gang.
NATIVE = {
    "CompositePodGroup": ("v1beta1/workloads", "v1alpha3/compositepodgroups", "v1beta1/podgroups"),
    "PodGroupV1beta1": ("v1beta1/workloads", "v1beta1/podgroups"),
    "PodGroupV1alpha2": ("v1alpha2/workloads", "v1alpha2/podgroups"),
    "WorkloadV1alpha1": ("v1alpha1/workloads",),
    "NoGangAPI": (),
}

# Where a gang that waits keeps the places of its pods for up to five minutes, and says nothing in its objects.
HOLDING = ("WorkloadV1alpha1",)

# Two racks in one zone, one in another: two CPUs each.
NODES = [
    node("node-0", zone="zone-0", rack="rack-0", capacity={"cpu": "2"}),
    node("node-1", zone="zone-0", rack="rack-1", capacity={"cpu": "2"}),
    node("node-2", zone="zone-1", rack="rack-2", capacity={"cpu": "2"}),
]


class Lab(Protocol):
    """A cluster of six CPUs with an operator in it."""

    dialect: str
    """The dialect that gangs are expected to be written in."""

    async def call(
        self, method: str, path: str, body: Json | None = None, kind: str = "merge-patch+json"
    ) -> Json: ...

    async def until(self, holds: Callable[[], Awaitable[Any]], within: float = 60.0) -> None: ...

    async def settle(self) -> None:
        """Long enough for a scheduler to make the mistake."""
        ...


# --- the scenarios ---


@shows(Guarantee.ALL_OR_NOTHING)
async def groups_that_fit_only_together_bind_together(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("whole", {"a": (2, 2), "b": (2, 2), "c": (2, 2)}))
    await lab.until(lambda: bound(lab, "whole", 6))
    gang = (await items(lab, GANGS))["whole-0"]
    assert condition(gang, "SchedulerDialect")["reason"] == lab.dialect
    await remove(lab, "whole")


@shows(Guarantee.ALL_OR_NOTHING)
async def one_cpu_short_binds_nothing_and_freed_room_lets_it_through(lab: Lab) -> None:
    await one_cpu_short(lab)
    await lab.settle()
    assert await bound(lab, "large", 0), "a part of a gang was bound"
    gang = (await items(lab, GANGS))["large-0"]
    assert condition(gang, "Scheduled")["status"] == "False"
    if lab.dialect not in HOLDING:
        await lab.until(lambda: complains(lab, "large-0"))
    await lab.call("DELETE", f"{PODS}/filler")
    await lab.until(lambda: bound(lab, "large", 6))
    await remove(lab, "large")


@shows(Guarantee.WAITING_HOLDS_NO_ROOM)
async def a_gang_that_waits_holds_up_no_smaller_gang(lab: Lab) -> None:
    await one_cpu_short(lab)
    await lab.call("POST", SETS, a_set("small", {"a": (1, 1), "b": (1, 1)}))
    await lab.until(lambda: bound(lab, "small", 2))
    assert await bound(lab, "large", 0), "a part of a gang was bound"
    for name in ("small", "large"):
        await remove(lab, name)
    await lab.call("DELETE", f"{PODS}/filler")


@shows(Guarantee.ALL_OR_NOTHING)
async def nothing_of_a_gang_binds_when_one_group_cannot(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("torn", {"a": (2, 2), "b": (1, 1)}, cpu={"b": "3"}))
    await released(lab, "torn", 3)
    await lab.settle()
    assert await bound(lab, "torn", 0)
    await remove(lab, "torn")


@shows(Guarantee.MINIMUM_BELOW_REPLICAS)
async def pods_beyond_the_minimum_never_keep_the_gang_from_binding(lab: Lab) -> None:
    """Seven CPUs are asked for, of which five are required."""
    await lab.call("POST", SETS, a_set("surplus", {"a": (4, 2), "b": (3, 3)}))
    await lab.until(lambda: bound(lab, "surplus", 6))
    pods = await pods_of(lab, "surplus")
    placed = {index_of(p) for p in pods if clique_of(p) == "surplus-0-b" and p["spec"].get("nodeName")}
    assert placed == {0, 1, 2}
    assert sum(bool(p["spec"].get("nodeName")) for p in pods if clique_of(p) == "surplus-0-a") == 3
    await remove(lab, "surplus")


async def a_group_binds_its_minimum_and_the_rest_waits(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("one", {"a": (7, 2)}))
    await lab.until(lambda: bound(lab, "one", 6))
    await lab.settle()
    assert await bound(lab, "one", 6)
    await remove(lab, "one")


async def a_gated_pod_of_the_user_holds_back_the_whole_gang(lab: Lab) -> None:
    wanted = a_set("held", {"a": (1, 1), "b": (1, 1)})
    spec = wanted["spec"]["template"]["cliques"][1]["spec"]["podSpec"]
    spec["schedulingGates"] = [{"name": "example.com/hold"}]
    await lab.call("POST", SETS, wanted)
    await released(lab, "held", 2)
    await lab.settle()
    assert await bound(lab, "held", 0)
    held = next(p for p in await pods_of(lab, "held") if p["spec"].get("schedulingGates"))
    await lab.call("PATCH", f"{PODS}/{held['metadata']['name']}", {"spec": {"schedulingGates": None}})
    await lab.until(lambda: bound(lab, "held", 2))
    await remove(lab, "held")


async def a_deleted_pod_is_replaced_inside_its_group(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("heal", {"a": (2, 2), "b": (2, 1)}))
    await lab.until(lambda: bound(lab, "heal", 4))
    for clique in ("heal-0-a", "heal-0-b"):
        before = {p["metadata"]["name"]: p for p in await pods_of(lab, "heal")}
        victim = next(p for p in before.values() if clique_of(p) == clique and index_of(p) == 0)
        await lab.call("DELETE", f"{PODS}/{victim['metadata']['name']}")

        async def replaced(gone: Mapping[str, Json] = before) -> bool:
            pods = await pods_of(lab, "heal")
            fresh = [p for p in pods if p["metadata"]["name"] not in gone]
            return len(pods) == 4 and bool(fresh) and bool(fresh[0]["spec"].get("nodeName"))

        await lab.until(replaced)
        fresh = next(p for p in await pods_of(lab, "heal") if p["metadata"]["name"] not in before)
        assert link_in(fresh) == link_in(victim)
        assert clique_of(fresh) == clique
    await remove(lab, "heal")


@shows(Guarantee.RESCHEDULED_AS_GANG)
async def a_gang_that_is_lost_as_a_whole_is_placed_as_a_whole(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("lost", {"a": (3, 3), "b": (3, 3)}))
    await lab.until(lambda: bound(lab, "lost", 6))
    filler = a_pod("filler", "1")
    filler["spec"]["nodeName"] = "node-0"
    await lab.call("POST", PODS, filler)
    names = [pod["metadata"]["name"] for pod in await pods_of(lab, "lost")]
    await asyncio.gather(*(lab.call("DELETE", f"{PODS}/{name}") for name in names))
    await released(lab, "lost", 6)
    await lab.settle()
    assert await bound(lab, "lost", 0), "a part of a gang was bound"
    await lab.call("DELETE", f"{PODS}/filler")
    await lab.until(lambda: bound(lab, "lost", 6))
    await remove(lab, "lost")


async def scaling_out_adds_a_gang_and_leaves_the_base_alone(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("grow", {"a": (1, 1), "b": (1, 1)}, groups={"g": ("b",)}))
    await lab.until(lambda: bound(lab, "grow", 2))
    base = {p["metadata"]["name"]: p["metadata"]["uid"] for p in await pods_of(lab, "grow")}
    objects = await native(lab)
    await lab.call("PATCH", f"{GROUPS}/grow-0-g", {"spec": {"replicas": 3}})
    await lab.until(lambda: bound(lab, "grow", 4))
    after = await native(lab)
    for kind, before in objects.items():
        for name, obj in before.items():
            assert after[kind][name]["metadata"]["uid"] == obj["metadata"]["uid"]
            assert after[kind][name]["spec"] == obj["spec"]
    assert sum(map(len, after.values())) > sum(map(len, objects.values()))
    found = {p["metadata"]["name"]: p["metadata"]["uid"] for p in await pods_of(lab, "grow")}
    assert {n: found[n] for n in base} == base
    await lab.call("PATCH", f"{GROUPS}/grow-0-g", {"spec": {"replicas": 1}})
    await lab.until(lambda: same_objects(lab, objects))
    await remove(lab, "grow")


async def a_scaled_gang_that_does_not_fit_waits_alone(lab: Lab) -> None:
    wanted = a_set("extra", {"a": (2, 2), "b": (3, 3)}, groups={"g": ("b",)})
    await lab.call("POST", SETS, wanted)
    await lab.until(lambda: bound(lab, "extra", 5))
    await lab.call("PATCH", f"{GROUPS}/extra-0-g", {"spec": {"replicas": 2}})
    await released(lab, "extra", 8)
    await lab.settle()
    assert await bound(lab, "extra", 5)
    if lab.dialect not in HOLDING:
        victim = next(p for p in await pods_of(lab, "extra") if clique_of(p) == "extra-0-a")
        await lab.call("DELETE", f"{PODS}/{victim['metadata']['name']}")
        await lab.until(lambda: count_is(lab, "extra", 8))
        await lab.until(lambda: bound(lab, "extra", 5))
    await remove(lab, "extra")


async def what_somebody_deletes_comes_back(lab: Lab) -> None:
    await lab.call("POST", PODS, a_pod("filler", "1"))
    await lab.call("POST", SETS, a_set("mend", {"a": (3, 3), "b": (3, 3)}))
    await released(lab, "mend", 6)
    await lab.settle()
    objects = await native(lab)
    for kind, found in objects.items():
        if kind.endswith("podgroups"):
            continue  # in use, so it would only be marked for deletion
        for name in found:
            await lab.call("DELETE", f"{native_path(kind)}/{name}")
    await lab.until(lambda: same_objects(lab, objects))
    assert await bound(lab, "mend", 0)
    await lab.call("DELETE", f"{PODS}/filler")
    await lab.until(lambda: bound(lab, "mend", 6))
    await remove(lab, "mend")


async def a_deleted_set_leaves_nothing(lab: Lab) -> None:
    await lab.call("POST", SETS, a_set("gone", {"a": (1, 1), "b": (2, 1)}))
    await lab.until(lambda: bound(lab, "gone", 3))
    await remove(lab, "gone")
    assert not any((await native(lab)).values())
    assert not await items(lab, GANGS)


async def pods_of_a_gang_have_its_priority(lab: Lab) -> None:
    """A clique that names a class of its own does not keep the gang from being scheduled."""
    wanted = a_set("prio", {"a": (1, 1), "b": (1, 1)})
    wanted["spec"]["template"]["priorityClassName"] = "urgent"
    wanted["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["priorityClassName"] = "lazy"
    await lab.call("POST", SETS, wanted)
    await lab.until(lambda: bound(lab, "prio", 2))
    if lab.dialect != "NoGangAPI":
        assert {p["spec"]["priority"] for p in await pods_of(lab, "prio")} == {1000}
    await remove(lab, "prio")


async def a_gang_has_the_priority_on_which_its_cliques_agree(lab: Lab) -> None:
    """A set without a class of its own whose cliques all name the same."""
    wanted = a_set("agreed", {"a": (2, 1), "b": (1, 1)})
    for clique in wanted["spec"]["template"]["cliques"]:
        clique["spec"]["podSpec"]["priorityClassName"] = "urgent"
    await lab.call("POST", SETS, wanted)
    await lab.until(lambda: bound(lab, "agreed", 3))
    assert {p["spec"]["priority"] for p in await pods_of(lab, "agreed")} == {1000}
    await remove(lab, "agreed")


async def cliques_that_disagree_on_a_priority_are_placed_all_the_same(lab: Lab) -> None:
    wanted = a_set("torn", {"a": (1, 1), "b": (1, 1)})
    for clique, name in zip(wanted["spec"]["template"]["cliques"], ("urgent", "lazy"), strict=True):
        clique["spec"]["podSpec"]["priorityClassName"] = name
    await lab.call("POST", SETS, wanted)
    await lab.until(lambda: bound(lab, "torn", 2))
    one_for_all = lab.dialect in ("CompositePodGroup", "PodGroupV1beta1")
    found = {clique_of(p): p["spec"]["priority"] for p in await pods_of(lab, "torn")}
    assert found == ({"torn-0-a": 0, "torn-0-b": 0} if one_for_all else {"torn-0-a": 1000, "torn-0-b": 10})
    await remove(lab, "torn")


@shows(Guarantee.TOPOLOGY_REQUIRED)
async def a_zone_for_the_whole_gang_is_honoured(lab: Lab) -> None:
    """Four CPUs are only in zone-0; without the constraint they would be spread over all nodes."""
    wanted = a_set("zoned", {"a": (2, 2), "b": (2, 2)})
    wanted["spec"]["template"]["topologyConstraint"] = {"topologyName": "racks", "pack": {"required": "zone"}}
    await lab.call("POST", SETS, wanted)
    await lab.until(lambda: bound(lab, "zoned", 4))
    zones = {n["metadata"]["name"]: n["metadata"]["labels"][ZONE] for n in NODES}
    assert {zones[p["spec"]["nodeName"]] for p in await pods_of(lab, "zoned")} == {"zone-0"}
    await remove(lab, "zoned")


@shows(Guarantee.TOPOLOGY_REQUIRED)
async def a_rack_inside_a_zone_is_honoured(lab: Lab) -> None:
    """Two CPUs fit into any rack; with the two others only zone-0 has room for all four."""
    await lab.call(
        "POST",
        SETS,
        in_racks(a_set("racks", {"a": (2, 2), "b": (1, 1), "c": (1, 1)}, groups={"g": ("b", "c")})),
    )
    await lab.until(lambda: bound(lab, "racks", 4))
    nodes = {n["metadata"]["name"]: n["metadata"]["labels"] for n in NODES}
    pods = await pods_of(lab, "racks")
    places = [nodes[p["spec"]["nodeName"]] for p in pods]
    assert {place[ZONE] for place in places} == {"zone-0"}
    inner = {nodes[p["spec"]["nodeName"]][RACK] for p in pods if "racks-0-g-" in clique_of(p)}
    assert len(inner) == 1
    await remove(lab, "racks")


async def a_rack_that_holds_too_little_binds_nothing(lab: Lab) -> None:
    wanted = in_racks(a_set("wide", {"a": (1, 1), "b": (2, 2), "c": (1, 1)}, groups={"g": ("b", "c")}))
    await lab.call("POST", SETS, wanted)
    await released(lab, "wide", 4)
    await lab.settle()
    assert await bound(lab, "wide", 0)
    await remove(lab, "wide")


async def competing_gangs_never_deadlock(lab: Lab, seed: int, place: Json | None = None) -> None:
    """There is room for one of the two; whichever it is, the other gets it afterwards.

    `place` are fields of the pods that keep them to six CPUs of their own.
    """
    names = await compete(lab, seed, place)
    winner: list[str] = []

    async def one_has_won() -> bool:
        for name in names:
            pods = await pods_of(lab, name)
            if pods and all(p["spec"].get("nodeName") for p in pods):
                winner[:] = [name]
        return bool(winner)

    await lab.until(one_has_won, within=900)
    loser = next(n for n in names if n not in winner)
    assert not any(p["spec"].get("nodeName") for p in await pods_of(lab, loser)), "a part of a gang was bound"
    await remove(lab, winner[0])
    await lab.until(lambda: all_bound(lab, loser), within=900)
    await remove(lab, loser)


async def compete(lab: Lab, seed: int, place: Json | None = None) -> list[str]:
    """Two gangs of three groups, four to six pods each, in any order; returns their sets."""
    chance = random.Random(seed)
    names = [f"left-{seed}", f"right-{seed}"]
    chance.shuffle(names)
    for name in names:
        sizes = {c: (n, n) for c, n in zip("abc", _split(chance, 4 + chance.randrange(3)), strict=True)}
        wanted = a_set(name, sizes)
        for clique in wanted["spec"]["template"]["cliques"]:
            clique["spec"]["podSpec"] |= place or {}
        await lab.call("POST", SETS, wanted)
    return names


EVERYWHERE: Sequence[Callable[[Lab], Awaitable[None]]] = (
    groups_that_fit_only_together_bind_together,
    one_cpu_short_binds_nothing_and_freed_room_lets_it_through,
    nothing_of_a_gang_binds_when_one_group_cannot,
    pods_beyond_the_minimum_never_keep_the_gang_from_binding,
    a_group_binds_its_minimum_and_the_rest_waits,
    a_gated_pod_of_the_user_holds_back_the_whole_gang,
    a_deleted_pod_is_replaced_inside_its_group,
    a_gang_that_is_lost_as_a_whole_is_placed_as_a_whole,
    scaling_out_adds_a_gang_and_leaves_the_base_alone,
    a_scaled_gang_that_does_not_fit_waits_alone,
    what_somebody_deletes_comes_back,
    a_deleted_set_leaves_nothing,
    pods_of_a_gang_have_its_priority,
    a_gang_has_the_priority_on_which_its_cliques_agree,
    cliques_that_disagree_on_a_priority_are_placed_all_the_same,
)
WITHOUT_HOLDING = (a_gang_that_waits_holds_up_no_smaller_gang, a_zone_for_the_whole_gang_is_honoured)
WITH_TREES = (a_rack_inside_a_zone_is_honoured, a_rack_that_holds_too_little_binds_nothing)


# --- what they are made of ---


def a_set(
    name: str,
    cliques: Mapping[str, tuple[int, int]],
    *,
    cpu: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Json:
    """A clique `(3, 2)` has three pods of which two are required; each asks for one CPU unless `cpu` says else."""

    def clique(key: str, replicas: int, minimum: int) -> Json:
        resources = {"requests": {"cpu": (cpu or {}).get(key, "1")}}
        container = {"name": "main", "image": "app:1", "resources": resources}
        spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
        return {
            "name": key,
            "spec": {"roleName": key, "replicas": replicas, "minAvailable": minimum, "podSpec": spec},
        }

    template: Json = {"cliques": [clique(key, *numbers) for key, numbers in cliques.items()]}
    if groups:
        template["podCliqueScalingGroups"] = [
            {"name": key, "cliqueNames": list(members), "replicas": 1, "minAvailable": 1}
            for key, members in groups.items()
        ]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "template": template},
    }


async def one_cpu_short(lab: Lab) -> None:
    """A gang that needs all six CPUs, one of which is taken."""
    await lab.call("POST", PODS, a_pod("filler", "1"))
    await lab.until(lambda: is_bound(lab, "filler"))
    await lab.call("POST", SETS, a_set("large", {"a": (2, 2), "b": (2, 2), "c": (2, 2)}))
    await released(lab, "large", 6)


def in_racks(wanted: Json) -> Json:
    """Everything in one zone, and the copy of its scaling group in one rack."""
    template = wanted["spec"]["template"]
    template["topologyConstraint"] = {"topologyName": "racks", "pack": {"required": "zone"}}
    template["podCliqueScalingGroups"][0]["topologyConstraint"] = {"pack": {"required": "rack"}}
    return wanted


TOPOLOGY = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"domain": "zone", "key": ZONE}, {"domain": "rack", "key": RACK}]},
}
PRIORITY_CLASSES = [
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": "Never",
    }
    for name, value in (("urgent", 1000), ("lazy", 10))
]
PRIORITY_CLASSES.append(
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "greedy"},
        "value": 2000,
    }
)


def a_pod(name: str, cpu: str) -> Json:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }


async def items(lab: Lab, path: str) -> dict[str, Json]:
    return {o["metadata"]["name"]: o for o in (await lab.call("GET", path))["items"]}


async def pods_of(lab: Lab, name: str) -> list[Json]:
    """Those that are not being deleted."""
    found = (await items(lab, PODS)).values()
    return [
        p
        for p in found
        if p["metadata"].get("labels", {}).get(labels.PART_OF) == name
        and not p["metadata"].get("deletionTimestamp")
    ]


async def bound(lab: Lab, name: str, count: int) -> bool:
    return sum(bool(p["spec"].get("nodeName")) for p in await pods_of(lab, name)) == count


async def all_bound(lab: Lab, name: str) -> bool:
    pods = await pods_of(lab, name)
    return bool(pods) and all(p["spec"].get("nodeName") for p in pods)


async def count_is(lab: Lab, name: str, count: int) -> bool:
    return len(await pods_of(lab, name)) == count


async def is_bound(lab: Lab, pod: str) -> bool:
    return bool((await items(lab, PODS))[pod]["spec"].get("nodeName"))


async def released(lab: Lab, name: str, count: int) -> None:
    """Waits until all pods exist and none of Grove's gates holds one that is required."""

    async def holds() -> bool:
        pods = await pods_of(lab, name)
        return len(pods) == count and not any(
            g["name"] == labels.Gate.KUBERNETES for p in pods for g in p["spec"].get("schedulingGates", [])
        )

    await lab.until(holds)


async def says(lab: Lab, gang: str, kind: str, text: str) -> bool:
    return text in condition((await items(lab, GANGS))[gang], kind)["message"]


async def complains(lab: Lab, gang: str) -> bool:
    """Whether the scheduler says why it does not place a gang."""
    said = (await items(lab, GANGS))[gang]["status"]["conditions"]
    return any(c["type"] == "Unschedulable" and c["message"] for c in said)


def condition(obj: Json, kind: str) -> Json:
    found: Json = next(c for c in obj["status"]["conditions"] if c["type"] == kind)
    return found


def clique_of(pod: Json) -> str:
    return str(pod["metadata"]["labels"][labels.POD_CLIQUE])


def index_of(pod: Json) -> int:
    return int(pod["metadata"]["labels"][labels.POD_INDEX])


def link_in(pod: Json) -> Json:
    return {k: v for k, v in pod["spec"].items() if k in ("schedulingGroup", "workloadRef")}


def native_path(kind: str) -> str:
    version, plural = kind.split("/")
    return f"/apis/scheduling.k8s.io/{version}/namespaces/default/{plural}"


async def native(lab: Lab) -> dict[str, dict[str, Json]]:
    return {kind: await items(lab, native_path(kind)) for kind in NATIVE[lab.dialect]}


async def same_objects(lab: Lab, wanted: dict[str, dict[str, Json]]) -> bool:
    """Whether there are objects of these names with these specs, and no others."""
    found = await native(lab)
    return {k: {n: o["spec"] for n, o in v.items()} for k, v in found.items()} == {
        k: {n: o["spec"] for n, o in v.items()} for k, v in wanted.items()
    }


async def remove(lab: Lab, name: str) -> None:
    """Deletes a set and waits until nothing is left of it."""
    await lab.call("DELETE", f"{SETS}/{name}")

    async def is_gone() -> bool:
        pods = (await items(lab, PODS)).values()
        left = [p for p in pods if p["metadata"].get("labels", {}).get(labels.PART_OF) == name]
        objects = [o for found in (await native(lab)).values() for o in found if o.startswith(f"{name}-")]
        gangs = [g for g in await items(lab, GANGS) if g.startswith(f"{name}-")]
        return not left and not objects and not gangs and name not in await items(lab, SETS)

    await lab.until(is_gone)


def _split(chance: random.Random, total: int) -> list[int]:
    first = 1 + chance.randrange(total - 2)
    second = 1 + chance.randrange(total - first - 1)
    return [first, second, total - first - second]
