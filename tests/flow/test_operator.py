"""From one PodCliqueSet to running pods, and back to nothing, on the embedded cluster."""

import asyncio
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from grove.api import PodGang, labels
from grove.api.pod_view import Pod
from grove.runtime.client.transport import Request, Response, Transport
from grove.schedulers.kube import Kubernetes
from grove.schedulers.types import Served
from tests.flow.operating import GroveCluster, cluster_with_crds, example, operator, running

pytestmark = pytest.mark.looptime

GROVE = "/apis/grove.io/v1alpha1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"


async def phases(grove: GroveCluster) -> Counter[str]:
    return Counter(p["status"]["phase"] for p in (await grove.list("pods")).values())


async def pods_of(grove: GroveCluster, clique: str) -> dict[str, Any]:
    found = await grove.list("pods")
    return {n: p for n, p in found.items() if p["metadata"]["labels"][labels.POD_CLIQUE] == clique}


async def up(grove: GroveCluster, name: str) -> None:
    await grove.apply(example(name))
    await grove.settle()


async def nothing_is_left(grove: GroveCluster) -> None:
    kinds = (
        "podcliquesets",
        "podcliques",
        "podcliquescalinggroups",
        "podgangs",
        "pods",
        "services",
        "secrets",
        "roles",
    )
    for plural in (*kinds, "rolebindings", "serviceaccounts", "horizontalpodautoscalers"):
        found = [
            n
            for n, o in (await grove.list(plural)).items()
            if o["metadata"].get("labels", {}).get(labels.PART_OF)
        ]
        assert found == [], plural


async def test_a_set_comes_up() -> None:
    async with running() as grove:
        await up(grove, "simple")
        assert await phases(grove) == {"Running": 8}
        assert grove.observer.opened == 8
        assert {g["status"]["phase"] for g in (await grove.list("podgangs")).values()} == {"Running"}
        status = (await grove.list("podcliquesets"))["train"]["status"]
        assert (status["availableReplicas"], status["updatedReplicas"]) == (2, 2)
        assert status["podGangStatuses"] == [{"name": f"train-{i}", "phase": "Running"} for i in (0, 1)]


async def test_a_disaggregated_set_comes_up_with_a_base_and_a_scaled_gang() -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        assert await phases(grove) == {"Running": 13}
        gangs = await grove.list("podgangs")
        named = {n: [len(g["podReferences"]) for g in o["spec"]["podgroups"]] for n, o in gangs.items()}
        assert named == {"llama-0": [1, 4, 1, 3], "llama-0-prefill-0": [1, 3]}


async def test_a_second_reconcile_writes_nothing() -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        before = len(grove.writes)
        async with operator(grove) as second:
            await grove.settle()
            assert all(c.queue.idle for c in second.controllers)
        assert grove.writes[before:] == []


async def test_a_scaling_group_scales_out_and_in() -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        before = {n: p["metadata"]["uid"] for n, p in (await grove.list("pods")).items()}
        group = f"{GROVE}/podcliquescalinggroups/llama-0-prefill/scale"
        await grove.call("PATCH", group, {"spec": {"replicas": 3}})
        await grove.settle()
        assert await phases(grove) == {"Running": 17}
        assert "llama-0-prefill-1" in await grove.list("podgangs")
        await grove.call("PATCH", group, {"spec": {"replicas": 2}})
        await grove.settle()
        assert {n: p["metadata"]["uid"] for n, p in (await grove.list("pods")).items()} == before
        assert set(await grove.list("podgangs")) == {"llama-0", "llama-0-prefill-0"}


async def test_a_clique_scales_out_and_in_within_its_gang() -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        before = set(await pods_of(grove, "llama-0-decode"))
        await grove.call("PATCH", f"{GROVE}/podcliques/llama-0-decode/scale", {"spec": {"replicas": 6}})
        await grove.settle()
        pods = await pods_of(grove, "llama-0-decode")
        assert sorted(p["spec"]["hostname"][-1] for p in pods.values()) == list("012345")
        assert {p["status"]["phase"] for p in pods.values()} == {"Running"}
        [group] = [
            g
            for g in (await grove.list("podgangs"))["llama-0"]["spec"]["podgroups"]
            if g["name"] == "llama-0-decode"
        ]
        assert {r["name"] for r in group["podReferences"]} == set(pods)
        await grove.call("PATCH", f"{GROVE}/podcliques/llama-0-decode/scale", {"spec": {"replicas": 4}})
        await grove.settle()
        assert set(await pods_of(grove, "llama-0-decode")) == before


