"""Edited, deleted and stray objects are repaired, lost pods replaced, and a faulty connection survived."""

import pytest

from grove_sandbox.faults import Faults, Rates
from grove_sandbox.flow.backend.queries import PODS, bound, clique, edits_of, object_path, specs
from grove_sandbox.flow.backend.setup import BackendSetup
from grove_sandbox.flow.cluster import RefusedError


class RepairTests(BackendSetup):
    async def test_an_object_that_is_edited_by_hand_is_put_back(self) -> None:
        self.skip_without_objects()
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            edits = 0
            for (kind, name), obj in before.items():
                for patch in edits_of(obj["spec"]):
                    try:
                        await grove.call("PATCH", f"{object_path(kind)}/{name}", {"spec": patch})
                    except RefusedError:
                        continue  # an invalid value, or an immutable field
                    edits += 1
                    await grove.settle()
                    assert specs(await self.objects(grove)) == specs(before), f"{kind.kind} keeps {patch}"
        if not edits:
            pytest.skip("the server refuses every edit of its objects")

    async def test_an_object_that_is_deleted_by_hand_is_recreated(self) -> None:
        self.skip_without_objects()
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            for kind, name in before:
                await grove.call("DELETE", f"{object_path(kind)}/{name}")
                await grove.settle()
                assert specs(await self.objects(grove)) == specs(before)
            assert len(await grove.list("pods")) == 4
            assert await grove.list("podgangs")

    async def test_a_stray_object_owned_by_the_gang_is_pruned(self) -> None:
        self.skip_without_objects()
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            for (kind, name), obj in before.items():
                owner = obj["metadata"]["ownerReferences"]
                stray = {k: v for k, v in obj.items() if k != "status"}
                stray["metadata"] = {"name": f"{name}-stray", "ownerReferences": owner}
                await grove.cluster.create(object_path(kind), stray)
            await grove.settle()
            assert specs(await self.objects(grove)) == specs(before)

    async def test_a_lost_pod_is_replaced_in_its_gang(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("worker", 3)))
            await grove.settle()
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            assert grove.observer.opened == 4
            if self.schedules:
                assert await bound(grove) == 3

    @pytest.mark.parametrize("seed", range(2))
    async def test_faults_do_not_change_the_final_objects(self, seed: int) -> None:
        wanted = self.set_of(clique("router", 1), clique("worker", 3))
        async with self.operating() as grove:
            await grove.apply(wanted)
            await grove.settle()
            expected = specs(await self.objects(grove), uids=False)
        faults = Faults(seed, Rates.all(0.03))
        async with self.operating(through=faults.transport, seed=seed) as grove:
            await grove.apply(wanted)
            await grove.settle(quiet=60)
            faults.stop()
            await grove.settle(quiet=600)
            assert specs(await self.objects(grove), uids=False) == expected
            assert grove.observer.opened == 4
