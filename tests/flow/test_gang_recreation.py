"""A gang that loses all its pods is recreated as a gang: no new pod is released before all of them exist."""

import asyncio
from typing import Any

import pytest
from grove_sandbox.apiserver import Write

from grove.runtime.client.transport import Request, Response, Stream, Transport
from tests.flow.operating import GroveCluster, Json, cluster_with_crds, operator

pytestmark = pytest.mark.looptime

PODS = "/api/v1/namespaces/default/pods"


def a_set(**cliques: int) -> Json:
    """With a clique for each keyword, of so many pods, all of which the gang needs."""
    pod = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "s"},
        "spec": {
            "replicas": 1,
            "template": {
                "cliques": [
                    {"name": name, "spec": {"roleName": name, "replicas": replicas, "podSpec": pod}}
                    for name, replicas in cliques.items()
                ]
            },
        },
    }


class SlowPodCreation:
    """A connection on which pods of the clique `b` are created five seconds late."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        if request.method == "POST" and request.path == PODS and b'"s-0-b-' in request.body:
            await asyncio.sleep(5.0)
        return await self._inner.send(request)

    async def stream(self, request: Request) -> Stream:
        return await self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Releases:
    """Records how many pods of the new gang existed whenever one of them lost its gate."""

    def __init__(self, old: set[str]) -> None:
        self.existing: list[int] = []
        self._old = old
        self._new: set[str] = set()

    def __call__(self, write: Write) -> None:
        name = write.now["metadata"]["name"]
        if write.resource.plural != "pods" or name in self._old:
            return
        self._new.add(name)
        if write.before is not None and _gates(write.before) and not _gates(write.now):
            self.existing.append(len(self._new))


def _gates(pod: Json) -> Any:
    return pod["spec"].get("schedulingGates")


async def delete_all_pods(grove: GroveCluster, *, seconds_between: float) -> Releases:
    old = sorted(await grove.list("pods"))
    releases = Releases(set(old))
    grove.cluster.on_write(releases)
    for name in old:
        await grove.call("DELETE", f"{PODS}/{name}")
        await asyncio.sleep(seconds_between)
    await grove.settle()
    assert not set(old) & set(await grove.list("pods"))
    return releases


async def test_pods_of_one_clique_that_vanish_together_are_released_together() -> None:
    """Watch events come in batches, so the first deleted pod is not replaced before the others are known to be gone."""
    async with cluster_with_crds() as grove, operator(grove):
        await grove.apply(a_set(a=4))
        await grove.settle()
        releases = await delete_all_pods(grove, seconds_between=0.001)
        assert releases.existing == [4] * 4


async def test_cliques_whose_pods_vanish_together_are_released_together() -> None:
    """The pods of one clique exist long before those of the other, and wait for them."""
    async with cluster_with_crds() as grove, operator(grove, through=SlowPodCreation):
        await grove.apply(a_set(a=2, b=2))
        await grove.settle()
        releases = await delete_all_pods(grove, seconds_between=0.0)
        assert releases.existing == [4] * 4


async def test_a_clique_that_lost_its_pods_alone_waits_for_no_other() -> None:
    async with cluster_with_crds() as grove, operator(grove):
        await grove.apply(a_set(a=2, b=2))
        await grove.settle()
        old = set(await grove.list("pods"))
        releases = Releases(old)
        grove.cluster.on_write(releases)
        for name in sorted(n for n in old if n.startswith("s-0-a-")):
            await grove.call("DELETE", f"{PODS}/{name}")
        await grove.settle()
        assert releases.existing == [2] * 2
