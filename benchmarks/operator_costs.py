"""Measures the operator: requests by verb and resource, memory, and CPU and time beside a bare replay of its writes.

    python -m benchmarks.operator_costs [--real] [--shape 500x2] ...

The API server runs in a process of its own: the embedded one, or with --real a kube-apiserver of the testbed. No
scheduler runs, so a run ends when the last gate is open. A second operator then starts and must write nothing.
Finally a loop without any logic sends the same writes to a fresh server, and CPU and time of both are compared. Each
round runs in a process of its own, so that no operator inherits the memory of another.

Objects for a scheduler are counted separately: how many there are is the scheduler's choice, and a budget is for what
Grove adds.
"""

import argparse
import asyncio
import multiprocessing
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
import uvloop
from grove_testbed.build import NotBuiltError

from benchmarks.measure import Budget, finish
from benchmarks.servers import WRITES, Recorder, Server, embedded, real
from grove.api.config import OperatorConfiguration
from grove.api.serialization.crds import all_crds
from grove.controllers.podcliqueset.running_reasons import (
    EXPLAIN_INTERVAL_SECONDS,
    EXPLAIN_INTERVAL_SECONDS_PER_REPLICA,
)
from grove.controllers.shared.status_writer import STARTUP_STATUS_BATCH_WINDOW_SECONDS
from grove.operator.assembly import Operator
from grove.operator.process import tune_garbage_collection
from grove.runtime.client.client import Client
from grove.runtime.client.errors import RequestError
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request
from grove.runtime.telemetry.logs import configure
from grove.schedulers.registry import Registry

OF_SCHEDULERS = ("workloads", "podgroups", "compositepodgroups")
SHAPES = ("500x2", "50x20")
GROWTH = ("250x2", "500x2", "1000x2", "2000x2")
# Disturbances only add time, so the best of several rounds counts.
ROUNDS = 3
T = TypeVar("T")
Start = Callable[[], AbstractContextManager[Server]]
SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"


@dataclass(frozen=True)
class Result:
    gangs: int
    pods: int
    counts: Counter[str]
    writes: list[Request]
    seconds: float
    cpu_seconds: float
    peak_mb: float
    writes_after_restart: int

    @property
    def cpu_ms_per_pod(self) -> float:
        return self.cpu_seconds * 1000 / self.pods

    @property
    def writes_per_pod(self) -> float:
        """Without the scheduler's own objects."""
        return self._written(but=OF_SCHEDULERS) / self.pods

    @property
    def scheduler_objects_per_gang(self) -> float:
        return self._written(of=OF_SCHEDULERS) / self.gangs

    @property
    def flow_writes_per_gang(self) -> float:
        """All writes of PodGangs, including their status. Removing a gate is a write of the pod."""
        return self._written(of=("podgangs", "podgangs/status")) / self.gangs

    @property
    def reads(self) -> int:
        """Reads of objects. Discovery of kinds that the cluster does not serve is not counted."""
        read = [(what.rpartition(" "), n) for what, n in self.counts.items()]
        return sum(n for (verb, _, of), n in read if verb in ("get", "list") and not of.startswith("/"))

    def _written(self, *, of: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> int:
        found = 0
        for what, n in self.counts.items():
            verb, _, plural = what.rpartition(" ")
            if verb in WRITES and plural not in but and (not of or plural in of):
                found += n
        return found


def pcs(replicas: int, pods: int) -> dict[str, Any]:
    template = {
        "containers": [
            {"name": "worker", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "1"}}}
        ]
    }
    clique = {"name": "worker", "spec": {"roleName": "worker", "replicas": pods, "podSpec": template}}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "bench", "namespace": "default"},
        "spec": {"replicas": replicas, "template": {"cliques": [clique]}},
    }


