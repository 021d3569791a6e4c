"""A changed queue reaches the scheduler's objects; without a change the operator writes nothing."""

import pytest

from grove_sandbox.flow.backend.queries import SETS, clique, specs
from grove_sandbox.flow.backend.setup import BackendSetup


class SteadyStateTests(BackendSetup):
    async def test_a_changed_queue_reaches_the_scheduler(self) -> None:
        if self.queue_tag is None:
            pytest.skip("queue_tag is None: its objects name no queue")
        where, key = self.queue_tag
        first, second = self.queues
        async with self.operating() as grove:
            wanted = self.set_of(clique("worker", 2))
            wanted["metadata"][where] = {key: first}
            await grove.apply(wanted)
            await grove.settle()
            before = await self.objects(grove)
            assert first in str(specs(before))
            await grove.call("PATCH", f"{SETS}/demo", {"metadata": {where: {key: second}}})
            await grove.settle()
            after = await self.objects(grove)
            assert after.keys() == before.keys()
            assert second in str(specs(after))
            assert first not in str(specs(after))

    async def test_a_second_reconcile_writes_nothing(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = len(grove.writes)
            await grove.call(
                "PATCH", f"{SETS}/demo", {"metadata": {"annotations": {"grove.io/touched": "yes"}}}
            )
            await grove.settle()
            assert grove.writes[before:] == ["MODIFIED podcliquesets"]

    async def test_a_restarted_operator_writes_nothing(self) -> None:
        async with self.prepared() as grove:
            async with self.operator(grove):
                await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
                await grove.settle()
            before = len(grove.writes)
            async with self.operator(grove):
                await grove.settle()
            assert grove.writes[before:] == []
