"""All interleavings of the controllers' steps for small gangs. In every order no gate opens early, and without timers
the same objects exist in the end.

For one gang of one pod, all steps of the whole operator are interleaved. Elsewhere the steps that concern the set as a
whole, its finalizer and its Service, run immediately. No request fails here: for failures see test_operator_faults.py.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from grove_sandbox.flow.bystander import Bystander

from grove.api import PodGang
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.controllers.podclique.controller import CliqueController
from grove.operator.assembly import BackendProcess, ControllerProcess, Operator
from grove.plan.gangs import gates
from grove.runtime.client.client import Client
from grove.runtime.telemetry.current_reconcile import CURRENT_RECONCILE
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Registry
from tests.flow.interleavings import Explorer, Found
from tests.flow.operating import GroveCluster, Json, cluster_with_crds
from tests.flow.steps import Objects, Steps, Stepwise

pytestmark = pytest.mark.looptime

GANGS = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"
GROUPS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquescalinggroups"
PODS = "/api/v1/namespaces/default/pods"
A_DAY = datetime(2030, 1, 1, tzinfo=UTC)

# The work items and requests for the set as a whole.
THE_SET = ("podcliqueset ", "podcliquesets/", "services/")


class Laboratory:
    """A cluster whose processes take turns."""

    def __init__(self, grove: GroveCluster, steps: Steps, objects: Objects) -> None:
        self.grove, self.steps, self.objects = grove, steps, objects

    async def every_order(self, *, opened: int, thorough: bool = False) -> Found:
        """In each of them so many gates open, before any timer fires."""

        def is_up() -> bool:
            errors = self.grove.cluster.server.observer_errors
            assert not errors, str(errors[0])
            count = self.grove.observer.opened
            assert count >= opened, f"only {count} gates are open, and no step is left"
            return True

        def end() -> str:
            is_up()
            return picture(self.objects.now)

        return await Explorer(self.steps, is_up=is_up, picture=end, thorough=thorough).every_order()

    async def delete(self, name: str, path: str) -> None:
        """By hand, in one step, at any time from when the object is there."""

        async def is_there() -> bool:
            return name in self.objects.now

        await self.grove.until(is_there)
        await self.steps.wait(f"somebody deletes {name}")
        await self.grove.call("DELETE", path)

    async def place(self, pods: Collection[str]) -> None:
        """The scheduler finds a node for pods, in one step."""
        await self.steps.wait("the scheduler places pods")
        said = [{"type": "PodScheduled", "status": "True"}]
        for pod in pods:
            await self.grove.call("PATCH", f"{PODS}/{pod}/status", {"status": {"conditions": said}})


@asynccontextmanager
async def laboratory(
    monkeypatch: pytest.MonkeyPatch, *, at_once: Collection[str] = THE_SET, apart: bool = False
) -> AsyncIterator[Laboratory]:
    """With `apart` the backend is a process of its own."""
    profile = SchedulerProfile(name="bystander", separate=apart)
    scheduler = Schedulers(profiles=[profile], default_profile_name=profile.name)
    configuration = OperatorConfiguration(scheduler=scheduler)
    registry = Registry(scheduler, {"default": Kubernetes, "bystander": Bystander})
    async with (
        cluster_with_crds(nodes=0, schedulers=[], gates=[Bystander.gate], now=lambda: A_DAY) as grove,
        AsyncExitStack() as running,
    ):
        objects, observer = Objects(), grove.observer
        grove.cluster.on_write(objects)
        steps = Steps(
            objects,
            monkeypatch,
            at_once=at_once,
            remembered=lambda: sorted((k, objects.content(g)) for k, g in observer._last_ready.items()),
        )

        def client(name: str) -> Client:
            return grove.cluster.client(name, Stepwise(grove.cluster.server, steps, name))

        now = grove.cluster.now
        processes: dict[str, ControllerProcess] = {
            "operator": Operator(
                client("operator"), configuration, registry, now=now, chance=Counting(), batch_window=0.0
            )
        }
        if apart:
            processes["backend"] = BackendProcess(
                client("backend"), configuration, registry, Bystander({}), now=now, batch_window=0.0
            )
        for name, process in processes.items():
            steps.add(name, process)
            await running.enter_async_context(process.running())
        await asyncio.sleep(1)
        yield Laboratory(grove, steps, objects)


@pytest.fixture(autouse=True)
def _no_logs() -> Any:
    """Conflicts and vanished objects are what is looked for here, and their tracebacks cost more than all the rest."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