async def test_a_template_update_does_not_reset_what_was_scaled() -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        await grove.call("PATCH", f"{GROVE}/podcliques/llama-0-decode/scale", {"spec": {"replicas": 5}})
        await grove.call(
            "PATCH", f"{GROVE}/podcliquescalinggroups/llama-0-prefill/scale", {"spec": {"replicas": 3}}
        )
        await grove.settle()
        pcs = (await grove.list("podcliquesets"))["llama"]
        for clique in pcs["spec"]["template"]["cliques"]:
            clique["labels"] = {"new": "label"}
        await grove.call("PUT", f"{GROVE}/podcliquesets/llama", pcs)
        await grove.settle()
        cliques = await grove.list("podcliques")
        assert cliques["llama-0-decode"]["spec"]["replicas"] == 5
        assert cliques["llama-0-decode"]["metadata"]["labels"]["new"] == "label"
        assert (await grove.list("podcliquescalinggroups"))["llama-0-prefill"]["spec"]["replicas"] == 3


async def resize_in_set(grove: GroveCluster, name: str, **replicas: int) -> None:
    """Changes the replicas of cliques and scaling groups where a user wrote them."""
    pcs = (await grove.list("podcliquesets"))[name]
    template = pcs["spec"]["template"]
    for clique in template["cliques"]:
        clique["spec"]["replicas"] = replicas.get(clique["name"], clique["spec"]["replicas"])
    for group in template.get("podCliqueScalingGroups", []):
        group["replicas"] = replicas.get(group["name"], group["replicas"])
    await grove.call("PUT", f"{GROVE}/podcliquesets/{name}", pcs)
    await grove.settle()


async def test_an_unset_minimum_is_all_pods_that_a_clique_was_created_with() -> None:
    async with running() as grove:
        await up(grove, "simple")
        await resize_in_set(grove, "train", worker=2)
        status = (await grove.list("podcliquesets"))["train"]["status"]
        assert "lastErrors" not in status
        assert status["observedGeneration"] == 2
        await grove.call("PATCH", f"{GROVE}/podcliquesets/train/scale", {"spec": {"replicas": 3}})
        await grove.settle()
        cliques = await grove.list("podcliques")
        sizes = [(c["spec"]["replicas"], c["spec"]["minAvailable"]) for c in cliques.values()]
        assert sizes == [(4, 4), (4, 4), (2, 2)]
        gangs = await grove.list("podgangs")
        assert [g["spec"]["podgroups"][0]["minReplicas"] for g in gangs.values()] == [4, 4, 2]
        assert {g["status"]["phase"] for g in gangs.values()} == {"Running"}
        assert await phases(grove) == {"Running": 10}


async def test_pods_wait_for_as_many_parents_as_their_cliques_were_created_with() -> None:
    async with running() as grove:
        pcs = example("simple")
        pcs["spec"]["replicas"] = 1
        template = pcs["spec"]["template"]
        first = template["cliques"][0] | {"name": "first"}
        group = {"name": "unit", "cliqueNames": ["worker"]}
        template |= {"cliques": [first, *template["cliques"]], "podCliqueScalingGroups": [group]}
        template["cliqueStartupType"] = "CliqueStartupTypeInOrder"
        first["spec"] = first["spec"] | {"roleName": "first", "replicas": 2}
        await grove.apply(pcs)
        await grove.settle()
        await resize_in_set(grove, "train", first=5, worker=5, unit=3)
        victim = next(iter(await pods_of(grove, "train-0-unit-0-worker")))
        await grove.call("DELETE", f"{PODS}/{victim}")
        await grove.settle()
        pods = await pods_of(grove, "train-0-unit-0-worker")
        assert victim not in pods
        args = [p["spec"]["initContainers"][-1]["args"] for p in pods.values()]
        assert args == [["--podcliques=train-0-first:2"]] * 4
        assert "lastErrors" not in (await grove.list("podcliquesets"))["train"]["status"]
        unit = (await grove.list("podcliquescalinggroups"))["train-0-unit"]["spec"]
        assert (unit["replicas"], unit["minAvailable"]) == (1, 1)


