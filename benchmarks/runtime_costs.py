"""Measures the runtime per object: a create, a patch, a watch event, a reconcile that changes nothing; and memory.

The embedded API server runs in a process of its own, so only the CPU of the client is measured.
"""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TypeVar

import aiohttp
import msgspec

from benchmarks.decode import pod_event
from benchmarks.measure import Budget, finish, report
from benchmarks.servers import embedded
from grove.api.pod_view import Pod
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.objects import APIResource, ObjectKey, key_of
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.client.transport import Request, Response
from grove.runtime.controller.concurrently import for_each, raise_failures
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger, itself

PODS = APIResource("", "v1", "pods", "Pod")
COUNT = 10_000
WRITES = 2_000
ROUNDS = 3

T = TypeVar("T")

decode = msgspec.json.Decoder(Pod).decode
END = (
    b'{"type":"BOOKMARK","object":{"metadata":'
    b'{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


async def main() -> None:
    lines = [pod_event(i) for i in range(COUNT)]
    bodies = [msgspec.json.encode(msgspec.json.decode(line)["object"]) for line in lines]
    recorded = _Recorded(lines)
    events = await _best(lambda: _informer(recorded), COUNT)
    plain = await _best(lambda: _decode_all(bodies), COUNT)
    looks, requests = await _looks(recorded)
    with embedded() as server:
        ours, bare, patches = await _writes(server.bench, bodies[0])
    memory = await _memory(recorded)
    report(
        "CPU of the runtime",
        {
            "a watch event: decoded, cached, enqueued": events,
            "decoding the same pod alone": plain,
            "a reconcile that changes nothing": looks,
            "a create": ours,
            "a create with bare aiohttp": bare,
            "a patch": patches,
        },
    )
    finish(
        [
            Budget("a watch event to its bare decoding", events / plain, 5.0),
            Budget("a create to one with bare aiohttp", ours / bare, 1.6),
            Budget("KB of memory per pod in the cache", memory / 1024, 5.0),
            Budget(f"requests of {COUNT} reconciles that change nothing", requests, 0),
        ]
    )


async def _best(work: Callable[[], Awaitable[object]], count: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time_ns()
        await work()
        best = min(best, (time.process_time_ns() - start) / 1000 / count)
    return best


async def _decode_all(bodies: list[bytes]) -> list[Pod]:
    return [decode(body) for body in bodies]


class _Recorded:
    """A transport that streams recorded events in chunks as large as aiohttp's, and answers nothing else."""

    def __init__(self, lines: list[bytes]) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self.requests = 0
        whole = b"".join(line.rstrip() + b"\n" for line in lines) + END
        self._pieces = [whole[i : i + 65536] for i in range(0, len(whole), 65536)]

    async def send(self, request: Request) -> Response:
        self.requests += 1
        raise NotImplementedError

    async def stream(self, request: Request) -> "_Recorded":
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


def _owner(pod: Pod) -> list[str]:
    return [o.uid for o in pod.metadata.owner_references]


async def _informer(transport: _Recorded) -> tuple[Informer[Pod], Controller[ObjectKey]]:
    """Reads all events into a cache with an index, and enqueues a key for each."""
    informer = Informer(Client(transport), PODS, decode, indexes={"owner": _owner})

    async def nothing(key: ObjectKey) -> None:
        pod = informer.cache.get(key)
        assert pod is not None
        if pod.status.phase == "Lost":
            await informer.objects.delete(key)

    controller = Controller("bench", nothing, [Trigger(informer, itself, why="a benchmark")])
    reading = asyncio.create_task(informer.run())
    await informer.synced.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert len(informer.cache) == COUNT
    return informer, controller


async def _looks(transport: _Recorded) -> tuple[float, int]:
    informer, controller = await _informer(transport)
    working = asyncio.create_task(controller.run())

    async def all_of_them() -> None:
        for pod in informer.cache:
            controller.queue.add(key_of(pod))
        while not controller.queue.idle:  # noqa: ASYNC110 (workers never wait here, so this yields to them once)
            await asyncio.sleep(0)

    found = await _best(all_of_them, COUNT)
    controller.stop()
    await working
    return found, transport.requests


async def _memory(transport: _Recorded) -> float:
    informer = Informer(Client(transport), PODS, decode, indexes={"owner": _owner})
    gc.collect()
    tracemalloc.start()
    reading = asyncio.create_task(informer.run())
    await informer.synced.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(informer.cache)


async def _writes(cluster: ClusterConnection, example: bytes) -> tuple[float, float, float]:
    transport = HttpTransport(cluster)
    pods = ResourceClient(Client(transport), PODS, decode)
    numbers = iter(range(1_000_000))
    pod = msgspec.json.decode(example)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default"}, "spec": pod["spec"]}

    def bodies() -> list[tuple[str, bytes]]:
        names = [f"pod-{next(numbers)}" for _ in range(WRITES)]
        return [
            (n, msgspec.json.encode({**pod, "metadata": {"name": n, "namespace": "default"}})) for n in names
        ]

    made: list[str] = []

    async def create(item: tuple[str, bytes]) -> None:
        await pods.create("default", item[1])
        made.append(item[0])

    async def patch(name: str) -> None:
        await pods.merge_patch(ObjectKey("default", name), b'{"metadata":{"labels":{"a":"b"}}}')

    session = aiohttp.ClientSession()
    url, headers = f"{cluster.server}/api/v1/namespaces/default/pods", {"Content-Type": "application/json"}

    async def bare(item: tuple[str, bytes]) -> None:
        async with session.post(url, data=item[1], headers=headers) as answer:
            decode(await answer.read())

    ours = plain = patched = float("inf")
    for _ in range(ROUNDS):
        ours = min(ours, await _timed(create, bodies()))
        plain = min(plain, await _timed(bare, bodies()))
        patched = min(patched, await _timed(patch, made[-WRITES:]))
    await session.close()
    await transport.close()
    return ours, plain, patched


async def _timed(act: Callable[[T], Awaitable[None]], items: list[T]) -> float:
    start = time.process_time_ns()
    raise_failures(await for_each(items, act), "writes")
    return (time.process_time_ns() - start) / 1000 / len(items)


if __name__ == "__main__":
    asyncio.run(main())