async def measure(server: Server, replicas: int, pods: int) -> Result:
    """Brings a set up on a fresh server, from its creation until every gate is open, then starts a second operator."""
    tune_garbage_collection()
    recorder = server.recorder()
    setup = Client(HttpTransport(server.bench), field_manager="bench")
    await _install(setup)
    operator, stop = _operator(recorder), asyncio.Event()
    opened, done = 0, asyncio.Event()

    def watch(change: Any) -> None:
        nonlocal opened
        opened += _gated(change.old) and not _gated(change.new)
        if opened == replicas * pods:
            done.set()

    operator.informers.pods.cache.subscribe(watch)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(operator.run(stop))
        await _at_rest(operator, recorder)
        recorder.forget()
        started = time.monotonic()
        cpu_before = time.process_time()
        await _send(setup, "POST", SETS, pcs(replicas, pods))
        await done.wait()
        seconds = time.monotonic() - started
        await _at_rest(operator, recorder)
        cpu_seconds = time.process_time() - cpu_before
        # The reason why the set does not run is computed at intervals; a second operator would write it at once.
        await _at_rest(
            operator,
            recorder,
            EXPLAIN_INTERVAL_SECONDS
            + EXPLAIN_INTERVAL_SECONDS_PER_REPLICA * replicas
            + STARTUP_STATUS_BATCH_WINDOW_SECONDS,
        )
        stop.set()
        await running
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts, writes = recorder.counts(), recorder.writes
    again = await _writes_after_restart(recorder)
    await recorder.close()
    await setup.close()
    return Result(replicas, replicas * pods, counts, writes, seconds, cpu_seconds, peak, again)


async def _writes_after_restart(recorder: Recorder) -> int:
    """How many writes a second operator makes. Dry runs do not count."""
    recorder.forget()
    operator, stop = _operator(recorder), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(operator.run(stop))
        await _at_rest(operator, recorder)
        stop.set()
        await running
    return sum(n for what, n in recorder.counts().items() if what.rpartition(" ")[0] in WRITES)


def _operator(recorder: Recorder) -> Operator:
    configuration = OperatorConfiguration()
    client = Client(recorder, field_manager="grove-operator")
    return Operator(client, configuration, Registry(configuration.scheduler))


async def _at_rest(
    operator: Operator, recorder: Recorder, seconds: float = 2 * STARTUP_STATUS_BATCH_WINDOW_SECONDS
) -> None:
    """Waits until no key is queued and nothing was answered for this long: by default longer than a status batch."""
    while True:
        before = len(recorder.answered)
        await asyncio.sleep(seconds)
        if len(recorder.answered) == before and all(c.queue.idle for c in operator.controllers):
            return


@dataclass(frozen=True)
class Replay:
    seconds: float
    cpu_ms_per_pod: float


async def replay(server: Server, result: Result, replicas: int, pods: int) -> Replay:
    """Sends the same writes, those of each object in order, without logic, watches or decoding."""
    client = Client(HttpTransport(server.bench), field_manager="grove-operator")
    await _install(client)
    await _send(client, "POST", SETS, pcs(replicas, pods))
    objects: dict[str, list[Request]] = defaultdict(list)
    for request in result.writes:
        objects[_object(request)].append(request)
    waiting = iter(list(objects.values()))

    async def work() -> None:
        for requests in waiting:
            for request in requests:
                await client.send(Call(_unguarded(request), "replay", "replay"))

    started, cpu_before = time.monotonic(), time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(work())
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_before
    await client.close()
    return Replay(seconds, cpu_seconds * 1000 / result.pods)


