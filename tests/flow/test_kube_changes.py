"""What may change under a gang of kube-scheduler: the cluster's API, its feature gates, the set, somebody's hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from grove_sandbox.nodes import RACK, ZONE
from prometheus_client import generate_latest
from structlog.testing import capture_logs

from grove.api import PodGang, labels
from grove.api.config import OperatorConfiguration
from grove.api.serialization import codec
from grove.cli.explain.cluster import find_subject, read
from grove.operator.metrics import GroveMetrics
from grove.plan.explain import explain
from grove.runtime.client.transport import Request, Response, Stream, Transport
from grove.runtime.telemetry.metrics import Metrics
from grove.schedulers.kube import Kubernetes
from tests.flow.kube_scenarios import (
    GANGS,
    GROUPS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SETS,
    TOPOLOGIES,
    TOPOLOGY,
    Json,
    a_set,
    all_bound,
    clique_of,
    condition,
    in_racks,
    index_of,
    items,
    native_path,
    pods_of,
)
from tests.flow.operating import GroveCluster, cluster_with_crds, operator

pytestmark = pytest.mark.looptime

CLIQUES = "/apis/grove.io/v1alpha1/namespaces/default/podcliques"
NATIVE = "/apis/scheduling.k8s.io/"


class Meddler:
    """Stands between the operator and the server. `hidden` paths are not served; `edit` changes pods on their way."""

    def __init__(self) -> None:
        self.hidden: tuple[str, ...] = ()
        self.edit: Callable[[Json], int | None] | None = None
        self._server: Transport | None = None

    def __call__(self, server: Transport) -> "Meddler":
        self._server = server
        return self

    async def send(self, request: Request) -> Response:
        assert self._server is not None
        if request.path.startswith(self.hidden or "-"):
            return _refused(404, "NotFound")
        if (
            self.edit is not None
            and request.method == "POST"
            and request.path == PODS
            and not request.query.get("dryRun")
        ):
            body = orjson.loads(request.body)
            if (status := self.edit(body)) is not None:
                return _refused(status, "Forbidden")
            request = Request(
                request.method, request.path, request.query, request.headers, orjson.dumps(body)
            )
        return await self._server.send(request)

    async def stream(self, request: Request) -> Stream:
        assert self._server is not None
        return await self._server.stream(request)

    async def close(self) -> None:
        assert self._server is not None
        await self._server.close()


def _refused(code: int, reason: str) -> Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": "as the test wants it",
    }
    return Response(code, {"content-type": "application/json"}, orjson.dumps(body))


@asynccontextmanager
async def grove_with(
    meddler: Meddler | None = None, *, dialect: str = "1.37", settings: Json | None = None
) -> AsyncIterator[GroveCluster]:
    configuration = OperatorConfiguration()
    configuration.topology_aware_scheduling.enabled = True
    async with (
        cluster_with_crds(nodes=NODES, dialect=dialect) as grove,
        operator(
            grove,
            configuration=configuration,
            factories={"default": lambda found: Kubernetes(settings or found)},
            through=meddler,
        ),
    ):
        await grove.call("POST", TOPOLOGIES, TOPOLOGY)
        for obj in PRIORITY_CLASSES:
            await grove.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", obj)
        yield grove


async def dialect_of(grove: Any, gang: str) -> str:
    return str(condition((await items(grove, GANGS))[gang], "SchedulerDialect")["reason"])


async def synced(grove: Any, gang: str) -> Json:
    return condition((await items(grove, GANGS))[gang], "BackendSynced")


def drop_link(pod: Json) -> None:
    pod["spec"].pop("schedulingGroup", None)


async def test_a_pod_whose_link_was_dropped_keeps_its_gate_and_says_which_feature_gate_is_off() -> None:
    meddler = Meddler()
    meddler.edit = drop_link
    async with grove_with(meddler) as grove:
        lab: Any = grove
        await grove.apply(a_set("lost", {"a": (1, 1), "b": (1, 1)}))
        await asyncio.sleep(120)
        pods = await pods_of(lab, "lost")
        assert len(pods) == 2
        assert all(p["spec"]["schedulingGates"] == [{"name": labels.Gate.KUBERNETES}] for p in pods)
        clique = (await items(lab, CLIQUES))["lost-0-a"]
        (error,) = clique["status"]["lastErrors"]
        assert error["code"] == "ERR_POD_LINK_DROPPED"
        assert "feature gate GenericWorkload" in error["description"]
        events = await grove.list("events")
        assert any(e["reason"] == "PodLinkDropped" for e in events.values())

        meddler.edit = None
        await grove.until(lambda: all_bound(lab, "lost"), within=1800)
        clique = (await items(lab, CLIQUES))["lost-0-a"]
        assert not clique["status"].get("lastErrors")


async def test_one_pod_without_its_link_never_leaves_its_gate_while_the_others_do() -> None:
    meddler = Meddler()
    dropped: list[str] = []

    def drop_first(pod: Json) -> None:
        if not dropped:
            dropped.append(pod["metadata"]["name"])
            drop_link(pod)

    meddler.edit = drop_first
    async with grove_with(meddler) as grove:
        lab: Any = grove
        await grove.apply(a_set("lost", {"a": (2, 2), "b": (1, 1)}))
        await asyncio.sleep(120)
        pods = await pods_of(lab, "lost")
        assert [p["metadata"]["name"] for p in pods if p["spec"].get("schedulingGates")] == dropped
        assert not any(p["spec"].get("nodeName") for p in pods)
        await grove.until(lambda: all_bound(lab, "lost"), within=1800)
        assert dropped[0] not in {p["metadata"]["name"] for p in await pods_of(lab, "lost")}


@pytest.mark.parametrize(
    ("settings", "annotation", "refused"),
    [
        ({}, None, False),
        ({"strict": True}, None, True),
        ({}, "strict", True),
        ({"strict": True}, "best-effort", False),
    ],
)
async def test_a_strict_gang_is_refused_if_the_cluster_lacks_the_full_guarantee(
    settings: Json, annotation: str | None, refused: bool
) -> None:
    async with grove_with(dialect="1.36", settings=settings) as grove:
        lab: Any = grove
        wanted = in_racks(a_set("proud", {"a": (1, 1), "b": (1, 1)}, groups={"g": ("b",)}))
        if annotation:
            wanted["metadata"]["annotations"] = {labels.GANG_GUARANTEE: annotation}
        await grove.apply(wanted)
        await grove.settle()
        said = await synced(lab, "proud-0")
        assert (said["status"], said["reason"]) == (
            ("False", "RefusedByBackend") if refused else ("True", "WeakerThanAsked")
        )
        assert f"the constraint on {RACK}" in said["message"]
        pods = await pods_of(lab, "proud")
        assert all(bool(p["spec"].get("nodeName")) != refused for p in pods)


async def test_a_gang_api_that_appears_is_used_for_new_gangs_and_leaves_old_ones_alone() -> None:
    meddler = Meddler()
    meddler.hidden = tuple(f"{NATIVE}{v}" for v in ("v1beta1", "v1alpha3"))
    async with grove_with(meddler) as grove:
        lab: Any = grove
        await grove.apply(a_set("old", {"a": (1, 1), "b": (1, 1)}))
        await grove.settle()
        assert await dialect_of(lab, "old-0") == "NoGangAPI"
        assert (await synced(lab, "old-0"))["reason"] == "WeakerThanAsked"
        before = {p["metadata"]["uid"] for p in await pods_of(lab, "old")}
        assert len(before) == 2

        meddler.hidden = ()
        await asyncio.sleep(400)
        await grove.apply(a_set("new", {"a": (1, 1), "b": (1, 1)}))
        await grove.settle()
        assert await dialect_of(lab, "new-0") == "CompositePodGroup"
        assert await all_bound(lab, "new")
        assert await dialect_of(lab, "old-0") == "NoGangAPI"
        assert {p["metadata"]["uid"] for p in await pods_of(lab, "old")} == before


async def test_a_gang_whose_api_was_removed_keeps_running_says_so_and_recovers() -> None:
    meddler = Meddler()
    async with grove_with(meddler) as grove:
        lab: Any = grove
        await grove.apply(a_set("stay", {"a": (1, 1), "b": (1, 1)}))
        await grove.settle()
        before = {p["metadata"]["uid"] for p in await pods_of(lab, "stay")}
        meddler.hidden = (f"{NATIVE}v1alpha3",)
        await asyncio.sleep(400)
        said = await synced(lab, "stay-0")
        assert (said["status"], said["reason"]) == ("False", "RefusedByBackend")
        assert "does not serve any more" in said["message"]
        assert {p["metadata"]["uid"] for p in await pods_of(lab, "stay")} == before
        assert await dialect_of(lab, "stay-0") == "CompositePodGroup"

        await grove.call("DELETE", f"{PODS}/{(await pods_of(lab, 'stay'))[0]['metadata']['name']}")
        await asyncio.sleep(60)
        assert not await all_bound(lab, "stay")
        meddler.hidden = ()
        await grove.until(lambda: all_bound(lab, "stay"), within=900)
        assert (await synced(lab, "stay-0"))["status"] == "True"


async def test_a_cluster_without_any_gang_api_runs_sets_and_says_what_it_lacks() -> None:
    async with grove_with(dialect="1.34") as grove:
        lab: Any = grove
        await grove.apply(a_set("plain", {"a": (2, 2), "b": (1, 1)}))
        await grove.settle()
        assert await all_bound(lab, "plain")
        assert await dialect_of(lab, "plain-0") == "NoGangAPI"
        said = await synced(lab, "plain-0")
        assert (said["status"], said["reason"]) == ("True", "WeakerThanAsked")
        assert "placed one by one" in said["message"]


async def test_the_dialect_and_what_it_does_not_guarantee_are_seen_in_logs_metrics_explain_and_a_condition() -> (
    None
):
    meddler = Meddler()
    meddler.hidden = (NATIVE,)
    with capture_logs() as logs:
        async with grove_with(meddler) as grove:
            lab: Any = grove
            await grove.apply(a_set("plain", {"a": (2, 2), "b": (1, 1)}))
            await grove.settle()
            weaker = await synced(lab, "plain-0")
            assert (await dialect_of(lab, "plain-0"), weaker["reason"]) == ("NoGangAPI", "WeakerThanAsked")

            client = grove.cluster.client("explain")
            answer = explain(await read(client, await find_subject(client, "default", "plain")))
            assert answer.dialect == "NoGangAPI"
            assert ("WeakerThanAsked", weaker["message"]) in [(f.reason, f.message) for f in answer.findings]

            counted = Metrics()
            gangs = [codec.decode(orjson.dumps(g), PodGang) for g in (await items(lab, GANGS)).values()]
            GroveMetrics(counted.registry).count_gangs(gangs)
            text = generate_latest(counted.registry).decode()
            assert 'grove_gangs_weaker_than_asked{backend="default",dialect="NoGangAPI"} 1.0' in text

            meddler.hidden = ()
            await asyncio.sleep(400)
    chosen = [
        (e["dialect"], e["not_guaranteed"]) for e in logs if e["event"] == "detected the scheduler's gang API"
    ]
    assert [dialect for dialect, _ in chosen] == ["NoGangAPI", "CompositePodGroup"]
    assert "all or nothing over all groups: pods are released together and placed one by one" in chosen[0][1]
    assert "queues" in chosen[1][1]
    assert not any(p.startswith("all or nothing") for p in chosen[1][1])


async def test_an_edited_group_is_restored() -> None:
    async with grove_with() as grove:
        await grove.apply(a_set("edit", {"a": (2, 2), "b": (1, 1)}))
        await grove.settle()
        path = f"{native_path('v1beta1/podgroups')}/edit-0.pg.edit-0-a"
        await grove.call("PATCH", path, {"spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}})
        await grove.settle()
        assert (await grove.call("GET", path))["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}


async def test_a_group_in_use_keeps_what_cannot_be_changed_and_the_gang_says_so() -> None:
    """A level of the topology gets another label: the tree above the groups is recreated, the groups are not."""
    async with grove_with() as grove:
        lab: Any = grove
        wanted = in_racks(a_set("move", {"a": (1, 1), "b": (1, 1)}, groups={"g": ("b",)}))
        await grove.apply(wanted)
        await grove.settle()
        before = {p["metadata"]["uid"] for p in await pods_of(lab, "move")}
        groups = await items(lab, native_path("v1beta1/podgroups"))
        levels = [{"domain": "zone", "key": ZONE}, {"domain": "rack", "key": "kubernetes.io/hostname"}]
        await grove.call("PATCH", f"{TOPOLOGIES}/racks", {"spec": {"levels": levels}})
        await grove.settle()
        said = await synced(lab, "move-0")
        assert (said["status"], said["reason"]) == ("True", "WeakerThanAsked")
        assert "spec.schedulingConstraints" in said["message"]
        assert "while the gang has pods" in said["message"]
        assert "objects: Workload move-0, " in said["message"]
        assert all(f"PodGroup {name}" in said["message"].partition("objects: ")[2] for name in groups)
        after = await items(lab, native_path("v1beta1/podgroups"))
        assert {n: g["metadata"]["uid"] for n, g in after.items()} == {
            n: g["metadata"]["uid"] for n, g in groups.items()
        }
        assert {p["metadata"]["uid"] for p in await pods_of(lab, "move")} == before


async def test_a_gang_keeps_its_priority_so_that_its_pods_can_be_replaced() -> None:
    async with grove_with() as grove:
        lab: Any = grove
        wanted = a_set("prio", {"a": (1, 1), "b": (1, 1)})
        wanted["spec"]["template"]["priorityClassName"] = "urgent"
        await grove.apply(wanted)
        await grove.settle()
        await grove.call("PATCH", f"{SETS}/prio", {"spec": {"template": {"priorityClassName": "lazy"}}})
        await grove.settle()
        for pod in await pods_of(lab, "prio"):
            await grove.call("DELETE", f"{PODS}/{pod['metadata']['name']}")
        await grove.settle()
        assert await all_bound(lab, "prio")
        assert (await items(lab, GANGS))["prio-0"]["spec"]["priorityClassName"] == "urgent"
        assert {p["spec"]["priorityClassName"] for p in await pods_of(lab, "prio")} == {"urgent"}


@pytest.mark.parametrize("constrained", [False, True])
async def test_pods_that_cannot_be_made_hold_back_no_replacement(constrained: bool) -> None:
    """A gated pod holds back its whole tree. Here one waits for a sibling that a quota forbids."""
    meddler = Meddler()
    async with grove_with(meddler) as grove:
        lab: Any = grove
        wanted = a_set("quota", {"a": (1, 1), "b": (1, 1)})
        if constrained:
            wanted["spec"]["template"]["topologyConstraint"] = {
                "topologyName": "racks",
                "pack": {"required": "zone"},
            }
        await grove.apply(wanted)
        await grove.settle()
        assert await all_bound(lab, "quota")

        def forbid(pod: Json) -> int | None:
            return 403 if clique_of(pod) == "quota-0-b" and index_of(pod) == 2 else None

        meddler.edit = forbid
        await grove.call("PATCH", f"{CLIQUES}/quota-0-b", {"spec": {"replicas": 3}})
        await asyncio.sleep(60)
        assert len(await pods_of(lab, "quota")) == 3
        victim = next(p for p in await pods_of(lab, "quota") if clique_of(p) == "quota-0-a")
        await grove.call("DELETE", f"{PODS}/{victim['metadata']['name']}")

        async def replaced() -> bool:
            pods = [p for p in await pods_of(lab, "quota") if clique_of(p) == "quota-0-a"]
            return len(pods) == 1 and pods[0] != victim and bool(pods[0]["spec"].get("nodeName"))

        await grove.until(replaced, within=300)
        meddler.edit = None
        await grove.until(lambda: _has(lab, "quota", 4), within=900)


async def _has(lab: Any, name: str, count: int) -> bool:
    return len(await pods_of(lab, name)) == count and await all_bound(lab, name)


async def test_a_restarted_operator_writes_nothing() -> None:
    async with cluster_with_crds(nodes=NODES, dialect="1.37") as grove:
        lab: Any = grove
        async with operator(grove):
            await grove.apply(a_set("calm", {"a": (1, 1), "b": (2, 1)}, groups={"g": ("b",)}))
            await grove.settle()
            await grove.call("PATCH", f"{GROUPS}/calm-0-g", {"spec": {"replicas": 2}})
            await grove.settle()
            assert await all_bound(lab, "calm")
        before = len(grove.writes)
        async with operator(grove):
            await asyncio.sleep(400)
        assert [w for w in grove.writes[before:] if "leases" not in w] == []


async def test_a_gang_deleted_by_hand_is_recreated_and_its_pods_keep_running() -> None:
    async with grove_with() as grove:
        lab: Any = grove
        await grove.apply(a_set("again", {"a": (2, 2), "b": (1, 1)}))
        await grove.settle()
        before = {p["metadata"]["uid"] for p in await pods_of(lab, "again")}
        await grove.call("DELETE", f"{GANGS}/again-0")
        await grove.settle()
        assert await dialect_of(lab, "again-0") == "CompositePodGroup"
        assert (await synced(lab, "again-0"))["status"] == "True"
        assert {p["metadata"]["uid"] for p in await pods_of(lab, "again")} == before
        victim = next(p for p in await pods_of(lab, "again") if clique_of(p) == "again-0-b")
        await grove.call("DELETE", f"{PODS}/{victim['metadata']['name']}")
        await grove.until(lambda: _has(lab, "again", 3), within=300)
        await grove.call("DELETE", f"{SETS}/again")
        await grove.settle()
        for kind in ("v1beta1/workloads", "v1alpha3/compositepodgroups", "v1beta1/podgroups"):
            assert not await items(lab, native_path(kind))
