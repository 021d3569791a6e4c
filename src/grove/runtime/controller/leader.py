"""Leader election on a Lease: of several replicas, one works.

Clocks of different machines are never compared. A lease of somebody else has expired when it has not changed for its
duration by our own clock. Our own lease counts from the moment before its renewal was sent. If no renewal succeeded
within `renew_within`, the work is stopped. It then has the rest of `duration` to end before another replica may begin.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import structlog

from grove.runtime.client.client import Client
from grove.runtime.client.errors import AlreadyExists, Conflict, NotFound, RequestError
from grove.runtime.client.objects import APIResource, ObjectKey, PartialMetadata
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.client.transport import Transport
from grove.runtime.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

LEASES = APIResource("coordination.k8s.io", "v1", "leases", "Lease")


class LeadershipLostError(Exception):
    """The lease was not renewed in time, or another replica holds it. The work was stopped; restart the process."""


class Elector:
    """`identity` must be unique to this process: a restarted process needs another one.

    It has a client of its own, so that a renewal never waits behind a thousand creates of the controllers.
    """

    def __init__(
        self,
        transport: Transport,
        lease: ObjectKey,
        identity: str,
        *,
        now: Callable[[], datetime],
        duration: float = 15.0,
        renew_within: float = 10.0,
        retry_every: float = 2.0,
        metrics: Metrics | None = None,
    ) -> None:
        if not retry_every < renew_within < duration:
            raise ValueError("leader election needs retry_every < renew_within < duration")
        client = Client(transport, attempts=1, timeout=renew_within / 2, metrics=metrics)
        self._leases = ResourceClient(client, LEASES, _lease.decode)
        self._key = lease
        self._identity = identity
        self._now = now
        self._duration = duration
        self._renew_within = renew_within
        self._retry_every = retry_every
        self._known: _Lease | None = None  # the version to write on; None: read the lease first
        self._renewed = float("-inf")
        self._other_version: str | None = ""
        self._other_changed = 0.0

    async def lead(self, work: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
        """Waits for the lease, runs `work` to its end, then releases the lease.

        If `stop` is set before the lease is acquired, returns without working. After that the work itself must react to
        `stop`. Raises `LeadershipLostError` if the lease was lost, after the work was cancelled and has ended.
        """
        log.info("waiting for the lease", lease=str(self._key), identity=self._identity)
        while await self._attempt() != "ours":
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._retry_every)
                return
        log.info("leading", lease=str(self._key), identity=self._identity)
        working = asyncio.ensure_future(work())
        lost = False
        try:
            lost = not await self._renew_while(working)
        finally:
            if not working.done():
                await self._cancel(working)
            if not lost:
                await self._release()
        if lost:
            raise LeadershipLostError(
                f"lease {self._key} is lost: not renewed within {self._renew_within:g} s"
            )
        working.result()

    async def _renew_while(self, working: asyncio.Future[None]) -> bool:
        """Renews the lease while the work runs. Returns False when the lease is lost."""
        clock = asyncio.get_running_loop().time
        while True:
            deadline = self._renewed + self._renew_within
            await asyncio.wait([working], timeout=min(self._retry_every, deadline - clock()))
            if working.done():
                return True
            outcome: _Outcome = "unknown"
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    outcome = await self._attempt()
            if outcome == "theirs" or (outcome == "unknown" and clock() >= deadline):
                return False

    async def _cancel(self, working: asyncio.Future[None]) -> None:
        log.warning("stopping the controllers", lease=str(self._key), identity=self._identity)
        working.cancel()
        left = self._renewed + self._duration - asyncio.get_running_loop().time()
        _, late = await asyncio.wait([working], timeout=max(0.0, left))
        if late:
            log.critical("controllers did not stop before the lease expired", lease=str(self._key))

    async def _attempt(self) -> "_Outcome":
        """One attempt to acquire or renew the lease."""
        started = asyncio.get_running_loop().time()
        try:
            lease = self._known or await self._read()
            self._known = None
            if lease is None:
                lease = await self._leases.create(self._key.namespace, self._new())
            elif self._may_take(lease):
                lease = await self._write(lease, self._identity)
            else:
                return "theirs"
        except (Conflict, AlreadyExists):  # another replica wrote it first: read it again
            return "unknown"
        except RequestError as e:
            log.warning("cannot acquire or renew the lease, retrying", lease=str(self._key), error=str(e))
            return "unknown"
        self._known = lease
        self._renewed = started
        return "ours"

    def _may_take(self, lease: "_Lease") -> bool:
        if lease.spec.holder_identity in ("", None, self._identity):
            return True
        now = asyncio.get_running_loop().time()
        if lease.metadata.resource_version != self._other_version:
            self._other_version = lease.metadata.resource_version
            self._other_changed = now
        return now - self._other_changed >= (lease.spec.lease_duration_seconds or 0)

    async def _release(self) -> None:
        try:
            lease = self._known or await self._read()
            if lease is not None and lease.spec.holder_identity == self._identity:
                await self._write(lease, "")
        except RequestError as e:
            log.warning("cannot release the lease, it will expire", lease=str(self._key), error=str(e))
        self._known = None

    async def _read(self) -> "_Lease | None":
        try:
            return await self._leases.get(self._key)
        except NotFound:
            return None

    async def _write(self, lease: "_Lease", holder: str) -> "_Lease":
        spec: dict[str, Any] = {"holderIdentity": holder, "renewTime": self._time()}
        if holder:  # also in a renewal: somebody may have edited it, and others wait for as long as it says
            spec["leaseDurationSeconds"] = int(self._duration)
        if holder and lease.spec.holder_identity != holder:
            spec["acquireTime"] = self._time()
            spec["leaseTransitions"] = (lease.spec.lease_transitions or 0) + 1
        patch = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        return await self._leases.merge_patch(self._key, msgspec.json.encode(patch))

    def _new(self) -> bytes:
        namespace, name = self._key
        time = self._time()
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": time,
            "renewTime": time,
            "leaseTransitions": 0,
        }
        meta = {"name": name, "namespace": namespace}
        return msgspec.json.encode(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
        )

    def _time(self) -> str:
        return self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_Outcome = Literal["ours", "theirs", "unknown"]


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: PartialMetadata
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


_lease = msgspec.json.Decoder(_Lease)