class Held:
    """A connection on which patches of PodCliques wait until they are released."""

    def __init__(self, inner: Transport) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.stream, self.close = inner.stream, inner.close
        self._inner = inner

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH" and "/podcliques/" in request.path:
            await self.go.wait()
        return await self._inner.send(request)


@pytest.mark.parametrize("grouped", [False, True])
async def test_what_is_scaled_during_a_template_update_is_not_reset(grouped: bool) -> None:
    """Of many cliques the last are written when the first have been, and may have been scaled by then."""
    manifest = example("simple")
    manifest["spec"]["replicas"] = 1
    template = manifest["spec"]["template"]
    [clique] = template["cliques"]
    template["cliques"] = [
        {**clique, "name": f"c{i}", "spec": {**clique["spec"], "roleName": f"c{i}"}} for i in range(60)
    ]
    if grouped:
        template["podCliqueScalingGroups"] = [{"name": "g", "cliqueNames": [f"c{i}" for i in range(60)]}]
    last = "train-0-g-0-c59" if grouped else "train-0-c59"
    held: list[Held] = []

    def through(server: Transport) -> Held:
        held.append(Held(server))
        return held[0]

    async with running(nodes=0, through=through) as grove:
        await grove.apply(manifest)
        await grove.settle()
        held[0].go.clear()
        for spec in (c["spec"]["podSpec"] for c in template["cliques"]):
            spec["terminationGracePeriodSeconds"] = 7
        await grove.call("PATCH", f"{GROVE}/podcliquesets/train", {"spec": manifest["spec"]})
        await asyncio.sleep(1)
        await grove.call("PATCH", f"{GROVE}/podcliques/{last}/scale", {"spec": {"replicas": 3}})
        await asyncio.sleep(1)
        held[0].go.set()
        await grove.settle()
        spec = (await grove.list("podcliques"))[last]["spec"]
        assert spec["podSpec"]["terminationGracePeriodSeconds"] == 7
        assert spec["replicas"] == 3


async def test_a_set_scales_out_to_zero_and_back() -> None:
    async with running() as grove:
        await up(grove, "simple")
        scale = f"{GROVE}/podcliquesets/train/scale"
        for replicas in (3, 0, 1):
            await grove.call("PATCH", scale, {"spec": {"replicas": replicas}})
            await grove.settle()
            assert len(await grove.list("pods")) == 4 * replicas
            for plural in ("podcliques", "podgangs"):
                assert len(await grove.list(plural)) == replicas, plural
            services = [n for n in await grove.list("services") if n.startswith("train")]
            assert services == [f"train-{i}" for i in range(replicas)]


async def test_a_pod_that_is_deleted_is_replaced_with_its_index() -> None:
    async with running() as grove:
        await up(grove, "simple")
        victim, lost = next(iter((await pods_of(grove, "train-0-worker")).items()))
        await grove.call("DELETE", f"{PODS}/{victim}")
        await grove.settle()
        pods = await pods_of(grove, "train-0-worker")
        assert victim not in pods
        assert sorted(p["spec"]["hostname"] for p in pods.values()) == [
            f"train-0-worker-{i}" for i in range(4)
        ]
        assert lost["spec"]["hostname"] in {p["spec"]["hostname"] for p in pods.values()}
        assert await phases(grove) == {"Running": 8}


async def test_a_pod_that_failed_is_replaced() -> None:
    async with running() as grove:
        await up(grove, "simple")
        victim = next(iter(await pods_of(grove, "train-0-worker")))
        await grove.call(
            "PATCH", f"{PODS}/{victim}/status", {"status": {"phase": "Failed", "reason": "Evicted"}}
        )
        await grove.settle()
        assert victim not in await grove.list("pods")
        assert await phases(grove) == {"Running": 8}


