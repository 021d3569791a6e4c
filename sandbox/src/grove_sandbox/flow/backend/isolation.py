"""A scheduler whose CRDs are missing is reported, and affects no other gang."""

import pytest

from grove_sandbox.cluster import CRDS
from grove_sandbox.flow.backend.queries import clique, condition, gated, schedulers
from grove_sandbox.flow.backend.setup import BackendSetup


class IsolationTests(BackendSetup):
    async def test_a_missing_crd_is_reported_and_installing_it_recovers(self) -> None:
        if not self.definitions:
            pytest.skip("definitions is empty: no CRD can be missing")
        async with self.operating(installed=False) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.apply(self.set_of(clique("worker", 2), name="other", backend="bystander"))
            await grove.settle()
            synced = await condition(grove, "demo-0", "BackendSynced")
            assert (synced["status"], synced["reason"]) == ("False", "SchedulerNotInstalled")
            assert any(k.kind in synced["message"] for k in self.backend().kinds)
            assert (await condition(grove, "other-0", "BackendSynced"))["status"] == "True"
            assert await gated(grove) == {"demo-0": 2}
            for definition in self.definitions:
                await grove.cluster.create(CRDS, definition)
            for path, obj in self.prerequisites:
                await grove.cluster.create(path, obj)
            await grove.settle()
            assert (await condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert await gated(grove) == {}

    async def test_a_gang_whose_scheduler_is_missing_can_move_to_another(self) -> None:
        """The condition tells users to install the scheduler or to choose another one: both must work."""
        if not self.definitions:
            pytest.skip("definitions is empty: no CRD can be missing")
        async with self.operating(installed=False) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 2)))
            await grove.settle()
            assert await gated(grove) == {"demo-0": 3}
            await self.choose(grove, "bystander")
            await grove.settle()
            assert await gated(grove) == {}
            assert await schedulers(grove) == {"bystander": 3}