class Counting(random.Random):
    """The pods of each clique get the same names in every order: the first, the second and so on."""

    def __init__(self) -> None:
        super().__init__(0)
        self._made: Counter[Any] = Counter()

    def choices(self, population: Any, *_: Any, k: int = 1, **__: Any) -> list[Any]:
        who = CURRENT_RECONCILE.get()
        self._made[who] += 1
        return [population[self._made[who]]] * k


def clique(name: str, replicas: int = 1) -> Json:
    pod = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}
    return {"name": name, "spec": {"roleName": name, "replicas": replicas, "podSpec": pod}}


def a_set(*cliques: Json, **template: Any) -> Json:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "s"},
        "spec": {"replicas": 1, "template": {"cliques": list(cliques), **template}},
    }


def picture(objects: dict[str, Json]) -> str:
    """All that there is: pods by their place, and what each gang names and says of its present generation."""
    pods = {o["metadata"]["name"]: o["spec"] for name, o in objects.items() if name.startswith("pods/")}
    places = {
        n: f"{spec['hostname']}{' gated' * bool(spec.get('schedulingGates'))}" for n, spec in pods.items()
    }
    found = [f"pods/{place}" for place in places.values()]
    for name, obj in objects.items():
        if name.startswith("podgangs/"):
            named = [
                places.get(r["name"], "gone") for g in obj["spec"]["podgroups"] for r in g["podReferences"]
            ]
            found.append(f"{name} names {', '.join(named)}: {', '.join(_true(obj))}")
        elif not name.startswith("pods/"):
            found.append(name)
    return "\n".join(sorted(found))


def _true(gang: Json) -> list[str]:
    said = [c for c in gang["status"]["conditions"] if c["status"] == "True"]
    current = gang["metadata"]["generation"]
    return sorted(
        c["type"] for c in said if c["type"] == "Initialized" or c.get("observedGeneration") == current
    )


def agree(found: Found, expected: str, *, states: int) -> None:
    """All orders ended so, and there were enough of them to tell."""
    assert not found.objection, found.objection
    assert list(found.ends) == [expected]
    assert found.states >= states


ONE_POD = """podcliques/s-0-a
podcliquesets/s
podgangs/s-0 names s-0-a-0: BackendSynced, Initialized
pods/s-0-a-0
services/s-0"""


async def test_a_gang_of_one_pod_comes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async with laboratory(monkeypatch, at_once=()) as lab:
        await lab.grove.apply(a_set(clique("a")))
        agree(await lab.every_order(opened=1), ONE_POD, states=100)


async def test_running_idle_reconciles_immediately_hides_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with laboratory(monkeypatch) as lab:
        await lab.grove.apply(a_set(clique("a")))
        agree(await lab.every_order(opened=1, thorough=True), ONE_POD, states=40)


async def test_a_gang_of_two_pods_comes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = """podcliques/s-0-a
podcliquesets/s
podgangs/s-0 names s-0-a-0, s-0-a-1: BackendSynced, Initialized
pods/s-0-a-0
pods/s-0-a-1
services/s-0"""
    async with laboratory(monkeypatch, at_once=()) as lab:
        await lab.grove.apply(a_set(clique("a", 2)))
        agree(await lab.every_order(opened=2), expected, states=150)


