"""What Grove owns and what others own: edits, scaling to zero, adoption, and deletions that do not finish."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from grove_sandbox.flow.bystander import Bystander
from structlog.testing import capture_logs

from grove.api import labels
from grove.api.config import OperatorConfiguration, TopologyAwareScheduling
from grove.api.serialization import yaml
from grove.runtime.client.transport import Request, Response, Transport
from tests.flow.operating import GroveCluster, Json, example, operator, running

pytestmark = pytest.mark.looptime

GROVE = "/apis/grove.io/v1alpha1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"
GANGS = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"
SERVICES = "/api/v1/namespaces/default/services"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
AUTOSCALED = Path(__file__).parents[1] / "golden" / "manifests" / "autoscale.yaml"
THEIRS = "example.com/theirs"


async def up(grove: GroveCluster, manifest: Json) -> None:
    manifest["metadata"]["namespace"] = "default"
    await grove.apply(manifest)
    await grove.settle()


def autoscaled() -> Json:
    found: Json = yaml.load_one(AUTOSCALED.read_text()).value
    return found


async def parts(grove: GroveCluster) -> dict[str, list[str]]:
    """What there is of sets beside themselves."""
    kinds = (
        "podcliques",
        "podcliquescalinggroups",
        "podgangs",
        "pods",
        "services",
        "horizontalpodautoscalers",
    )
    return {
        kind: names
        for kind in kinds
        if (names := [n for n, o in (await grove.list(kind)).items() if _is_part(o)])
    }


def _is_part(obj: Json) -> bool:
    return labels.PART_OF in obj["metadata"].get("labels", {})


async def events(grove: GroveCluster) -> list[Json]:
    found: list[Json] = (await grove.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    return found


def running_of(pcs: Json) -> Json:
    found: Json = next(c for c in pcs["status"]["conditions"] if c["type"] == "Running")
    return found


async def test_what_others_put_on_what_grove_made_survives_changes_and_restarts() -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        pod = next(iter(await grove.list("pods")))
        paths = [
            f"{SERVICES}/llama-0",
            f"{GANGS}/llama-0",
            f"{GROVE}/podcliquescalinggroups/llama-0-prefill",
            f"{GROVE}/podcliquesets/llama",
            f"{PODS}/{pod}",
        ]
        for path in paths:
            finalizers = (await grove.call("GET", path))["metadata"].get("finalizers", [])
            added = {
                "labels": {THEIRS: "l"},
                "annotations": {THEIRS: "a"},
                "finalizers": [*finalizers, THEIRS],
            }
            await grove.call("PATCH", path, {"metadata": added})
        edit = {"spec": {"selector": {"app": "wrong"}, "sessionAffinity": "ClientIP"}}
        await grove.call("PATCH", paths[0], edit)
        pcs = (await grove.list("podcliquesets"))["llama"]
        for clique in pcs["spec"]["template"]["cliques"]:
            clique["labels"] = {"new": "label"}
        await grove.call("PUT", f"{GROVE}/podcliquesets/llama", pcs)
        await grove.settle()
        async with operator(grove):
            await grove.settle()
        for path in paths:
            metadata = (await grove.call("GET", path))["metadata"]
            assert (metadata["labels"][THEIRS], metadata["annotations"][THEIRS]) == ("l", "a"), path
            assert THEIRS in metadata["finalizers"], path
        service = (await grove.call("GET", paths[0]))["spec"]
        assert "app" not in service["selector"]
        assert service["sessionAffinity"] == "ClientIP"


async def test_an_autoscaler_keeps_what_others_set_and_gets_back_what_is_groves() -> None:
    async with running() as grove:
        await up(grove, autoscaled())
        name, before = next(iter((await grove.list("horizontalpodautoscalers")).items()))
        behavior = {"scaleDown": {"stabilizationWindowSeconds": 5}}
        await grove.call(
            "PATCH", f"{AUTOSCALERS}/{name}", {"spec": {"maxReplicas": 99, "behavior": behavior}}
        )
        await grove.settle()
        spec = (await grove.list("horizontalpodautoscalers"))[name]["spec"]
        assert spec["maxReplicas"] == before["spec"]["maxReplicas"]
        assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 5


async def test_autoscalers_are_deleted_with_their_replica_and_with_their_configuration() -> None:
    async with running() as grove:
        await up(grove, autoscaled())
        scale = f"{GROVE}/podcliquesets/autoscale/scale"
        await grove.call("PATCH", scale, {"spec": {"replicas": 0}})
        await grove.settle()
        assert await parts(grove) == {}
        await grove.call("PATCH", scale, {"spec": {"replicas": 1}})
        await grove.settle()
        assert len(await grove.list("horizontalpodautoscalers")) == 2
        pcs = (await grove.list("podcliquesets"))["autoscale"]
        template = pcs["spec"]["template"]
        for asking in (*(c["spec"] for c in template["cliques"]), *template["podCliqueScalingGroups"]):
            asking.pop("autoScalingConfig", None)
            asking.pop("scaleConfig", None)
        await grove.call("PUT", f"{GROVE}/podcliquesets/autoscale", pcs)
        await grove.settle()
        assert await grove.list("horizontalpodautoscalers") == {}
        assert not [
            n for n, c in (await grove.list("podcliques")).items() if "autoScalingConfig" in c["spec"]
        ]


async def test_an_autoscaler_whose_metrics_are_taken_back_measures_the_usual() -> None:
    async with running() as grove:
        await up(grove, autoscaled())
        pcs = (await grove.list("podcliquesets"))["autoscale"]
        template = pcs["spec"]["template"]
        del template["podCliqueScalingGroups"][0]["scaleConfig"]["metrics"]
        await grove.call("PUT", f"{GROVE}/podcliquesets/autoscale", pcs)
        await grove.settle()
        [metric] = (await grove.list("horizontalpodautoscalers"))["autoscale-0-eng"]["spec"]["metrics"]
        assert metric["resource"]["target"]["averageUtilization"] == 80


async def test_a_priority_that_a_set_takes_back_leaves_its_gangs() -> None:
    factories: dict[str, Any] = {"bystander": Bystander}
    async with running(factories=factories, gates=[Bystander.gate]) as grove:
        manifest = example("simple")
        template = manifest["spec"]["template"]
        template["priorityClassName"] = "high"
        template["cliques"][0]["spec"]["podSpec"]["schedulerName"] = "bystander"
        await up(grove, manifest)
        assert {g["spec"]["priorityClassName"] for g in (await grove.list("podgangs")).values()} == {"high"}
        edit = {"spec": {"template": {"priorityClassName": None}}}
        await grove.call("PATCH", f"{GROVE}/podcliquesets/train", edit)
        await grove.settle()
        assert not [n for n, g in (await grove.list("podgangs")).items() if "priorityClassName" in g["spec"]]


async def test_gangs_lose_every_constraint_with_the_topology_that_gives_it_a_meaning() -> None:
    aware = OperatorConfiguration(topology_aware_scheduling=TopologyAwareScheduling(enabled=True))
    bindings = "/apis/grove.io/v1alpha1/clustertopologybindings"
    async with running(configuration=aware) as grove:
        binding = {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": "floor"},
            "spec": {"levels": [{"domain": "zone", "key": "zone"}, {"domain": "rack", "key": "rack"}]},
        }
        await grove.cluster.create(bindings, binding)
        manifest = example("simple")
        template = manifest["spec"]["template"]
        template["topologyConstraint"] = {"topologyName": "floor", "pack": {"required": "zone"}}
        template["cliques"][0]["topologyConstraint"] = {"pack": {"required": "rack"}}
        await up(grove, manifest)
        spec = (await grove.list("podgangs"))["train-0"]["spec"]
        assert spec["topologyConstraint"] == {"packConstraint": {"required": "zone"}}
        assert spec["podgroups"][0]["topologyConstraint"] == {"packConstraint": {"required": "rack"}}
        await grove.call("DELETE", f"{bindings}/floor")
        await grove.settle()
        spec = (await grove.list("podgangs"))["train-0"]["spec"]
        assert "topologyConstraint" not in str(spec)


@pytest.mark.parametrize(
    ("part", "size"), [("podcliques/llama-0-decode", 4), ("podcliquescalinggroups/llama-0-prefill", 2)]
)
async def test_cliques_and_scaling_groups_scale_to_zero_and_back(part: str, size: int) -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        await grove.call("PATCH", f"{GROVE}/{part}/scale", {"spec": {"replicas": 0}})
        await grove.settle()
        pods = set(await grove.list("pods"))
        assert len(pods) < 13
        gangs = (await grove.list("podgangs")).values()
        named = {r["name"] for g in gangs for group in g["spec"]["podgroups"] for r in group["podReferences"]}
        assert named == pods
        await grove.call("PATCH", f"{GROVE}/{part}/scale", {"spec": {"replicas": size}})
        await grove.settle()
        assert [p["status"]["phase"] for p in (await grove.list("pods")).values()] == ["Running"] * 13
        assert {g["status"]["phase"] for g in (await grove.list("podgangs")).values()} == {"Running"}


async def test_a_gang_does_not_start_over_with_fewer_pods_than_its_minimum_and_says_why() -> None:
    """After zero, `kubectl scale` may ask for fewer: no pod of the gang goes until there are enough."""
    parts = {
        "podcliques/llama-0-router": 1,
        "podcliques/llama-0-decode": 1,
        "podcliquescalinggroups/llama-0-prefill": 1,
    }
    async with running() as grove:
        await up(grove, example("disaggregated"))
        for sizes in (dict.fromkeys(parts, 0), parts):
            for part, size in sizes.items():
                await grove.call("PATCH", f"{GROVE}/{part}/scale", {"spec": {"replicas": size}})
            await grove.settle()
        pods = (await grove.list("pods")).values()
        assert pods
        assert all(p["spec"].get("schedulingGates") for p in pods)
        said = running_of((await grove.list("podcliquesets"))["llama"])
        assert said["reason"] == "WaitingForInitialization"
        assert "of llama-0-decode (it is scaled to 1, below its minimum of" in said["message"]
        await grove.call("PATCH", f"{GROVE}/podcliques/llama-0-decode/scale", {"spec": {"replicas": 4}})
        await grove.settle()
        assert {p["status"]["phase"] for p in (await grove.list("pods")).values()} == {"Running"}


async def test_errors_disappear_with_their_cause_from_the_clique_and_from_the_set() -> None:
    async with running() as grove:
        bad = example("disaggregated")
        container = bad["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]
        container["name"] = "Not A Name"
        await grove.apply(bad)
        await grove.until(lambda: _says(grove, "Not A Name"))
        pcs = (await grove.list("podcliquesets"))["llama"]
        assert running_of(pcs)["reason"] == "PodsRefusedByServer"
        router = (await grove.list("podcliques"))["llama-0-router"]
        assert "Not A Name" in router["status"]["lastErrors"][0]["description"]
        pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["name"] = "good"
        await grove.call("PUT", f"{GROVE}/podcliquesets/llama", pcs)
        await grove.settle()
        assert running_of((await grove.list("podcliquesets"))["llama"])["status"] == "True"
        for kind in ("podcliquesets", "podcliques", "podcliquescalinggroups", "podgangs"):
            for name, obj in (await grove.list(kind)).items():
                assert "lastErrors" not in obj["status"], f"{kind} {name}"


async def _says(grove: GroveCluster, words: str) -> bool:
    status = (await grove.list("podcliquesets"))["llama"].get("status", {})
    return any(words in c["message"] for c in status.get("conditions", []))


@pytest.mark.parametrize(("kind", "name"), [("pods", ""), ("podcliques", "train-0-worker")])
async def test_a_set_that_cannot_be_deleted_says_what_it_waits_for(kind: str, name: str) -> None:
    async with running() as grove:
        await up(grove, example("simple"))
        name = name or next(iter(await grove.list(kind)))
        held = (await grove.list(kind))[name]
        path = f"{PODS if kind == 'pods' else f'{GROVE}/{kind}'}/{name}"
        finalizers = held["metadata"].get("finalizers", [])
        await grove.call("PATCH", path, {"metadata": {"finalizers": [*finalizers, THEIRS]}})
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train")
        await grove.settle()
        said = running_of((await grove.list("podcliquesets"))["train"])
        assert (said["status"], said["reason"]) == ("False", "Terminating")
        assert f"{name} is held by {THEIRS}" in said["message"]
        assert labels.Finalizer.POD_CLIQUE_SET not in said["message"]
        await grove.call("PATCH", path, {"metadata": {"finalizers": []}})
        await grove.settle()
        assert await parts(grove) == {}
        assert await grove.list("podcliquesets") == {}


@pytest.mark.parametrize(
    ("manifest", "kind", "stem", "scaled"),
    [
        ("simple", "pods", "train-1-", "podcliquesets/train"),
        ("simple", "podcliques", "train-1-", "podcliquesets/train"),
        ("disaggregated", "pods", "llama-0-prefill-1-", "podcliquescalinggroups/llama-0-prefill"),
    ],
)
async def test_a_replica_or_copy_that_cannot_be_deleted_is_an_event(
    manifest: str, kind: str, stem: str, scaled: str
) -> None:
    async with running() as grove:
        await up(grove, example(manifest))
        before = await parts(grove)
        name = next(n for n in before[kind] if n.startswith(stem))
        path = f"{PODS if kind == 'pods' else f'{GROVE}/{kind}'}/{name}"
        await grove.call("PATCH", path, {"metadata": {"finalizers": [THEIRS]}})
        await grove.call("PATCH", f"{GROVE}/{scaled}/scale", {"spec": {"replicas": 1}})
        await asyncio.sleep(20)
        assert not [e for e in await events(grove) if THEIRS in e["note"]]
        await grove.settle()
        await grove.settle()
        [event] = [e for e in await events(grove) if THEIRS in e["note"]]
        assert f"{name} is held by {THEIRS}" in event["note"]
        await grove.call("PATCH", path, {"metadata": {"finalizers": []}})
        await grove.settle()
        assert not [n for names in (await parts(grove)).values() for n in names if n.startswith(stem)]


async def test_a_set_that_is_deleted_quickly_writes_no_status() -> None:
    async with running() as grove:
        await up(grove, example("simple"))
        before: list[Any] = []
        grove.cluster.on_write(lambda w: before.append(w) if w.resource.plural == "podcliquesets" else None)
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train")
        await grove.settle()
        assert [w.type for w in before] == [
            "MODIFIED",
            "DELETED",
        ]  # the deletion timestamp; then our finalizer was removed


async def test_a_recreated_set_adopts_what_its_predecessor_orphaned() -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        before, pods = await parts(grove), set(await grove.list("pods"))
        await grove.call("DELETE", f"{GROVE}/podcliquesets/llama", {"propagationPolicy": "Orphan"})
        await grove.settle()
        assert await parts(grove) == before
        await up(grove, example("disaggregated"))
        pcs = (await grove.list("podcliquesets"))["llama"]
        assert running_of(pcs)["status"] == "True"
        assert "lastErrors" not in pcs["status"]
        assert set(await grove.list("pods")) == pods
        assert await parts(grove) == before
        await grove.call("DELETE", f"{GROVE}/podcliquesets/llama")
        await grove.settle()
        assert await parts(grove) == {}


async def test_an_object_of_somebody_else_is_never_taken_over() -> None:
    async with running() as grove:
        service = {
            "metadata": {"name": "train-0"},
            "spec": {"clusterIP": "None", "selector": {"app": "theirs"}},
        }
        await grove.call("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", **service})
        await grove.apply(example("simple"))
        await asyncio.sleep(60)
        found = (await grove.list("services"))["train-0"]
        assert found["spec"]["selector"] == {"app": "theirs"}
        assert "ownerReferences" not in found["metadata"]
        status = (await grove.list("podcliquesets"))["train"]["status"]
        assert "exists already and does not belong to" in status["lastErrors"][0]["description"]


async def test_labels_that_say_whose_a_pod_is_are_restored() -> None:
    async with running() as grove:
        await up(grove, example("simple"))
        before = await grove.list("pods")
        victim, other = list(before)[:2]
        lies = {labels.POD_GANG: "x", labels.POD_CLIQUE: None, labels.REPLICA_INDEX: "9", "theirs": "kept"}
        await grove.call("PATCH", f"{PODS}/{victim}", {"metadata": {"labels": lies}})
        await grove.call("PATCH", f"{PODS}/{other}", {"metadata": {"labels": {labels.PART_OF: "x"}}})
        await grove.settle()
        after = await grove.list("pods")
        assert after.keys() == before.keys()
        for name, pod in after.items():
            extra = {"theirs": "kept"} if name == victim else {}
            assert pod["metadata"]["labels"] == before[name]["metadata"]["labels"] | extra
        assert running_of((await grove.list("podcliquesets"))["train"])["status"] == "True"


def _warns_of_set(event: Json) -> bool:
    return bool(event["type"] == "Warning" and event["involvedObject"]["kind"] == "PodCliqueSet")


class Snatcher:
    """A connection on which each object of a kind is deleted right before it is changed, once per path."""

    def __init__(self, inner: Transport, plural: str) -> None:
        self.stream, self.close = inner.stream, inner.close
        self.snatched: set[str] = set()
        self._inner = inner
        self._plural = plural

    async def send(self, request: Request) -> Response:
        path = request.path.removesuffix("/status")
        if request.method == "PATCH" and f"/{self._plural}/" in path and request.path not in self.snatched:
            self.snatched.add(request.path)
            await self._inner.send(Request("DELETE", path, {}, {}, b""))
        return await self._inner.send(request)


@pytest.mark.parametrize("plural", ["podgangs", "services", "horizontalpodautoscalers"])
async def test_an_object_that_is_deleted_during_an_update_is_recreated_without_an_error(
    plural: str,
) -> None:
    made: list[Snatcher] = []

    def through(server: Transport) -> Transport:
        made.append(Snatcher(server, plural))
        return made[0]

    with capture_logs() as logs:
        async with running(through=through) as grove:
            await up(grove, autoscaled())
            for path in (f"{SERVICES}/autoscale-0", f"{AUTOSCALERS}/autoscale-0-fe"):
                await grove.call("PATCH", path, {"metadata": {"labels": {labels.NAME: "wrong"}}})
            await grove.settle()
            pcs = (await grove.list("podcliquesets"))["autoscale"]
            assert running_of(pcs)["status"] == "True"
            assert "lastErrors" not in pcs["status"]
            assert {p.removesuffix("/status").rpartition("/")[2] for p in made[0].snatched} == {
                n for n in await grove.list(plural) if n != "autoscale-0-eng" or plural == "podgangs"
            }
            assert [e["message"] for e in (await grove.list("events")).values() if _warns_of_set(e)] == []
    assert made[0].snatched
    assert [e for e in logs if e["log_level"] in ("warning", "error")] == []


# Where a clique stands.
PLACES = {labels.SCALING_GROUP: "x", labels.SCALING_GROUP_REPLICA_INDEX: "7", labels.BASE_POD_GANG: "x"}


async def test_labels_that_say_where_a_clique_stands_are_groves_alone() -> None:
    with capture_logs() as logs:
        async with running() as grove:
            manifest = example("simple")
            manifest["spec"]["template"]["cliques"][0]["labels"] = {**PLACES, "tier": "gpu"}
            await up(grove, manifest)
            for path in (f"{GROVE}/podcliques/train-0-worker", f"{GROVE}/podcliques/train-1-worker"):
                await grove.call("PATCH", path, {"metadata": {"labels": {**PLACES, "theirs": "kept"}}})
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            for clique in (await grove.list("podcliques")).values():
                assert clique["metadata"]["labels"].keys() & {*PLACES, "tier", "theirs"} == {"tier", "theirs"}
                assert clique["status"]["readyReplicas"] == 4
            assert running_of((await grove.list("podcliquesets"))["train"])["status"] == "True"
    assert [e for e in logs if e["log_level"] in ("warning", "error")] == []


async def test_a_set_that_is_recreated_smaller_deletes_what_its_predecessor_orphaned() -> None:
    async with running() as grove:
        await up(grove, example("simple"))
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train", {"propagationPolicy": "Orphan"})
        await grove.settle()
        manifest = example("simple")
        manifest["spec"]["replicas"] = 1
        await up(grove, manifest)
        assert set(await grove.list("podcliques")) == {"train-0-worker"}
        assert set(await grove.list("podgangs")) == {"train-0"}
        assert len(await grove.list("pods")) == 4


class SlowPatches:
    """A connection on which patches are slow."""

    def __init__(self, inner: Transport) -> None:
        self.stream, self.close = inner.stream, inner.close
        self._inner = inner

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH":
            await asyncio.sleep(1)
        return await self._inner.send(request)


@pytest.mark.parametrize("index", ["1", "9"])
async def test_a_part_that_is_labelled_as_of_another_replica_is_not_taken_for_surplus(index: str) -> None:
    async with running(through=SlowPatches) as grove:
        manifest = example("disaggregated")
        manifest["spec"]["replicas"] = 2
        await up(grove, manifest)
        kinds = ("podcliques", "podcliquescalinggroups", "pods")
        before = {kind: set(await grove.list(kind)) for kind in kinds}
        for path in (f"{GROVE}/podcliques/llama-0-decode", f"{GROVE}/podcliquescalinggroups/llama-0-prefill"):
            await grove.call("PATCH", path, {"metadata": {"labels": {labels.REPLICA_INDEX: index}}})
        await grove.settle()
        assert {kind: set(await grove.list(kind)) for kind in kinds} == before
        clique = (await grove.list("podcliques"))["llama-0-decode"]
        assert clique["metadata"]["labels"][labels.REPLICA_INDEX] == "0"


async def test_a_clique_that_is_labelled_as_of_another_gang_leaves_its_pods_where_they_are() -> None:
    async with running(through=SlowPatches) as grove:
        await up(grove, example("simple"))
        grove.writes.clear()
        path = f"{GROVE}/podcliques/train-0-worker"
        await grove.call("PATCH", path, {"metadata": {"labels": {labels.POD_GANG: "train-1"}}})
        await grove.settle()
        assert {w for w in grove.writes if w.endswith((" pods", " podgangs"))} == set()
        clique = (await grove.list("podcliques"))["train-0-worker"]
        assert clique["metadata"]["labels"][labels.POD_GANG] == "train-0"


@pytest.mark.parametrize(
    ("cliques", "groups", "left"),
    [
        (["leader", "worker", "decode"], ["prefill"], {"llama-0-decode", "llama-0-prefill-{j}-{m}"}),
        (["router", "decode"], [], {"llama-0-decode", "llama-0-router"}),
        (["router", "leader", "worker", "decode"], ["other"], {"llama-0-router", "llama-0-other-{j}-{m}"}),
    ],
)
async def test_what_a_set_no_longer_describes_is_deleted(
    cliques: list[str], groups: list[str], left: set[str]
) -> None:
    expected = {name.format(j=j, m=m) for name in left for j in range(2) for m in ("leader", "worker")}
    with capture_logs() as logs:
        async with running() as grove:
            manifest = example("disaggregated")
            template = manifest["spec"]["template"]
            del template["cliqueStartupType"]
            await up(grove, manifest)
            before = {n for n in await grove.list("pods") if n.startswith("llama-0-decode")}
            template["cliques"] = [c for c in template["cliques"] if c["name"] in cliques]
            (unit,) = template.pop("podCliqueScalingGroups")
            template["podCliqueScalingGroups"] = [{**unit, "name": name} for name in groups]
            await grove.call("PATCH", f"{GROVE}/podcliquesets/llama", {"spec": manifest["spec"]})
            await grove.settle()
            assert set(await grove.list("podcliques")) == expected | {"llama-0-decode"}
            assert set(await grove.list("podcliquescalinggroups")) == {f"llama-0-{g}" for g in groups}
            assert set(await grove.list("podgangs")) == {"llama-0", *(f"llama-0-{g}-0" for g in groups)}
            assert before <= set(await grove.list("pods"))
            pcs = (await grove.list("podcliquesets"))["llama"]
            assert running_of(pcs)["status"] == "True"
            assert "lastErrors" not in pcs["status"]
    assert [e for e in logs if e["log_level"] in ("warning", "error")] == []


async def test_the_error_disappears_with_an_object_of_somebody_else() -> None:
    async with running() as grove:
        service = {
            "metadata": {"name": "train-0"},
            "spec": {"clusterIP": "None", "selector": {"app": "theirs"}},
        }
        await grove.call("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", **service})
        await grove.apply(example("simple"))
        await asyncio.sleep(60)
        assert "lastErrors" in (await grove.list("podcliquesets"))["train"]["status"]
        await grove.call("DELETE", f"{SERVICES}/train-0")
        await grove.settle(quiet=100)
        assert labels.PART_OF in (await grove.list("services"))["train-0"]["metadata"]["labels"]
        pcs = (await grove.list("podcliquesets"))["train"]
        assert "lastErrors" not in pcs["status"]
        assert running_of(pcs)["status"] == "True"


async def test_a_scaling_group_adopts_its_orphaned_members() -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        before, pods = await parts(grove), set(await grove.list("pods"))
        path = f"{GROVE}/podcliquescalinggroups/llama-0-prefill"
        await grove.call("DELETE", path, {"propagationPolicy": "Orphan"})
        await grove.settle()
        assert await parts(grove) == before
        assert set(await grove.list("pods")) == pods
        uid = (await grove.call("GET", path))["metadata"]["uid"]
        members = [c for n, c in (await grove.list("podcliques")).items() if "prefill" in n]
        assert {o["uid"] for m in members for o in m["metadata"]["ownerReferences"]} == {uid}


@pytest.mark.parametrize("name", ["llama-0-decode", "llama-0-prefill-1-worker"])
async def test_a_clique_adopts_its_orphaned_pods(name: str) -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        pods = set(await grove.list("pods"))
        path = f"{GROVE}/podcliques/{name}"
        await grove.call("DELETE", path, {"propagationPolicy": "Orphan"})
        await grove.settle()
        found = await grove.list("pods")
        assert set(found) == pods
        mine = [p for p in found.values() if p["metadata"]["labels"][labels.POD_CLIQUE] == name]
        uid = (await grove.call("GET", path))["metadata"]["uid"]
        assert {o["uid"] for p in mine for o in p["metadata"]["ownerReferences"]} == {uid}
        assert (await grove.call("GET", path))["status"]["readyReplicas"] == len(mine)


@pytest.mark.parametrize(
    "path",
    [
        f"{GROVE}/podcliques/llama-0-router",
        f"{GROVE}/podcliques/llama-0-prefill-1-worker",
        f"{GROVE}/podcliquescalinggroups/llama-0-prefill",
        f"{GANGS}/llama-0",
        f"{SERVICES}/llama-0",
    ],
)
async def test_an_owner_reference_that_is_removed_is_restored(path: str) -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        pods = set(await grove.list("pods"))
        owners = (await grove.call("GET", path))["metadata"]["ownerReferences"]
        await grove.call("PATCH", path, {"metadata": {"ownerReferences": None}})
        await grove.settle()
        assert (await grove.call("GET", path))["metadata"]["ownerReferences"] == owners
        assert set(await grove.list("pods")) == pods


@pytest.mark.parametrize(
    "path",
    [
        f"{GROVE}/podcliquesets/llama",
        f"{GROVE}/podcliques/llama-0-router",
        f"{GROVE}/podcliques/llama-0-prefill-1-worker",
        f"{GROVE}/podcliquescalinggroups/llama-0-prefill",
        f"{GANGS}/llama-0",
    ],
)
async def test_a_status_that_somebody_wipes_or_edits_is_restored(path: str) -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        status = (await grove.call("GET", path))["status"]
        counter = next(name for name, value in status.items() if isinstance(value, int) and value)
        for others in ({"status": None}, {"status": {counter: 77}}):
            await grove.call("PATCH", f"{path}/status", others)
            await grove.settle()
            found = (await grove.call("GET", path))["status"]
            assert _timeless(found) == _timeless(status)


def _timeless(status: Json) -> Json:
    """When a condition changed is forgotten with the condition."""
    conditions = [
        {k: v for k, v in c.items() if k != "lastTransitionTime"} for c in status.get("conditions", [])
    ]
    return {**status, "conditions": sorted(conditions, key=lambda c: str(c["type"]))}


async def test_a_pod_of_another_owner_with_the_labels_of_a_gang_is_no_member() -> None:
    async with running() as grove:
        meta = {"name": "theirs", "namespace": "default"}
        service = {"metadata": meta, "spec": {"ports": [{"port": 80}]}}
        theirs = await grove.call("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", **service})
        await up(grove, example("disaggregated"))
        member = next(iter((await grove.list("pods")).values()))
        gang, own = member["metadata"]["labels"][labels.POD_GANG], member["metadata"]["labels"]
        owner = {"apiVersion": "v1", "kind": "Service", "name": "theirs", "controller": True}
        owner["uid"] = theirs["metadata"]["uid"]
        spoofed = {"name": "spoofed", "labels": own, "ownerReferences": [owner]}
        spec = {
            "containers": [{"name": "c", "image": "registry.example/c:1"}],
            "schedulingGates": [{"name": labels.Gate.KUBERNETES}],
        }
        await grove.call("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": spoofed, "spec": spec})
        await grove.settle()
        groups = (await grove.list("podgangs"))[gang]["spec"]["podgroups"]
        assert "spoofed" not in [r["name"] for g in groups for r in g["podReferences"]]
        assert "spoofed" in await grove.list("pods")


async def test_a_service_that_another_owner_controls_is_never_pruned() -> None:
    async with running() as grove:
        await up(grove, example("disaggregated"))
        own = (await grove.list("services"))["llama-0"]["metadata"]["labels"]
        clique = next(iter((await grove.list("podcliques")).values()))["metadata"]
        owner = {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "controller": True}
        owner |= {"name": clique["name"], "uid": clique["uid"]}
        meta = {"name": "llama-0-copy", "labels": own, "ownerReferences": [owner]}
        copy = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}]}}
        await grove.call("POST", SERVICES, copy)
        await grove.settle()
        assert "llama-0-copy" in await grove.list("services")