async def test_a_deleted_pod_is_recreated_immediately_although_another_one_is_in_backoff() -> None:
    async with running() as grove:
        await up(grove, "simple")

        async def hosts() -> list[str]:
            found = await pods_of(grove, "train-0-worker")
            return sorted(p["spec"]["hostname"] for p in found.values() if p["status"]["phase"] != "Failed")

        async def named(hostname: str) -> str:
            found = await pods_of(grove, "train-0-worker")
            return next(n for n, p in found.items() if p["spec"]["hostname"] == hostname)

        for _ in range(2):  # the first is replaced at once, the second has to wait
            failed = {"status": {"phase": "Failed", "reason": "Evicted"}}
            await grove.call("PATCH", f"{PODS}/{await named('train-0-worker-2')}/status", failed)
            await asyncio.sleep(2)
        assert await hosts() == [f"train-0-worker-{p}" for p in (0, 1, 3)]
        await grove.call("DELETE", f"{PODS}/{await named('train-0-worker-0')}")
        await asyncio.sleep(2)
        assert await hosts() == [f"train-0-worker-{p}" for p in (0, 1, 3)]
        await grove.settle()
        assert await hosts() == [f"train-0-worker-{p}" for p in range(4)]


async def test_objects_that_somebody_deleted_are_recreated() -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        before = {n: p["metadata"]["uid"] for n, p in (await grove.list("pods")).items()}
        await grove.call("DELETE", "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs/llama-0")
        await grove.call("DELETE", "/api/v1/namespaces/default/services/llama-0")
        await grove.settle()
        gang = (await grove.list("podgangs"))["llama-0"]
        assert gang["status"]["phase"] == "Running"
        assert sum(len(g["podReferences"]) for g in gang["spec"]["podgroups"]) == 9
        assert "llama-0" in await grove.list("services")
        assert {n: p["metadata"]["uid"] for n, p in (await grove.list("pods")).items()} == before


async def test_what_grove_owns_is_restored_and_what_others_added_stays() -> None:
    async with running() as grove:
        await up(grove, "simple")
        path = f"{GROVE}/podcliques/train-0-worker"
        edit = {
            "metadata": {
                "labels": {"app.kubernetes.io/part-of": "train", "theirs": "kept"},
                "finalizers": ["example.com/theirs"],
            },
            "spec": {"minAvailable": None, "podSpec": {"containers": [], "nodeSelector": {"a": "b"}}},
        }
        await grove.call("PATCH", path, edit)
        await grove.settle()
        clique = (await grove.list("podcliques"))["train-0-worker"]
        assert clique["metadata"]["labels"]["theirs"] == "kept"
        assert set(clique["metadata"]["finalizers"]) == {"example.com/theirs", labels.Finalizer.POD_CLIQUE}
        assert clique["spec"]["minAvailable"] == 4
        assert len(clique["spec"]["podSpec"]["containers"]) == 1
        assert "nodeSelector" not in clique["spec"]["podSpec"]
        await grove.call("PATCH", path, {"metadata": {"finalizers": [labels.Finalizer.POD_CLIQUE]}})
        await grove.settle()


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_deleting_a_set_leaves_nothing(policy: str) -> None:
    async with running() as grove:
        await up(grove, "disaggregated")
        await grove.call("DELETE", f"{GROVE}/podcliquesets/llama", {"propagationPolicy": policy})
        await grove.settle()
        await nothing_is_left(grove)


async def test_gangs_outlive_their_pods_when_a_set_is_deleted() -> None:
    async with running() as grove:
        await up(grove, "simple")
        left: list[str] = []
        grove.cluster.on_write(lambda w: left.append(w.resource.plural) if w.type == "DELETED" else None)
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train")
        await grove.settle()
        assert max(i for i, k in enumerate(left) if k == "pods") < min(
            i for i, k in enumerate(left) if k == "podgangs"
        )


async def test_the_pods_of_an_orphaned_set_keep_running() -> None:
    async with running() as grove:
        await up(grove, "simple")
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train", {"propagationPolicy": "Orphan"})
        await grove.settle()
        assert await grove.list("podcliquesets") == {}
        assert await phases(grove) == {"Running": 8}


