"""What a gang must live through under any scheduler: the whole operator with one backend, on the embedded cluster.

    class TestMineInACluster(BackendFlow):
        factory = Mine
        definitions = [...]      # the scheduler's CRDs
        policy = MyScheduler     # a simulated scheduler, if there is one

Beside the backend under test stands `Bystander`, whose gangs must never be disturbed. Every write of every test passes
two observers: no gate opens early, and none before the scheduler's objects exist.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, ClassVar

import msgspec
import pytest
from grove.api import labels
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.schedulers.backend import Backend
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from grove.schedulers.types import ObjectKind

from grove_sandbox.apiserver import Write
from grove_sandbox.cluster import CRDS
from grove_sandbox.faults import Faults, Rates
from grove_sandbox.flow.bystander import Bystander
from grove_sandbox.flow.cluster import Grove, Json, RefusedError, backend_alone, cluster_with_crds, operator
from grove_sandbox.nodes import node
from grove_sandbox.schedulers.policy import Policy

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
GANGS = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"
SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"
GROUPS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquescalinggroups"

Objects = dict[tuple[ObjectKind, str], Json]


@pytest.mark.asyncio
@pytest.mark.looptime
class BackendFlow:
    """Subclass it as `class TestMineInACluster(BackendFlow)` and say what is yours."""

    factory: ClassVar[Factory]
    """What the entry point names: a class, or a function wrapped in `staticmethod`."""

    definitions: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """The scheduler's CRDs; none for a scheduler without any."""

    policy: ClassVar[Callable[[], Policy] | None] = None
    """A simulated scheduler; without one nothing is bound, and what depends on that is skipped."""

    prerequisites: ClassVar[Sequence[tuple[str, Json]]] = ()
    """Objects that a usable installation of the scheduler has, such as a queue: where to create them, and what."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """The `config` of the profile."""

    cluster: ClassVar[Mapping[str, Any]] = {}
    """For `grove_sandbox.cluster.Cluster`, such as the release of Kubernetes."""

    separate: ClassVar[bool] = False
    """Whether the backend runs in a process of its own, beside the operator."""

    queue_tag: ClassVar[tuple[str, str] | None] = None
    """How a set names the queue that its objects are in, `("labels", key)` or `("annotations", key)`; None if the
    scheduler knows no queues, or reads them from pods."""

    queues: ClassVar[tuple[str, str]] = ("team-a", "team-b")
    """Two queues that exist, among the prerequisites."""

    # --- coming and going ---

    async def test_a_gang_comes_up(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            said = await condition(grove, "demo-0", "BackendSynced")
            assert said["status"] == "True", said["message"]
            gang = (await grove.list("podgangs"))["demo-0"]
            for obj in (await self.objects(grove)).values():
                (owner,) = obj["metadata"]["ownerReferences"]
                assert (owner["kind"], owner["uid"]) == ("PodGang", gang["metadata"]["uid"])
            assert grove.observer.opened == 4
            if self._schedules:
                assert await bound(grove) == 4
                assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"

    async def test_a_set_that_goes_leaves_nothing(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            await grove.call("DELETE", f"{SETS}/demo")
            await grove.settle()
            assert await self.objects(grove) == {}
            assert await grove.list("pods") == {}
            assert await grove.list("podgangs") == {}

    async def test_a_gang_that_is_deleted_by_hand_comes_back_and_keeps_its_pods(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            pods = {p["metadata"]["uid"] for p in (await grove.list("pods")).values()}
            said: list[str] = []
            grove.cluster.on_write(lambda w: said.append(str(w.now.get("status"))))
            await grove.call("DELETE", f"{GANGS}/demo-0")
            await grove.settle()
            assert not [text for text in said if "defect" in text]
            gang = (await grove.list("podgangs"))["demo-0"]
            assert (await condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            after = await self.objects(grove)
            assert len(after) == len(before)
            for obj in after.values():
                held = "deletionTimestamp" in obj["metadata"]  # by somebody's finalizer
                assert held or obj["metadata"]["ownerReferences"][0]["uid"] == gang["metadata"]["uid"]
            assert len(await grove.list("pods")) == 4
            if self._schedules:
                assert {p["metadata"]["uid"] for p in (await grove.list("pods")).values()} == pods
                assert await bound(grove) == 4

    async def test_a_copy_that_is_scaled_out_and_in_again_leaves_the_rest_alone(self) -> None:
        group = {"name": "unit", "cliqueNames": ["worker"], "replicas": 1, "minAvailable": 1}
        async with self.operating(cpus=6) as grove:
            await grove.apply(
                self.set_of(clique("router", 1), clique("worker", 2), podCliqueScalingGroups=[group])
            )
            await grove.settle()
            before = await self.objects(grove)
            await grove.call("PATCH", f"{GROUPS}/demo-0-unit", {"spec": {"replicas": 2}})
            await grove.settle()
            scaled = await self.objects(grove)
            assert _specs(scaled) | _specs(before) == _specs(scaled)
            assert len(scaled) > len(before) or not before
            if self._schedules:
                assert await bound(grove) == 5
            await grove.call("PATCH", f"{GROUPS}/demo-0-unit", {"spec": {"replicas": 1}})
            await grove.settle()
            assert _specs(await self.objects(grove)) == _specs(before)
            assert len(await grove.list("pods")) == 3

    async def test_a_set_that_moves_to_another_backend_takes_nothing_along(self) -> None:
        """Pods that have their place keep it; those that follow are the other backend's."""
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            await self.choose(grove, "bystander")
            await self._lose_all_pods(grove)
            gang = (await grove.list("podgangs"))["demo-0"]
            assert gang["metadata"]["labels"][labels.SCHEDULER_BACKEND] == "bystander"
            assert (await condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert await schedulers(grove) == {"bystander": 4}
            assert await gated(grove) == {}
            assert await self.objects(grove) == {}, "objects of a scheduler that is no longer used are left"
            await self.choose(grove, None)
            await self._lose_all_pods(grove)
            assert await schedulers(grove) == {self.backend().scheduler_name: 4}
            assert await gated(grove) == {}
            assert _specs(await self.objects(grove)).keys() == _specs(before).keys()

    # --- repair ---

    async def test_an_object_that_is_edited_by_hand_is_put_back(self) -> None:
        self._needs_objects()
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            edits = 0
            for (kind, name), obj in before.items():
                for patch in _edits(obj["spec"]):
                    try:
                        await grove.call("PATCH", f"{_path(kind)}/{name}", {"spec": patch})
                    except RefusedError:
                        continue  # a value that the server does not take, or a field that cannot be changed
                    edits += 1
                    await grove.settle()
                    assert _specs(await self.objects(grove)) == _specs(before), f"{kind.kind} keeps {patch}"
        if not edits:
            pytest.skip("the server lets nobody edit its objects")

    async def test_an_object_that_is_deleted_by_hand_comes_back(self) -> None:
        self._needs_objects()
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            for kind, name in before:
                await grove.call("DELETE", f"{_path(kind)}/{name}")
                await grove.settle()
                assert _specs(await self.objects(grove)) == _specs(before)
            assert len(await grove.list("pods")) == 4
            assert await grove.list("podgangs")

    async def test_an_object_of_the_gang_that_is_not_wanted_is_removed(self) -> None:
        self._needs_objects()
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            for (kind, name), obj in before.items():
                owner = obj["metadata"]["ownerReferences"]
                stray = {k: v for k, v in obj.items() if k != "status"}
                stray["metadata"] = {"name": f"{name}-stray", "ownerReferences": owner}
                await grove.cluster.create(_path(kind), stray)
            await grove.settle()
            assert _specs(await self.objects(grove)) == _specs(before)

    async def test_a_pod_that_is_lost_comes_back_into_the_gang(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("worker", 3)))
            await grove.settle()
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            assert grove.observer.opened == 4
            if self._schedules:
                assert await bound(grove) == 3

    @pytest.mark.parametrize("seed", range(2))
    async def test_faults_change_nothing_in_the_end(self, seed: int) -> None:
        wanted = self.set_of(clique("router", 1), clique("worker", 3))
        async with self.operating() as grove:
            await grove.apply(wanted)
            await grove.settle()
            expected = _specs(await self.objects(grove), uids=False)
        faults = Faults(seed, Rates.all(0.03))
        async with self.operating(through=faults.transport, seed=seed) as grove:
            await grove.apply(wanted)
            await grove.settle(quiet=60)
            faults.stop()
            await grove.settle(quiet=600)
            assert _specs(await self.objects(grove), uids=False) == expected
            assert grove.observer.opened == 4

    # --- changes ---

    async def test_another_queue_reaches_the_scheduler(self) -> None:
        if self.queue_tag is None:
            pytest.skip("queue_tag is None: its objects name no queue")
        where, key = self.queue_tag
        first, second = self.queues
        async with self.operating() as grove:
            wanted = self.set_of(clique("worker", 2))
            wanted["metadata"][where] = {key: first}
            await grove.apply(wanted)
            await grove.settle()
            before = await self.objects(grove)
            assert first in str(_specs(before))
            await grove.call("PATCH", f"{SETS}/demo", {"metadata": {where: {key: second}}})
            await grove.settle()
            after = await self.objects(grove)
            assert after.keys() == before.keys()
            assert second in str(_specs(after))
            assert first not in str(_specs(after))

    # --- peace ---

    async def test_looking_again_writes_nothing(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = len(grove.writes)
            await grove.call(
                "PATCH", f"{SETS}/demo", {"metadata": {"annotations": {"grove.io/look": "again"}}}
            )
            await grove.settle()
            assert grove.writes[before:] == ["MODIFIED podcliquesets"]

    async def test_an_operator_that_starts_again_writes_nothing(self) -> None:
        async with self.prepared() as grove:
            async with self.operator(grove):
                await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
                await grove.settle()
            before = len(grove.writes)
            async with self.operator(grove):
                await grove.settle()
            assert grove.writes[before:] == []

    # --- isolation ---

    async def test_a_missing_kind_is_named_and_its_arrival_heals(self) -> None:
        if not self.definitions:
            pytest.skip("there are no definitions that could be missing")
        async with self.operating(installed=False) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.apply(self.set_of(clique("worker", 2), name="other", backend="bystander"))
            await grove.settle()
            said = await condition(grove, "demo-0", "BackendSynced")
            assert (said["status"], said["reason"]) == ("False", "SchedulerNotInstalled")
            assert any(k.kind in said["message"] for k in self.backend().kinds)
            assert (await condition(grove, "other-0", "BackendSynced"))["status"] == "True"
            assert await gated(grove) == {"demo-0": 2}
            for definition in self.definitions:
                await grove.cluster.create(CRDS, definition)
            for path, obj in self.prerequisites:
                await grove.cluster.create(path, obj)
            await grove.settle()
            assert (await condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert await gated(grove) == {}

    async def test_a_gang_whose_scheduler_is_missing_can_move_to_another(self) -> None:
        """As its condition says: install the scheduler, or choose another one."""
        if not self.definitions:
            pytest.skip("there are no definitions that could be missing")
        async with self.operating(installed=False) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 2)))
            await grove.settle()
            assert await gated(grove) == {"demo-0": 3}
            await self.choose(grove, "bystander")
            await grove.settle()
            assert await gated(grove) == {}
            assert await schedulers(grove) == {"bystander": 3}

    # --- with a scheduler ---

    async def test_a_gang_binds_whole_or_not_at_all(self) -> None:
        if not self._schedules:
            pytest.skip("there is no policy: nothing is bound")
        async with self.operating(cpus=4) as grove:
            await grove.apply(self.set_of(clique("router", 2), clique("worker", 3)))
            await grove.settle()
            assert await bound(grove) == 0
            assert (await condition(grove, "demo-0", "Scheduled"))["status"] == "False"
            await grove.cluster.create(NODES, node("node-x", capacity={"cpu": "1"}))
            await grove.settle()
            assert await bound(grove) == 5
            assert (await condition(grove, "demo-0", "Scheduled"))["status"] == "True"

    async def test_a_gang_above_its_minimum_starts_with_the_minimum(self) -> None:
        if not self._schedules:
            pytest.skip("there is no policy: nothing is bound")
        async with self.operating(cpus=4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 6, minimum=2)))
            await grove.settle()
            assert await bound(grove) >= 3
            assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"

    # --- how ---

    def backend(self) -> Backend:
        return type(self).factory(dict(self.settings))

    @property
    def _schedules(self) -> bool:
        """Whether pods of the backend are bound, by its policy or by the kube-scheduler of every cluster."""
        return type(self).policy is not None or self.backend().scheduler_name == "default-scheduler"

    @asynccontextmanager
    async def operating(
        self, *, cpus: int = 5, installed: bool = True, seed: int = 0, **more: Any
    ) -> AsyncIterator[Grove]:
        """A cluster with nodes of one CPU each, with the scheduler unless it is not `installed`, and an operator."""
        async with (
            self.prepared(cpus=cpus, installed=installed, seed=seed) as grove,
            self.operator(grove, seed=seed, **more),
        ):
            yield grove

    @asynccontextmanager
    async def prepared(self, *, cpus: int = 5, installed: bool = True, seed: int = 0) -> AsyncIterator[Grove]:
        backend, make = self.backend(), type(self).policy
        async with cluster_with_crds(
            nodes=[node(f"node-{i}", rack=f"rack-{i // 2}", capacity={"cpu": "1"}) for i in range(cpus)],
            definitions=self.definitions if installed else (),
            policies=[make()] if make is not None else [],
            gates=(backend.gate, Bystander.gate),
            seed=seed,
            **self.cluster,
        ) as grove:
            grove.cluster.on_write(ObjectsBeforeGates(backend))
            for path, obj in self.prerequisites if installed else ():
                await grove.cluster.create(path, obj)
            yield grove

    @asynccontextmanager
    async def operator(self, grove: Grove, seed: int = 0, **more: Any) -> AsyncIterator[None]:
        backend = self.backend()
        profile = SchedulerProfile(
            name=backend.scheduler_name,
            config=msgspec.Raw(msgspec.json.encode(dict(self.settings))),
            separate=self.separate,
        )
        more["configuration"] = OperatorConfiguration(
            scheduler=Schedulers(
                profiles=[profile, SchedulerProfile(name=Bystander.scheduler_name)],
                default_profile_name=backend.scheduler_name,
            )
        )
        more["factories"] = {
            "default": Kubernetes,
            backend.name: type(self).factory,
            Bystander.name: Bystander,
        }
        async with AsyncExitStack() as processes:
            if self.separate:
                await processes.enter_async_context(backend_alone(grove, backend.name, **more))
            await processes.enter_async_context(operator(grove, seed=seed, **more))
            yield

    def set_of(self, *cliques: Json, name: str = "demo", backend: str = "", **template: Any) -> Json:
        annotations = {labels.SCHEDULER_BACKEND: backend} if backend else {}
        return {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"replicas": 1, "template": {"cliques": list(cliques), **template}},
        }

    async def choose(self, grove: Grove, backend: str | None) -> None:
        patch = {"metadata": {"annotations": {labels.SCHEDULER_BACKEND: backend}}}
        await grove.call("PATCH", f"{SETS}/demo", patch)

    async def objects(self, grove: Grove) -> Objects:
        """All objects of the backend's kinds that belong to a gang."""
        found: Objects = {}
        for kind in self.backend().kinds:
            try:
                items = (await grove.call("GET", _path(kind)))["items"]
            except RefusedError:
                continue  # not served
            for obj in items:
                if any(o["kind"] == "PodGang" for o in obj["metadata"].get("ownerReferences", ())):
                    head = {"apiVersion": kind.api_version, "kind": kind.kind}
                    found[kind, obj["metadata"]["name"]] = head | obj
        return found

    async def _lose_all_pods(self, grove: Grove) -> None:
        await grove.settle()
        for name in await grove.list("pods"):
            await grove.call("DELETE", f"{PODS}/{name}")
        await grove.settle(quiet=900)

    def _needs_objects(self) -> None:
        if not self.backend().kinds:
            pytest.skip("the backend makes no objects")


