"""StatusWriter gather changes; what somebody waits for does not."""

import asyncio
from typing import Any

import orjson
import pytest

from grove.api import ClusterTopologyBindingStatus, PodClique, PodCliqueStatus
from grove.api.serialization import codec
from grove.api.serialization.model import Model, replace
from grove.controllers.shared.status_writer import STATUS_BATCH_WINDOW_SECONDS, StatusWriter, write_status
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.transport import Request, Response, Stream

pytestmark = pytest.mark.looptime

CLIQUE = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodClique",
    "metadata": {"namespace": "default", "name": "a", "uid": "u", "resourceVersion": "1"},
    "spec": {"roleName": "a", "replicas": 9, "podSpec": {"containers": []}},
}


class Scene:
    """One clique, and how many ready pods each report of it said that reached the server."""

    def __init__(self) -> None:
        self.reported: list[int] = []
        self.patches: list[Any] = []
        self._clique = _decode(orjson.dumps(CLIQUE))
        self._informer = Informer(Client(self), PodClique.resource, _decode)
        self._writer = StatusWriter()
        self.pending_during_write: list[bool] = []

    @property
    def is_pending(self) -> bool:
        return self._writer.is_pending("u")

    async def send(self, request: Request) -> Response:
        self.pending_during_write.append(self.is_pending)
        self.patches.append(orjson.loads(request.body))
        self.reported.append(self.patches[-1]["status"].get("readyReplicas", 0))
        return Response(200, {"content-type": "application/json"}, orjson.dumps(CLIQUE))

    async def stream(self, request: Request) -> Stream:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    async def ready(self, count: int, **options: Any) -> float | None:
        """A reconcile that finds so many ready pods; returns when it wants to look again."""
        status = PodCliqueStatus(ready_replicas=count)
        clique = self._clique
        write = await self._writer.write(self._informer, clique, clique.status, lambda: status, **options)
        if write.written is not None:
            self._clique = replace(clique, status=write.written)
        return write.requeue_after

    async def write(self, old: Model | None, new: Model, *, guarded: bool = False) -> Any:
        """What is sent to the server; None if nothing is."""
        before = len(self.patches)
        await write_status(self._informer, self._clique, old, new, guarded=guarded)
        return self.patches[-1] if len(self.patches) > before else None


def _decode(body: bytes) -> PodClique:
    return codec.decode(body, PodClique)


async def test_changes_in_quick_succession_are_one_report_of_the_last() -> None:
    scene = Scene()
    assert await scene.ready(1) == STATUS_BATCH_WINDOW_SECONDS
    for count in range(2, 9):
        assert await scene.ready(count) == pytest.approx(STATUS_BATCH_WINDOW_SECONDS)
    assert scene.reported == []
    await asyncio.sleep(STATUS_BATCH_WINDOW_SECONDS)
    assert await scene.ready(9) is None
    assert scene.reported == [9]


async def test_a_report_is_not_put_off_by_further_changes() -> None:
    scene = Scene()
    await scene.ready(1)
    for count in range(2, 12):
        await asyncio.sleep(STATUS_BATCH_WINDOW_SECONDS / 4)
        await scene.ready(count)
    assert scene.reported == [5, 10]


async def test_what_somebody_waits_for_is_written_at_once_and_covers_what_was_gathered() -> None:
    scene = Scene()
    await scene.ready(1)
    assert await scene.ready(2, immediately=True) is None
    assert scene.reported == [2]
    await scene.ready(2)
    await asyncio.sleep(STATUS_BATCH_WINDOW_SECONDS)
    assert await scene.ready(2) is None
    assert scene.reported == [2]


async def test_a_state_that_returned_to_what_was_reported_is_not_reported() -> None:
    scene = Scene()
    await scene.ready(3, immediately=True)
    await scene.ready(2)
    await asyncio.sleep(STATUS_BATCH_WINDOW_SECONDS)
    assert await scene.ready(3) is None
    assert scene.reported == [3]


async def test_the_wait_can_be_longer_and_is_shortened_when_there_is_more_to_say() -> None:
    scene = Scene()
    assert await scene.ready(1, window_seconds=5.0) == 5.0
    await asyncio.sleep(1.0)
    assert await scene.ready(2, window_seconds=5.0) == pytest.approx(4.0)
    assert await scene.ready(3) == STATUS_BATCH_WINDOW_SECONDS
    assert scene.reported == []


async def test_what_changes_while_a_report_is_written_is_not_told_by_that_report() -> None:
    scene = Scene()
    await scene.ready(1)
    assert scene.is_pending
    await scene.ready(2, immediately=True)
    await scene.ready(3)
    assert scene.is_pending
    await asyncio.sleep(STATUS_BATCH_WINDOW_SECONDS)
    await scene.ready(4)
    assert scene.reported == [2, 4]
    assert scene.pending_during_write == [False, False]


async def test_a_first_status_is_written_as_it_is_and_a_later_one_as_the_difference() -> None:
    scene = Scene()
    first = PodCliqueStatus(replicas=4, ready_replicas=3)
    said = codec.to_builtins(first)
    assert said.items() >= {"replicas": 4, "readyReplicas": 3, "updatedReplicas": 0}.items()
    assert await scene.write(None, first) == {"status": said}
    version = {"resourceVersion": "1"}
    assert await scene.write(None, first, guarded=True) == {"status": said, "metadata": version}
    later = PodCliqueStatus(ready_replicas=2)
    assert await scene.write(first, later) == {"status": {"replicas": None, "readyReplicas": 2}}


async def test_a_status_that_says_nothing_new_is_not_written() -> None:
    scene = Scene()
    assert await scene.write(None, ClusterTopologyBindingStatus()) is None
    assert await scene.write(PodCliqueStatus(replicas=1), PodCliqueStatus(replicas=1)) is None