async def _install(client: Client) -> None:
    for crd in all_crds():
        await _send(client, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    async with asyncio.timeout(30):
        for crd in all_crds():
            spec = crd["spec"]
            path = f"/apis/{spec['group']}/v1alpha1/{spec['names']['plural']}"
            while True:
                try:
                    await client.send(Call(Request("GET", path), "list", "crds"))
                    break
                except RequestError:  # not served yet
                    await asyncio.sleep(0.2)


async def _send(client: Client, method: str, path: str, body: dict[str, Any]) -> None:
    headers = {"content-type": "application/json"}
    await client.send(Call(Request(method, path, {}, headers, orjson.dumps(body)), "create", "setup"))


def _gated(pod: Any) -> bool:
    return pod is not None and bool(pod.spec.scheduling_gates)


def _object(request: Request) -> str:
    """The object of a write. A create has the name in its body."""
    path = request.path
    if request.method == "POST":
        return f"{path}/{orjson.loads(request.body)['metadata'].get('name')}"
    return path.removesuffix("/status")


def _unguarded(request: Request) -> Request:
    """Removes resourceVersions and owner references, which belong to the first server."""
    if b"resourceVersion" not in request.body and b"ownerReferences" not in request.body:
        return request
    body = orjson.loads(request.body)
    for field_name in ("resourceVersion", "ownerReferences"):
        body.get("metadata", {}).pop(field_name, None)
    return Request(request.method, request.path, request.query, request.headers, orjson.dumps(body))


def report(shape: str, where: str, result: Result) -> None:
    print(f"{shape} on the {where} API server: {result.pods} pods in {result.seconds:.1f} s")
    for what, count in sorted(result.counts.items(), key=lambda item: -item[1]):
        print(f"  {count:6}  {what}")
    print(f"  {result.writes_per_pod:.2f} writes per pod, {result.reads} reads after the start")
    print(f"  {result.flow_writes_per_gang:.2f} writes per gang for its flow")
    print(f"  {result.scheduler_objects_per_gang:.2f} objects per gang for the scheduler, not in these")
    print(f"  {result.writes_after_restart} writes after a restart")
    print(f"  {_cpu(result)}, peak {result.peak_mb:.0f} MB", flush=True)


def _cpu(result: Result) -> str:
    return f"{result.cpu_ms_per_pod:.2f} ms operator CPU per pod"


def measured(start: Start, replicas: int, pods: int) -> Result:
    with start() as server:
        return uvloop.run(measure(server, replicas, pods))


def replayed(start: Start, result: Result, replicas: int, pods: int) -> Replay:
    with start() as server:
        return uvloop.run(replay(server, result, replicas, pods))


def _in_own_process(work: Callable[..., T], *arguments: object) -> T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), configure, ("error", "text")) as one:
        return one.submit(work, *arguments).result()


def run(shape: str, where: str, start: Start) -> list[Budget]:
    replicas, pods = _parsed(shape)
    results: list[Result] = []
    bare: list[Replay] = []
    for turn in range(ROUNDS):
        results.append(_in_own_process(measured, start, replicas, pods))
        bare.append(_in_own_process(replayed, start, results[-1], replicas, pods))
        if not turn:
            report(shape, where, results[0])
        print(f"  round {turn + 1}: {results[-1].seconds:.1f} s, {_cpu(results[-1])}")
        print(f"           replay {bare[-1].seconds:.1f} s, {bare[-1].cpu_ms_per_pod:.2f} ms", flush=True)
    time_ratio = min(r.seconds for r in results) / min(b.seconds for b in bare)
    cpu_ratio = min(r.cpu_ms_per_pod for r in results) / min(b.cpu_ms_per_pod for b in bare)
    return [
        Budget(f"{shape} writes per pod", max(r.writes_per_pod for r in results), 6.0),
        Budget(f"{shape} writes per gang for its flow", max(r.flow_writes_per_gang for r in results), 6.0),
        Budget(f"{shape} reads after the start", max(r.reads for r in results), 0),
        Budget(f"{shape} CPU beside a bare replay", cpu_ratio, 3.0),
        Budget(f"{shape} time beside a bare replay", time_ratio, 1.5),
        Budget(f"{shape} writes after a restart", max(r.writes_after_restart for r in results), 0),
    ]


def grow(where: str, start: Start) -> list[Budget]:
    costs: list[float] = []
    for shape in GROWTH:
        results: list[Result] = []
        for _ in range(ROUNDS):
            results.append(_in_own_process(measured, start, *_parsed(shape)))
            print(f"{shape} on the {where} API server: {_cpu(results[-1])}", flush=True)
        costs.append(min(r.cpu_ms_per_pod for r in results))
    return [Budget("CPU per pod, the highest to the lowest", max(costs) / min(costs), 1.2)]


def _parsed(shape: str) -> tuple[int, int]:
    replicas, pods = (int(n) for n in shape.split("x"))
    return replicas, pods


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--real", action="store_true", help="on a kube-apiserver of the testbed")
    parser.add_argument("--shape", action="append", help="replicas x pods, such as 500x2; may be repeated")
    parser.add_argument("--growth", action="store_true", help="250 to 2000 replicas: CPU per pod stays flat")
    options = parser.parse_args()
    configure("error", "text")
    start, where = (real, "real") if options.real else (embedded, "embedded")
    try:
        compare(options, where, start)
    except NotBuiltError as missing:
        print(f"skipped: {missing}")


def compare(options: argparse.Namespace, where: str, start: Start) -> None:
    if options.growth:
        finish(grow(where, start))
    finish([budget for shape in options.shape or SHAPES for budget in run(shape, where, start)])


if __name__ == "__main__":
    main()