async def test_a_gang_of_two_cliques_comes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = """podcliques/s-0-a
podcliques/s-0-b
podcliquesets/s
podgangs/s-0 names s-0-a-0, s-0-b-0: BackendSynced, Initialized
pods/s-0-a-0
pods/s-0-b-0
services/s-0"""
    async with laboratory(monkeypatch, at_once=()) as lab:
        await lab.grove.apply(a_set(clique("a"), clique("b")))
        agree(await lab.every_order(opened=2), expected, states=350)


async def test_a_pod_is_deleted_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with laboratory(monkeypatch) as lab, asyncio.TaskGroup() as group:
        await lab.grove.apply(a_set(clique("a")))
        group.create_task(lab.delete("pods/s-0-a-ccccc", f"{PODS}/s-0-a-ccccc"))
        agree(await lab.every_order(opened=1), ONE_POD, states=80)


async def test_a_gang_is_deleted_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with laboratory(monkeypatch) as lab, asyncio.TaskGroup() as group:
        await lab.grove.apply(a_set(clique("a")))
        group.create_task(lab.delete("podgangs/s-0", f"{GANGS}/s-0"))
        agree(await lab.every_order(opened=1), ONE_POD, states=60)


async def test_a_scaled_gang_comes_up_while_its_base_gang_is_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = """podcliques/s-0-g-0-b
podcliques/s-0-g-1-b
podcliquescalinggroups/s-0-g
podcliquesets/s
podgangs/s-0 names s-0-g-0-b-0: BackendSynced, Initialized
podgangs/s-0-g-0 names s-0-g-1-b-0: BackendSynced, Initialized
pods/s-0-g-0-b-0
pods/s-0-g-1-b-0
services/s-0"""
    async with laboratory(monkeypatch) as lab, asyncio.TaskGroup() as others:
        await scaling_out(lab, others)
        agree(await lab.every_order(opened=2), expected, states=80)


async def scaling_out(lab: Laboratory, others: asyncio.TaskGroup) -> None:
    """A base gang is up and waits to be placed, and somebody has just asked for a second copy of its group."""
    group = {"name": "g", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}
    await lab.grove.apply(a_set(clique("b"), podCliqueScalingGroups=[group]))
    await lab.grove.settle()
    assert lab.grove.observer.opened == 1
    lab.steps.begin()
    await lab.grove.call("PATCH", f"{GROUPS}/s-0-g", {"spec": {"replicas": 2}})
    others.create_task(lab.place(await lab.grove.list("pods")))


async def test_a_gang_comes_up_with_its_backend_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replica is made at once: in which order that can happen is tried above."""
    at_once = (*THE_SET, "podcliqueset-replica", "POST podgangs/", "POST podcliques/")
    async with laboratory(monkeypatch, at_once=at_once, apart=True) as lab:
        await lab.grove.apply(a_set(clique("a")))
        agree(await lab.every_order(opened=1), ONE_POD, states=300)


# --- the search finds what there is to find ---


async def test_a_missing_trigger_that_is_seldom_needed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gang that comes up after its base gang was placed does not need this trigger."""
    monkeypatch.setattr(CliqueController, "_cliques_scaled_from", lambda self, gang: [])
    async with laboratory(monkeypatch) as lab, asyncio.TaskGroup() as others:
        await scaling_out(lab, others)
        found = await lab.every_order(opened=2)
        assert "only 1 gates are open" in found.objection
        assert found.ends


async def test_a_gate_that_opens_before_the_backend_has_followed_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocker = gates._blocker

    def hastily(gang: PodGang, base: PodGang | None) -> str:
        why = blocker(gang, base)
        return "" if "to follow the latest change" in why else why

    monkeypatch.setattr(gates, "_blocker", hastily)
    async with laboratory(monkeypatch, apart=True) as lab:
        await lab.grove.apply(a_set(clique("a")))
        found = await lab.every_order(opened=1)
        assert "lost its gate while the backend was synced with an older generation" in found.objection
        lab.grove.cluster.server.observer_errors.clear()