async def test_an_invalid_set_says_why_and_creates_nothing_until_it_is_corrected() -> None:
    async with running() as grove:
        bad = example("simple")
        bad["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = 9
        bad["spec"]["template"]["terminationDelay"] = "-1s"
        await grove.apply(bad)
        await grove.settle()
        [condition, running_] = (await grove.list("podcliquesets"))["train"]["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Invalid", "True")
        assert (running_["type"], running_["status"], running_["reason"]) == (
            "Running",
            "False",
            "InvalidSet",
        )
        assert "minAvailable" in condition["message"]
        assert "terminationDelay" in condition["message"]
        assert await grove.list("podcliques") == {}
        events = [e for e in (await grove.list("events")).values() if e["reason"] == "ValidationFailed"]
        assert len(events) == 1
        fixed = (await grove.list("podcliquesets"))["train"]
        fixed["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 9
        del fixed["spec"]["template"]["terminationDelay"]
        await grove.call("PUT", f"{GROVE}/podcliquesets/train", fixed)
        await grove.settle()
        assert await phases(grove) == {"Running": 18}
        conditions = (await grove.list("podcliquesets"))["train"]["status"].get("conditions", [])
        assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [("Running", "True", "Running")]


async def test_a_set_with_too_many_replicas_costs_no_memory_and_can_be_deleted() -> None:
    async with running() as grove:
        huge = example("simple")
        huge["spec"]["replicas"] = 2_000_000
        tracemalloc.start()
        try:
            await grove.apply(huge)
            await grove.settle()
            [said] = [
                c
                for c in (await grove.list("podcliquesets"))["train"]["status"]["conditions"]
                if c["type"] == "Invalid"
            ]
            assert "maxPodsPerSet" in said["message"]
            assert await grove.list("podcliques") == {}
            await grove.call("DELETE", f"{GROVE}/podcliquesets/train")
            await grove.settle()
            assert await grove.list("podcliquesets") == {}
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 64 * 2**20, "a list with an entry per replica needs several times as much"


@pytest.mark.parametrize("wrong", [{"priorityClassName": 5}, {"schedulingGates": ["gate"]}])
async def test_a_pod_template_that_cannot_be_read_is_reported(wrong: dict[str, Any]) -> None:
    async with running() as grove:
        bad = example("simple")
        bad["spec"]["template"]["cliques"][0]["spec"]["podSpec"] |= wrong
        await grove.apply(bad)
        await grove.settle()
        said = (await grove.list("podcliquesets"))["train"]["status"]["conditions"]
        assert next(iter(wrong)) in next(c["message"] for c in said if c["type"] == "Invalid")


async def test_a_set_that_turns_invalid_keeps_its_pods() -> None:
    async with running() as grove:
        await up(grove, "simple")
        before = set(await grove.list("pods"))
        await grove.call(
            "PATCH",
            f"{GROVE}/podcliquesets/train",
            {"spec": {"replicas": 3, "template": {"terminationDelay": "0s"}}},
        )
        await grove.settle()
        assert set(await grove.list("pods")) == before


async def turn_invalid(grove: GroveCluster) -> None:
    """And ask for more, which is not done either."""
    edit = {"spec": {"replicas": 3, "template": {"terminationDelay": "0s"}}}
    await grove.call("PATCH", f"{GROVE}/podcliquesets/train", edit)
    await grove.settle()


async def test_what_a_set_loses_while_it_is_invalid_is_replaced_as_when_it_was_valid() -> None:
    async with running() as grove:
        await up(grove, "simple")
        before = await grove.list("pods")
        await turn_invalid(grove)
        victim = next(n for n in before if n.startswith("train-0-"))
        await grove.call("DELETE", f"{PODS}/{victim}")
        await grove.call("DELETE", f"{GROVE}/podcliques/train-1-worker")
        await grove.call("DELETE", "/api/v1/namespaces/default/services/train-0")
        await grove.settle()
        assert victim not in await grove.list("pods")
        assert await phases(grove) == {"Running": 8}
        hostnames = {p["spec"]["hostname"] for p in (await grove.list("pods")).values()}
        assert hostnames == {p["spec"]["hostname"] for p in before.values()}
        assert set(await grove.list("services")) == {"train-0", "train-1"}
        status = (await grove.list("podcliquesets"))["train"]["status"]
        assert (status["replicas"], status["availableReplicas"]) == (2, 2)
        reasons = {c["type"]: c["reason"] for c in status["conditions"]}
        assert reasons == {"Invalid": "ValidationFailed", "Running": "InvalidSet"}
        (event,) = [e for e in (await grove.list("events")).values() if e["reason"] == "ValidationFailed"]
        assert event.get("count", 1) == 1
        await grove.call(
            "PATCH", f"{GROVE}/podcliquesets/train", {"spec": {"template": {"terminationDelay": "1h"}}}
        )
        await grove.settle()
        assert await phases(grove) == {"Running": 12}


async def test_the_status_of_an_invalid_set_shows_what_it_has_lost() -> None:
    async with running() as grove:
        await up(grove, "simple")
        await turn_invalid(grove)
        for name in await grove.list("nodes", namespace=""):
            await grove.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
        for name in await grove.list("pods"):
            await grove.call("DELETE", f"{PODS}/{name}")
        await grove.settle()
        status = (await grove.list("podcliquesets"))["train"]["status"]
        assert (status["replicas"], status.get("availableReplicas", 0)) == (2, 0)


async def test_an_operator_that_never_saw_a_set_valid_leaves_what_it_has_alone() -> None:
    async with cluster_with_crds() as grove:
        async with operator(grove):
            await up(grove, "simple")
        await grove.call(
            "PATCH", f"{GROVE}/podcliquesets/train", {"spec": {"template": {"terminationDelay": "0s"}}}
        )
        before = set(await grove.list("pods"))
        victim = before.pop()
        async with operator(grove):
            await grove.settle()
            await grove.call("DELETE", f"{PODS}/{victim}")
            await grove.settle()
            assert set(await grove.list("pods")) == before


async def test_a_gang_that_lost_its_status_is_judged_by_all_its_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by each of its cliques, when it asks in which dialect to make pods."""
    judged_by: list[int] = []
    dialect = Kubernetes.dialect

    def noted(self: Kubernetes, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        judged_by.append(len(pods))
        return dialect(self, gang, pods, served)

    async with cluster_with_crds() as grove:
        async with operator(grove):
            await up(grove, "disaggregated")
            before = await grove.list("pods")
        path = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs/llama-0/status"
        await grove.call("PATCH", path, {"status": None})
        monkeypatch.setattr(Kubernetes, "dialect", noted)
        async with operator(grove):
            await grove.settle()
        sizes = Counter(p["metadata"]["labels"][labels.POD_GANG] for p in before.values())
        assert set(judged_by) <= set(sizes.values())
        assert (await grove.list("pods")).keys() == before.keys()


async def test_a_backend_with_a_defect_is_named_by_the_gang_and_its_cliques_report_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(Kubernetes, "dialect", broken)
    async with running() as grove:
        await grove.apply(example("simple"))
        await asyncio.sleep(20)
        assert not await grove.list("pods")
        for gang in (await grove.list("podgangs")).values():
            synced = next(c for c in gang["status"]["conditions"] if c["type"] == "BackendSynced")
            assert (synced["status"], "a defect" in synced["message"]) == ("False", True)
        for clique in (await grove.list("podcliques")).values():
            assert clique["status"]["observedGeneration"] == clique["metadata"]["generation"]


async def test_a_pod_template_that_the_server_refuses_is_reported_in_its_words_and_stops_no_other_clique() -> (
    None
):
    async with running() as grove:
        bad = example("disaggregated")
        bad["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["image"] = ""
        bad["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["name"] = "Not A Name"
        await grove.apply(bad)
        await grove.until(lambda: _has_error(grove, "llama-0-router"))
        await asyncio.sleep(10)
        assert len(await pods_of(grove, "llama-0-decode")) == 4
        gang = (await grove.list("podgangs"))["llama-0"]
        initialized = next(c for c in gang["status"]["conditions"] if c["type"] == "Initialized")
        assert initialized["status"] == "False"
        assert "1 of llama-0-router" in initialized["message"]
        assert grove.observer.opened == 0


async def test_a_refusal_that_lasts_is_one_error_and_one_event_however_often_it_is_tried() -> None:
    async with running() as grove:
        bad = example("simple")
        bad["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["name"] = "Not A Name"
        await grove.apply(bad)
        await asyncio.sleep(60)
        written = [w for w in grove.writes if "podclique" in w]
        clique = (await grove.list("podcliques"))["train-0-worker"]
        (error,) = clique["status"]["lastErrors"]
        assert 'Pod "train-0-worker-*" is invalid' in error["description"]
        await asyncio.sleep(600)
        assert [w for w in grove.writes if "podclique" in w] == written
        events = [e for e in (await grove.list("events")).values() if e["reason"] == "PodCreateFailed"]
        assert {e["involvedObject"]["name"] for e in events} == {"train-0-worker", "train-1-worker"}
        assert len(events) == 2


async def _has_error(grove: GroveCluster, clique: str) -> bool:
    status = (await grove.list("podcliques")).get(clique, {}).get("status", {})
    return any("Not A Name" in e["description"] for e in status.get("lastErrors", []))