class ObjectsBeforeGates:
    """An observer of writes: no object of a gang is made only after its pods lost their gates."""

    def __init__(self, backend: Backend) -> None:
        self._gate = backend.gate
        self._kinds = {(k.group, k.plural) for k in backend.kinds}
        self._with_objects: set[tuple[str, str]] = set()
        self._released_without: set[tuple[str, str]] = set()

    def __call__(self, write: Write) -> None:
        namespace, now = write.key[0], write.now
        if (write.resource.group, write.resource.plural) in self._kinds and write.type == "ADDED":
            for owner in now["metadata"].get("ownerReferences", ()):
                gang = (namespace, owner["name"])
                assert gang not in self._released_without, (
                    f"pods of {gang} lost their gates before {write.key} existed"
                )
                self._with_objects.add(gang)
        elif write.resource.plural == "pods" and write.before is not None and write.type != "DELETED":
            gang = (namespace, now["metadata"].get("labels", {}).get(labels.POD_GANG, ""))
            opened = self._gate in _gates(write.before) and self._gate not in _gates(now)
            if opened and gang not in self._with_objects:
                self._released_without.add(gang)


def clique(name: str, replicas: int, *, minimum: int | None = None) -> Json:
    """A clique of pods that ask for one CPU each, and stop at once."""
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    spec: Json = {"roleName": name, "replicas": replicas, "podSpec": pod}
    return {"name": name, "spec": spec | ({"minAvailable": minimum} if minimum else {})}


