"""The runtime against a real API server that misbehaves: caches end equal to the server's, writes happen once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest
from grove_sandbox.kubelet.objects import PODS, KubeletPod
from grove_testbed.accounting import RequestCounter
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started
from grove_testbed.proxy import FaultProxy

from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import AlreadyExists, ApiError, Conflict, NotFound, TransportError
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import find_cluster
from grove.runtime.client.objects import ObjectKey
from grove.runtime.controller.concurrently import for_each

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

PATIENCE = 60.0


@pytest.fixture(scope="module")
def plain_cluster(k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Just an API server: pods stay as they are created."""
    yield from started(request, k8s, controllers=False)


@pytest.fixture
async def proxy(plain_cluster: Cluster) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(plain_cluster) as proxy:
        yield proxy


@asynccontextmanager
async def pods_through(kubeconfig: str) -> AsyncIterator[Informer[KubeletPod]]:
    """A running, synced informer of all pods."""
    client = Client(HttpTransport(find_cluster(kubeconfig)), field_manager="test")
    informer: Informer[KubeletPod] = Informer(client, PODS, msgspec.json.Decoder(KubeletPod).decode)
    running = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await informer.synced.wait()
        yield informer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.close()


def manifest(name: str) -> bytes:
    spec = {"containers": [{"name": "main", "image": "app:1"}]}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def patch(value: int) -> bytes:
    return msgspec.json.encode({"metadata": {"labels": {"value": str(value)}}})


def versions(pods: Informer[KubeletPod]) -> dict[str, str]:
    return {pod.uid: pod.metadata.resource_version or "" for pod in pods.cache}


async def agree(pods: Informer[KubeletPod], cluster: Cluster) -> None:
    """Waits until the cache holds just what the server does."""
    async with pods_through(str(cluster.kubeconfig())) as fresh, asyncio.timeout(PATIENCE):
        while True:
            if versions(pods) == versions(fresh):
                return
            await asyncio.sleep(0.1)


async def test_a_create_whose_answer_is_lost_happens_once(proxy: FaultProxy, plain_cluster: Cluster) -> None:
    async with pods_through(str(proxy.kubeconfig())) as pods:
        counter = RequestCounter(plain_cluster)
        proxy.lose_answer(method="POST", resource="pods")
        with pytest.raises(AlreadyExists):
            await pods.objects.create("default", manifest("once"))
        assert proxy.served == 1
        assert counter.count(client="admin", verb="create", resource="pods") == 2
        await agree(pods, plain_cluster)
        assert [pod.key.name for pod in pods.cache].count("once") == 1


async def test_a_patch_whose_answer_is_lost_is_sent_again(proxy: FaultProxy, plain_cluster: Cluster) -> None:
    async with pods_through(str(proxy.kubeconfig())) as pods:
        await pods.objects.create("default", manifest("again"))
        proxy.lose_answer(method="PATCH", resource="pods")
        patched = await pods.objects.merge_patch(ObjectKey("default", "again"), patch(5))
        assert patched.metadata.labels["value"] == "5"


async def test_too_many_requests_and_server_errors_are_waited_out(proxy: FaultProxy) -> None:
    async with pods_through(str(proxy.kubeconfig())) as pods:
        proxy.answer(429, times=2, retry_after=1, method="POST")
        proxy.answer(500, times=1, method="PATCH")
        proxy.delay(0.5, method="PATCH")
        await pods.objects.create("default", manifest("patient"))
        await pods.objects.merge_patch(ObjectKey("default", "patient"), patch(1))
        assert proxy.served == 4


async def test_a_conflict_is_for_the_caller_to_resolve(proxy: FaultProxy) -> None:
    async with pods_through(str(proxy.kubeconfig())) as pods:
        await pods.objects.create("default", manifest("disputed"))
        proxy.answer(409, method="PATCH")
        with pytest.raises(Conflict):
            await pods.objects.merge_patch(ObjectKey("default", "disputed"), patch(1))
        assert proxy.served == 1
        await pods.objects.merge_patch(ObjectKey("default", "disputed"), patch(2))


async def test_a_cut_watch_is_taken_up_again_without_a_list(
    proxy: FaultProxy, plain_cluster: Cluster
) -> None:
    async with pods_through(str(proxy.kubeconfig())) as pods:
        counter = RequestCounter(plain_cluster)
        proxy.cut()
        plain_cluster.kubectl("run", "unseen", "--image=app:1")
        await agree(pods, plain_cluster)
        assert counter.count(client="admin", verb="list", resource="pods") == 0


async def test_a_restarted_api_server_is_found_again(proxy: FaultProxy, plain_cluster: Cluster) -> None:
    async with pods_through(str(proxy.kubeconfig())) as pods:
        plain_cluster.kill("kube-apiserver")
        plain_cluster.revive("kube-apiserver")
        await asyncio.to_thread(plain_cluster.wait_until_ready)
        plain_cluster.kubectl("run", "afterwards", "--image=app:1")
        await agree(pods, plain_cluster)


async def test_five_thousand_pods_churned_for_a_minute_under_faults(
    proxy: FaultProxy, plain_cluster: Cluster
) -> None:
    """Watch cuts, lost answers, compaction, API server and etcd killed: no event is lost, no object is made twice."""
    count, seconds, seed = 5000, 60.0, 7
    chance = random.Random(seed)
    loop = asyncio.get_running_loop()
    async with pods_through(str(proxy.kubeconfig())) as pods:
        known = versions(pods)

        def follow(change: Change[KubeletPod]) -> None:
            """What a controller would know that listens to changes alone."""
            if change.new is None:
                del known[change.object.uid]
            else:
                known[change.new.uid] = change.new.metadata.resource_version or ""

        pods.cache.subscribe(follow)
        names = [f"churn-{index}" for index in range(count)]

        async def create(name: str) -> None:
            with suppress(AlreadyExists):  # its own, whose answer was lost
                await pods.objects.create("default", manifest(name))

        async def change(index: int) -> None:
            key = ObjectKey("default", names[index % count])
            try:
                match chance.randrange(4):
                    case 0:
                        await pods.objects.delete(key)
                    case 1:
                        await create(key.name)
                    case _:
                        await pods.objects.merge_patch(key, patch(index))
            except NotFound:
                pass  # deleted by another turn of this loop

        async def misfortune() -> None:
            await asyncio.sleep(seconds / 6)
            proxy.cut()
            proxy.lose_answer(times=20)
            await asyncio.sleep(seconds / 6)
            await asyncio.to_thread(plain_cluster.compact)
            proxy.cut()
            await asyncio.sleep(seconds / 6)
            plain_cluster.kill("kube-apiserver")
            await asyncio.sleep(2)
            plain_cluster.revive("kube-apiserver")
            await asyncio.sleep(seconds / 6)
            proxy.answer(429, times=50, retry_after=1)
            proxy.cut()
            plain_cluster.kill("etcd")
            await asyncio.sleep(2)
            plain_cluster.revive("etcd")

        created = await for_each(names, create)
        assert [outcome.error for outcome in created if outcome.error] == []
        assert len(pods.cache) >= count
        trouble = asyncio.create_task(misfortune())
        end = loop.time() + seconds
        turn = 0
        while loop.time() < end:
            outcomes = await for_each(range(turn, turn + 500), change)
            turn += 500
            # While the server is down some writes must fail, each with an error that says so.
            for outcome in outcomes:
                assert isinstance(outcome.error, ApiError | TransportError | None), outcome.error
        await trouble
        await asyncio.to_thread(plain_cluster.wait_until_ready)
        await agree(pods, plain_cluster)
        assert known == versions(pods)
