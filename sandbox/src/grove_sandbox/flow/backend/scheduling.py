"""With a simulated scheduler: gangs are bound whole, or not at all."""

import pytest

from grove_sandbox.flow.backend.queries import NODES, bound, clique, condition
from grove_sandbox.flow.backend.setup import BackendSetup
from grove_sandbox.nodes import node


class SchedulingTests(BackendSetup):
    async def test_a_gang_binds_whole_or_not_at_all(self) -> None:
        if not self.schedules:
            pytest.skip("policy is None: no scheduler binds pods")
        async with self.operating(cpus=4) as grove:
            await grove.apply(self.set_of(clique("router", 2), clique("worker", 3)))
            await grove.settle()
            assert await bound(grove) == 0
            assert (await condition(grove, "demo-0", "Scheduled"))["status"] == "False"
            await grove.cluster.create(NODES, node("node-x", capacity={"cpu": "1"}))
            await grove.settle()
            assert await bound(grove) == 5
            assert (await condition(grove, "demo-0", "Scheduled"))["status"] == "True"

    async def test_a_gang_above_its_minimum_starts_with_the_minimum(self) -> None:
        if not self.schedules:
            pytest.skip("policy is None: no scheduler binds pods")
        async with self.operating(cpus=4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 6, minimum=2)))
            await grove.settle()
            assert await bound(grove) >= 3
            assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"
