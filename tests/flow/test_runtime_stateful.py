"""Random writes, faults, compactions and restarts: after each step the cache tells no lie about our own writes, and
whenever things are left to settle, cache and server agree."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import looptime
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.faults import Faults, Rates
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import RequestError
from grove.runtime.client.objects import ObjectKey, version_of
from tests.flow.runtime_cluster import CONFIG_MAPS, ConfigMap, body, cached, decode, settled, stored, straight

NAMES = st.sampled_from(["a", "b", "c"])
FAULTS = st.sampled_from(
    [
        Rates(),
        Rates.all(0.2),
        Rates(watch_lag=1.0),
        Rates(watch_replay=0.5, watch_break=0.3),
        Rates(watch_gone=0.5),
        Rates(lost_response=0.5),
        Rates(too_many=0.3, server_error=0.3),
    ]
)


class CacheAndServer(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = looptime.new_event_loop()
        self.server = ApiServer()
        self.faults = Faults(seed=1, lag=20.0)
        self.written: dict[str, ConfigMap] = {}  # by UID: the newest answer to a write of ours
        self.deleted: set[str] = set()  # UIDs whose deletion was delivered
        self._do(self._start())

    @rule(name=NAMES, ours=st.booleans())
    def create(self, name: str, ours: bool) -> None:
        if ours:
            self._do(self._write(self.informer.objects.create("default", body(name))))
        else:
            self._do(self._ignored(straight(self.server).create("default", body(name))))

    @rule(name=NAMES, value=st.integers(), ours=st.booleans())
    def patch(self, name: str, value: int, ours: bool) -> None:
        key, data = ObjectKey("default", name), f'{{"data":{{"x":"{value}"}}}}'.encode()
        if ours:
            self._do(self._write(self.informer.objects.merge_patch(key, data)))
        else:
            self._do(self._ignored(straight(self.server).merge_patch(key, data)))

    @rule(name=NAMES, ours=st.booleans())
    def delete(self, name: str, ours: bool) -> None:
        key = ObjectKey("default", name)
        known = self.informer.cache.get(key)
        if not ours:
            self._do(self._ignored(straight(self.server).delete(key)))
        elif known is not None:
            self._do(self._delete(key, known.metadata.uid or ""))

    @rule(rates=FAULTS)
    def things_go_wrong(self, rates: Rates) -> None:
        self.faults.rates = rates

    @rule()
    def history_is_compacted(self) -> None:
        self.server.compact()

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0, 600.0]))
    def time_passes(self, seconds: float) -> None:
        self._do(asyncio.sleep(seconds))

    @rule()
    def process_restarts(self) -> None:
        self._do(self._stop())
        self._do(self._start())

    @rule()
    def things_settle(self) -> None:
        self._do(self._settle())

    @invariant()
    def our_own_writes_are_seen(self) -> None:
        for uid, obj in self.written.items():
            seen = self.informer.cache.by_uid(uid)
            if seen is None:
                assert self._do(self._uid_on_server(obj)) != uid, "a living object is missing from the cache"
            else:
                assert version_of(seen) >= version_of(obj), "the cache is behind our own write"

    @invariant()
    def what_we_deleted_stays_deleted(self) -> None:
        assert not [uid for uid in self.deleted if self.informer.cache.by_uid(uid)]

    @invariant()
    def a_name_is_one_object(self) -> None:
        names = [o.metadata.name for o in self.informer.cache]
        assert len(names) == len(set(names))

    def teardown(self) -> None:
        self._do(self._settle())
        self._do(self._stop())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def _start(self) -> None:
        client = Client(self.faults.transport(self.server), chance=self.faults.chance)
        self.informer = Informer(client, CONFIG_MAPS, decode, namespace="default")
        self.written.clear()
        self.deleted.clear()
        self.task = asyncio.create_task(self.informer.run())
        await self.informer.synced.wait()

    async def _stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _write(self, write: Coroutine[Any, Any, ConfigMap]) -> None:
        try:
            answer = await write
        except RequestError:
            return
        self.written[answer.metadata.uid or ""] = answer

    async def _delete(self, key: ObjectKey, uid: str) -> None:
        try:
            await self.informer.objects.delete(key, uid=uid)
        except RequestError:
            return
        self.deleted.add(uid)
        self.written.pop(uid, None)

    async def _ignored(self, work: Coroutine[Any, Any, Any]) -> None:
        with suppress(RequestError):
            await work

    async def _uid_on_server(self, obj: ConfigMap) -> str | None:
        try:
            return (
                await straight(self.server).get(ObjectKey("default", obj.metadata.name or ""))
            ).metadata.uid
        except RequestError:
            return None

    async def _settle(self) -> None:
        self.faults.active = False

        async def equal() -> bool:
            return cached(self.informer) == await stored(self.server)

        await settled(equal)
        self.faults.active = True


TestCacheAndServer = CacheAndServer.TestCase
TestCacheAndServer.settings = settings(
    max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