async def bound(grove: Grove) -> int:
    return sum(1 for p in (await grove.list("pods")).values() if p["spec"].get("nodeName"))


async def gated(grove: Grove) -> dict[str, int]:
    """How many pods have gates, by gang."""
    pods = (await grove.list("pods")).values()
    return dict(Counter(p["metadata"]["labels"][labels.POD_GANG] for p in pods if _gates(p)))


async def schedulers(grove: Grove) -> dict[str, int]:
    """How many pods name each scheduler."""
    return dict(Counter(p["spec"]["schedulerName"] for p in (await grove.list("pods")).values()))


async def condition(grove: Grove, gang: str, kind: str) -> Json:
    found = (await grove.list("podgangs"))[gang]
    return next(dict(c) for c in found["status"]["conditions"] if c["type"] == kind)


def _gates(pod: Json) -> list[str]:
    return [g["name"] for g in pod["spec"].get("schedulingGates", ())]


def _path(kind: ObjectKind) -> str:
    where = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{where}/namespaces/default/{kind.plural}" if kind.namespaced else f"{where}/{kind.plural}"


def _specs(objects: Objects, *, uids: bool = True) -> dict[str, Any]:
    """What objects say, without what differs each time that they are made; names may have the gang's uid in them."""
    found: dict[str, Any] = {}
    for (kind, name), obj in objects.items():
        owner = obj["metadata"]["ownerReferences"][0]["uid"]
        key = f"{kind.kind} {name}"
        found[key if uids else key.replace(owner, "UID")] = obj.get("spec", {})
    return found


def _edits(value: Json) -> list[Json]:
    """Merge patches that each change one number or text, lists as a whole."""
    found: list[Json] = []
    for key, old in value.items():
        if isinstance(old, dict):
            found += [{key: inner} for inner in _edits(old)]
        elif isinstance(old, bool):
            found.append({key: not old})
        elif isinstance(old, int):
            found.append({key: old + 1})
        elif isinstance(old, str):
            found.append({key: f"{old}-edited"})
        elif isinstance(old, list) and old:
            found.append({key: old[1:]})
    return found
