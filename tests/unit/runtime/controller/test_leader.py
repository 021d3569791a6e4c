"""Leader election: never two at work, however the server fails."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from grove.runtime.client.errors import TransportError
from grove.runtime.client.objects import ObjectKey
from grove.runtime.client.transport import Request, Response
from grove.runtime.controller.leader import Elector, LeadershipLostError
from tests.unit.runtime.scripted import ScriptedStream, ok, refusal, until

pytestmark = pytest.mark.looptime

KEY = ObjectKey("system", "grove")


class LeaseServer:
    """One Lease with optimistic locking. `down` makes it fail; `applies` whether a failing write still happens."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.down: Exception | Response | None = None
        self.applies = False
        self.silent = False

    async def send(self, request: Request) -> Response:
        if self.silent:
            await asyncio.Event().wait()
        if self.down is not None and not self.applies:
            return self._fail()
        answer = self._answer(request)
        return self._fail() if self.down is not None else answer

    def _fail(self) -> Response:
        if isinstance(self.down, Exception):
            raise self.down
        assert self.down is not None
        return self.down

    def _answer(self, request: Request) -> Response:
        body = msgspec.json.decode(request.body) if request.body else {}
        if request.method == "GET":
            return refusal(404, "NotFound") if self.lease is None else ok(self.lease)
        if request.method == "POST":
            if self.lease is not None:
                return refusal(409, "AlreadyExists")
            self.lease = body
        else:
            assert self.lease is not None
            if body["metadata"]["resourceVersion"] != str(self.version):
                return refusal(409, "Conflict")
            self.lease["spec"].update(body["spec"])
        self.version += 1
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return ok(self.lease)

    async def stream(self, request: Request) -> ScriptedStream:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    @property
    def holder(self) -> str | None:
        return self.lease["spec"]["holderIdentity"] if self.lease else None


class Replica:
    """One process that wants to lead, and notes when it was at work."""

    def __init__(self, server: LeaseServer, name: str) -> None:
        loop = asyncio.get_running_loop()
        start = datetime(2030, 1, 1, tzinfo=UTC)
        self.elector = Elector(server, KEY, name, now=lambda: start + timedelta(seconds=loop.time()))
        self.stop = asyncio.Event()
        self.working = False
        self.stopped_at = 0.0
        self.task = asyncio.create_task(self.elector.lead(self._work, self.stop))

    async def _work(self) -> None:
        self.working = True
        try:
            await self.stop.wait()
        finally:
            self.working = False
            self.stopped_at = asyncio.get_running_loop().time()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


async def test_the_first_replica_leads_and_the_second_waits(server: LeaseServer) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    b = Replica(server, "b")
    await asyncio.sleep(600)
    assert (a.working, b.working, server.holder) == (True, False, "a")
    a.stop.set()
    b.stop.set()
    await asyncio.gather(a.task, b.task)


async def test_a_clean_shutdown_hands_over_before_the_lease_expires(server: LeaseServer) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    b = Replica(server, "b")
    await asyncio.sleep(5)
    a.stop.set()
    await a.task
    assert server.holder == ""
    await asyncio.sleep(3)
    assert b.working
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1
    b.stop.set()
    await b.task


async def test_the_lease_of_a_dead_process_is_taken_over_when_it_expired_and_not_before(
    server: LeaseServer,
) -> None:
    server.lease = {
        "metadata": {"name": "grove", "namespace": "system", "resourceVersion": "0"},
        # Another clock: by the times in the lease it would have expired long ago, or never.
        "spec": {
            "holderIdentity": "dead",
            "leaseDurationSeconds": 15,
            "renewTime": "1999-01-01T00:00:00.000000Z",
        },
    }
    b = Replica(server, "b")
    await asyncio.sleep(14)
    early = b.working
    await asyncio.sleep(4)
    assert (early, b.working) == (False, True)
    b.stop.set()
    await b.task


@pytest.mark.parametrize(
    "failure",
    [refusal(500), refusal(401), refusal(403), TransportError("reset"), "silence"],
    ids=["500", "401", "403", "reset", "silence"],
)
async def test_work_is_stopped_before_a_lease_that_cannot_be_renewed_expires(
    server: LeaseServer, failure: Response | Exception | str
) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    await asyncio.sleep(60)
    last_renewal = asyncio.get_running_loop().time()
    if isinstance(failure, str):
        server.silent = True
    else:
        server.down = failure
    with pytest.raises(LeadershipLostError):
        await a.task
    assert not a.working
    assert a.stopped_at < last_renewal + 15
    assert a.stopped_at > last_renewal + 5


async def test_a_short_failure_of_the_server_does_not_cost_the_lease(server: LeaseServer) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    for applies in (False, True):
        server.down, server.applies = TransportError("reset"), applies
        await asyncio.sleep(5)
        server.down = None
        await asyncio.sleep(30)
        assert a.working
    a.stop.set()
    await a.task
    assert server.holder == ""


async def test_a_leader_whose_lease_was_taken_stops_at_once(server: LeaseServer) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    assert server.lease is not None
    server.lease["spec"]["holderIdentity"] = "thief"
    server.version += 1
    server.lease["metadata"]["resourceVersion"] = str(server.version)
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(a.task, 5)
    assert not a.working
    assert server.holder == "thief"


async def test_two_replicas_that_start_together_do_not_both_lead(server: LeaseServer) -> None:
    replicas = [Replica(server, str(n)) for n in range(5)]
    await asyncio.sleep(60)
    assert sum(r.working for r in replicas) == 1
    for r in replicas:
        r.stop.set()
    await asyncio.gather(*(r.task for r in replicas))
    assert not any(r.working for r in replicas)


async def test_cancelling_the_process_ends_the_work_and_then_releases_the_lease(
    server: LeaseServer,
) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    a.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await a.task
    assert not a.working
    assert server.holder == ""


async def test_work_that_fails_releases_the_lease_and_raises(server: LeaseServer) -> None:
    async def broken() -> None:
        raise RuntimeError("boom")

    elector = Elector(server, KEY, "a", now=lambda: datetime.now(UTC))
    with pytest.raises(RuntimeError, match="boom"):
        await elector.lead(broken, asyncio.Event())
    assert server.holder == ""


async def test_a_lease_duration_that_somebody_edited_is_put_right_by_the_next_renewal(
    server: LeaseServer,
) -> None:
    a = Replica(server, "a")
    await until(lambda: a.working)
    assert server.lease is not None
    server.lease["spec"]["leaseDurationSeconds"] = 1
    await asyncio.sleep(5)
    assert (a.working, server.lease["spec"]["leaseDurationSeconds"]) == (True, 15)
    a.stop.set()
    await a.task
