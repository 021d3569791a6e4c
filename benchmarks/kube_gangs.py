"""What gangs cost on a real kube-scheduler 1.37: 100 gangs of ten pods in three groups.

    python -m benchmarks.kube_gangs

Counts the operator's writes per gang, and compares the time from the creation of the set until its last pod is bound
with that of the same pods without gangs, gates or operator, created by a bare loop. Each runs on a fresh control plane
with enough room for all.
"""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

import msgspec
import orjson
from grove_sandbox.nodes import nodes
from grove_testbed.build import NotBuiltError

from benchmarks.measure import Budget, finish
from benchmarks.operator_costs import SETS
from benchmarks.servers import WRITES, Server, real
from grove.api.config import OperatorConfiguration
from grove.api.pod_view import Pod
from grove.api.serialization.crds import all_crds
from grove.controllers.shared.companions import PODS
from grove.operator.assembly import Operator
from grove.operator.process import tune_garbage_collection
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request
from grove.runtime.telemetry.logs import configure
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Registry

K8S = "1.37"
GROUPS = {"leader": 1, "prefill": 3, "decode": 6}
ROOM = {"cpu": "200", "pods": "400"}
CONTAINER = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "1"}}}
POD_SPEC: dict[str, Any] = {"automountServiceAccountToken": False, "containers": [CONTAINER]}


def control_plane() -> AbstractContextManager[Server]:
    return real(
        K8S,
        scheduler="default",
        nodes=nodes(10, ROOM),
        definitions=all_crds(),
        skip_admission=("ServiceAccount",),
    )


async def with_gangs(server: Server, gangs: int) -> tuple[float, Counter[str]]:
    """Seconds until all pods are bound, and the operator's writes by what is written."""
    tune_garbage_collection()
    recorder = server.recorder()
    client = Client(recorder, field_manager="grove-operator")
    configuration = OperatorConfiguration()
    registry = Registry(configuration.scheduler, {"default": Kubernetes})
    operator, stop = Operator(client, configuration, registry), asyncio.Event()
    async with all_bound(server.bench, gangs) as (user, done), asyncio.TaskGroup() as group:
        running = group.create_task(operator.run(stop))
        await create(
            user, SETS, a_set("warm-up", 1)
        )  # the operator has learned what the cluster serves when it runs
        await wait_for(operator, "warm-up-0")
        recorder.forget()
        started = time.monotonic()
        await create(user, SETS, a_set("bench", gangs))
        await done.wait()
        seconds = time.monotonic() - started
        await wait_for(operator, *(f"bench-{i}" for i in range(gangs)))
        stop.set()
        await running
    counts = recorder.counts()
    await recorder.close()
    return seconds, Counter({what: n for what, n in counts.items() if what.rpartition(" ")[0] in WRITES})


async def bare(server: Server, gangs: int) -> float:
    """Seconds until the same pods are bound, without gangs."""
    names = iter([f"bench-{i}-{g}-{p}" for i in range(gangs) for g, n in GROUPS.items() for p in range(n)])

    async with all_bound(server.bench, gangs) as (user, done):

        async def work() -> None:
            for name in names:
                metadata = {"name": name, "labels": {"app": "bench"}}
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": POD_SPEC}
                await create(user, "/api/v1/namespaces/default/pods", pod)

        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(work())
        await done.wait()
        return time.monotonic() - started


@asynccontextmanager
async def all_bound(cluster: ClusterConnection, gangs: int) -> AsyncIterator[tuple[Client, asyncio.Event]]:
    """A client, and an event that is set when so many pods named `bench-...` have a node."""
    user = Client(HttpTransport(cluster), field_manager="bench")
    pods: Informer[Pod] = Informer(user, PODS, msgspec.json.Decoder(Pod).decode)
    placed: set[str] = set()
    done = asyncio.Event()

    def look(change: Change[Pod]) -> None:
        name = change.object.metadata.name or ""
        if change.object.spec.node_name and name.startswith("bench-"):
            placed.add(name)
            if len(placed) == gangs * sum(GROUPS.values()):
                done.set()

    pods.cache.subscribe(look)
    following = asyncio.create_task(pods.run())
    try:
        await pods.synced.wait()
        yield user, done
    finally:
        following.cancel()
        await asyncio.wait([following])
        await user.close()


async def wait_for(operator: Operator, *gangs: str) -> None:
    """Until the gangs run, as far as the operator has written it."""

    def running() -> set[str]:
        found = operator.informers.gangs.cache
        return {g.metadata.name or "" for g in found if g.status is not None and g.status.phase == "Running"}

    changed = asyncio.Event()
    operator.informers.gangs.cache.subscribe(lambda change: changed.set())
    while not running() >= set(gangs):
        changed.clear()
        await changed.wait()


def a_set(name: str, gangs: int) -> dict[str, Any]:
    cliques = [
        {"name": g, "spec": {"roleName": g, "replicas": n, "podSpec": POD_SPEC}} for g, n in GROUPS.items()
    ]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": gangs, "template": {"cliques": cliques}},
    }


async def create(client: Client, path: str, body: dict[str, Any]) -> None:
    headers = {"content-type": "application/json"}
    await client.send(Call(Request("POST", path, {}, headers, orjson.dumps(body)), "create", "bench"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gangs", type=int, default=100)
    gangs: int = parser.parse_args().gangs
    configure("error", "text")
    try:
        with control_plane() as server:
            alone = asyncio.run(bare(server, gangs))
        with control_plane() as server:
            together, written = asyncio.run(with_gangs(server, gangs))
    except NotBuiltError as missing:
        print(f"skipped: {missing}")
        return
    pods = gangs * sum(GROUPS.values())
    print(f"{gangs} gangs of {sum(GROUPS.values())} pods in {len(GROUPS)} groups on kube-scheduler {K8S}:")
    for what, count in sorted(written.items(), key=lambda item: -item[1]):
        print(f"  {count / gangs:6.2f} per gang  {what}")
    print(f"  {pods} pods bound after {together:.1f} s, without gangs after {alone:.1f} s")
    finish(
        [
            Budget("writes per gang", written.total() / gangs, 60.0),
            Budget("time until all are bound, beside bare pods", together / alone, 5.0),
        ]
    )


if __name__ == "__main__":
    main()
