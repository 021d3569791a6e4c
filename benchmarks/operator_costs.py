"""What the operator costs: requests by verb and resource, CPU and memory, and time beside a bare replay of its writes.

    python -m benchmarks.operator_costs [--real] [--shape 500x2] ...

The API server runs in a process of its own: the embedded one, or with --real a kube-apiserver of the testbed. Nobody
schedules pods, so a run ends when the last gate is open. Then the operator is started anew, and must write nothing.
At last the very same writes are sent to a fresh server by a loop without any logic, and the two times are compared.
Each round is a process of its own: an operator does not begin with the memory of three others.

CPU is given as it would be if nobody else used the core; see `benchmarks.pace`.

The operator hands its gangs to kube-scheduler. Objects made for a scheduler are counted apart: how many there are is
the scheduler's choice, and a budget is for what Grove adds.
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
from benchmarks.pace import Pace
from benchmarks.servers import WRITES, Recorder, Server, embedded, real
from grove.api.config import OperatorConfiguration
from grove.api.serialization.crds import all_crds
from grove.controllers.podcliqueset.running_reasons import (
    EXPLAIN_INTERVAL_SECONDS,
    EXPLAIN_INTERVAL_SECONDS_PER_REPLICA,
)
from grove.controllers.shared.status_writer import STARTUP_BATCH_WINDOW_SECONDS
from grove.operator.assembly import Operator
from grove.operator.process import calm_the_collector
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
# What disturbs only adds, so each is measured so often and its best counts.
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
    pace: Pace
    peak_mb: float
    writes_after_restart: int

    @property
    def cpu_ms_per_pod(self) -> float:
        """As if nobody else had used its core."""
        return self.pace.undisturbed * 1000 / self.pods

    @property
    def writes_per_pod(self) -> float:
        """Without the scheduler's own objects."""
        return self._written(but=OF_SCHEDULERS) / self.pods

    @property
    def scheduler_objects_per_gang(self) -> float:
        return self._written(of=OF_SCHEDULERS) / self.gangs

    @property
    def flow_writes_per_gang(self) -> float:
        """What gangs cost: all writes of PodGangs, their statuses too. A gate is opened by a write of its pod."""
        return self._written(of=("podgangs", "podgangs/status")) / self.gangs

    @property
    def reads(self) -> int:
        """Of objects. Whether kinds that are not served have come meanwhile is asked once a minute besides."""
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
    """Brings a set up on a fresh server: from its creation until every gate is open. Then starts anew."""
    calm_the_collector()
    recorder, pace = server.recorder(), Pace()
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
        async with pace.measured():
            await _send(setup, "POST", SETS, pcs(replicas, pods))
            await done.wait()
            seconds = time.monotonic() - started
            await _at_rest(operator, recorder)
        # Why the set does not run yet is looked at less often. Another operator would look at once, and write it.
        await _at_rest(
            operator,
            recorder,
            EXPLAIN_INTERVAL_SECONDS
            + EXPLAIN_INTERVAL_SECONDS_PER_REPLICA * replicas
            + STARTUP_BATCH_WINDOW_SECONDS,
        )
        stop.set()
        await running
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts, writes = recorder.counts(), recorder.writes
    again = await _start_anew(recorder)
    await recorder.close()
    await setup.close()
    return Result(replicas, replicas * pods, counts, writes, seconds, pace, peak, again)


async def _start_anew(recorder: Recorder) -> int:
    """How many writes another operator makes on what it finds; dry runs write nothing."""
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
    operator: Operator, recorder: Recorder, seconds: float = 2 * STARTUP_BATCH_WINDOW_SECONDS
) -> None:
    """Until no key waits and nothing was asked or written for so long; without a word, longer than a report waits."""
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
    """The same writes, each object's in order, by a loop without logic, which watches nothing and decodes nothing."""
    pace = Pace()
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

    async with pace.measured():
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(work())
        seconds = time.monotonic() - started
    await client.close()
    return Replay(seconds, pace.undisturbed * 1000 / result.pods)


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
    """Which object a write is about; pods are created with their name in the body."""
    path = request.path
    if request.method == "POST":
        return f"{path}/{orjson.loads(request.body)['metadata'].get('name')}"
    return path.removesuffix("/status")


def _unguarded(request: Request) -> Request:
    """Without the versions and owners of the server that it was sent to first."""
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
    counted, pace = result.pace.cpu * 1000 / result.pods, result.pace.undisturbed / result.pace.cpu
    return f"{result.cpu_ms_per_pod:.2f} ms operator CPU per pod (counted: {counted:.2f} at {pace:.0%} of the pace)"


def measured(start: Start, replicas: int, pods: int) -> Result:
    with start() as server:
        return uvloop.run(measure(server, replicas, pods))


def replayed(start: Start, result: Result, replicas: int, pods: int) -> Replay:
    with start() as server:
        return uvloop.run(replay(server, result, replicas, pods))


def _in_a_process_of_its_own(work: Callable[..., T], *arguments: object) -> T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), configure, ("error", "text")) as one:
        return one.submit(work, *arguments).result()


def run(shape: str, where: str, start: Start) -> list[Budget]:
    replicas, pods = _parsed(shape)
    results: list[Result] = []
    bare: list[Replay] = []
    for turn in range(ROUNDS):
        results.append(_in_a_process_of_its_own(measured, start, replicas, pods))
        bare.append(_in_a_process_of_its_own(replayed, start, results[-1], replicas, pods))
        if not turn:
            report(shape, where, results[0])
        print(f"  round {turn + 1}: {results[-1].seconds:.1f} s, {_cpu(results[-1])}")
        print(f"           replay {bare[-1].seconds:.1f} s, {bare[-1].cpu_ms_per_pod:.2f} ms", flush=True)
    ratio = min(r.seconds for r in results) / min(b.seconds for b in bare)
    return [
        Budget(f"{shape} writes per pod", max(r.writes_per_pod for r in results), 6.0),
        Budget(f"{shape} writes per gang for its flow", max(r.flow_writes_per_gang for r in results), 6.0),
        Budget(f"{shape} reads after the start", max(r.reads for r in results), 0),
        Budget(f"{shape} operator CPU per pod, ms", min(r.cpu_ms_per_pod for r in results), 2.0),
        Budget(f"{shape} time beside a bare replay", ratio, 1.5),
        Budget(f"{shape} writes after a restart", max(r.writes_after_restart for r in results), 0),
    ]


def grow(where: str, start: Start) -> list[Budget]:
    costs: list[float] = []
    for shape in GROWTH:
        results: list[Result] = []
        for _ in range(ROUNDS):
            results.append(_in_a_process_of_its_own(measured, start, *_parsed(shape)))
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
