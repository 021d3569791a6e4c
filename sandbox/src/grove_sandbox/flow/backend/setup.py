"""What a test of a backend needs: the backend's own settings, a cluster, and an operator with the backend in it."""

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

from grove_sandbox.flow.backend.queries import PODS, SETS, Objects, object_path
from grove_sandbox.flow.bystander import Bystander
from grove_sandbox.flow.cluster import (
    GroveCluster,
    Json,
    RefusedError,
    backend_alone,
    cluster_with_crds,
    operator,
)
from grove_sandbox.flow.object_observer import ObjectsBeforeGates
from grove_sandbox.nodes import node
from grove_sandbox.schedulers.policy import Policy


class BackendSetup:
    """An author sets the class attributes; the tests call the methods."""

    factory: ClassVar[Factory]
    """The value of the entry point: a class, or a function wrapped in `staticmethod`."""

    definitions: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """The scheduler's CRDs, empty for a scheduler without any."""

    policy: ClassVar[Callable[[], Policy] | None] = None
    """A simulated scheduler. Without one no pod is bound, and tests that need bound pods are skipped."""

    prerequisites: ClassVar[Sequence[tuple[str, Json]]] = ()
    """Path and body of objects that an installation of the scheduler needs, such as a queue."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """The `config` of the profile."""

    cluster: ClassVar[Mapping[str, Any]] = {}
    """Arguments of `grove_sandbox.cluster.EmbeddedCluster`, such as the release of Kubernetes."""

    separate: ClassVar[bool] = False
    """Whether the backend runs in a process of its own, beside the operator."""

    queue_tag: ClassVar[tuple[str, str] | None] = None
    """Where a set names the queue of its objects: `("labels", key)` or `("annotations", key)`. None if the scheduler
    has no queues or reads them from pods."""

    queues: ClassVar[tuple[str, str]] = ("team-a", "team-b")
    """Two existing queues, created by `prerequisites`."""

    def backend(self) -> Backend:
        return type(self).factory(dict(self.settings))

    @property
    def schedules(self) -> bool:
        """Whether a scheduler binds the backend's pods: its `policy`, or the kube-scheduler of every cluster."""
        return type(self).policy is not None or self.backend().scheduler_name == "default-scheduler"

    @asynccontextmanager
    async def operating(
        self, *, cpus: int = 5, installed: bool = True, seed: int = 0, **more: Any
    ) -> AsyncIterator[GroveCluster]:
        """A cluster of `cpus` nodes with one CPU each, and an operator. `installed=False`: no CRDs of the scheduler."""
        async with (
            self.prepared(cpus=cpus, installed=installed, seed=seed) as grove,
            self.operator(grove, seed=seed, **more),
        ):
            yield grove

    @asynccontextmanager
    async def prepared(
        self, *, cpus: int = 5, installed: bool = True, seed: int = 0
    ) -> AsyncIterator[GroveCluster]:
        """The same cluster without an operator."""
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
    async def operator(self, grove: GroveCluster, seed: int = 0, **more: Any) -> AsyncIterator[None]:
        """An operator with the backend as default and `Bystander` beside it. `more` goes to `flow.cluster.operator`."""
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

    async def choose(self, grove: GroveCluster, backend: str | None) -> None:
        """Moves the set `demo` to another backend. None is the default."""
        patch = {"metadata": {"annotations": {labels.SCHEDULER_BACKEND: backend}}}
        await grove.call("PATCH", f"{SETS}/demo", patch)

    async def objects(self, grove: GroveCluster) -> Objects:
        """All objects of the backend's kinds that a PodGang owns."""
        found: Objects = {}
        for kind in self.backend().kinds:
            try:
                items = (await grove.call("GET", object_path(kind)))["items"]
            except RefusedError:
                continue  # not served
            for obj in items:
                if any(o["kind"] == "PodGang" for o in obj["metadata"].get("ownerReferences", ())):
                    head = {"apiVersion": kind.api_version, "kind": kind.kind}
                    found[kind, obj["metadata"]["name"]] = head | obj
        return found

    async def delete_all_pods(self, grove: GroveCluster) -> None:
        await grove.settle()
        for name in await grove.list("pods"):
            await grove.call("DELETE", f"{PODS}/{name}")
        await grove.settle(quiet=900)

    def skip_without_objects(self) -> None:
        if not self.backend().kinds:
            pytest.skip("the backend creates no objects")
