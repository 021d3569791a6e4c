"""Gangs are created, scaled, moved to another backend, and deleted."""

from grove.api import labels

from grove_sandbox.flow.backend.queries import (
    GANGS,
    GROUPS,
    SETS,
    bound,
    clique,
    condition,
    gated,
    schedulers,
    specs,
)
from grove_sandbox.flow.backend.setup import BackendSetup


class LifecycleTests(BackendSetup):
    async def test_a_gang_comes_up(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            synced = await condition(grove, "demo-0", "BackendSynced")
            assert synced["status"] == "True", synced["message"]
            gang = (await grove.list("podgangs"))["demo-0"]
            for obj in (await self.objects(grove)).values():
                (owner,) = obj["metadata"]["ownerReferences"]
                assert (owner["kind"], owner["uid"]) == ("PodGang", gang["metadata"]["uid"])
            assert grove.observer.opened == 4
            if self.schedules:
                assert await bound(grove) == 4
                assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"

    async def test_a_deleted_set_leaves_nothing_behind(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            await grove.call("DELETE", f"{SETS}/demo")
            await grove.settle()
            assert await self.objects(grove) == {}
            assert await grove.list("pods") == {}
            assert await grove.list("podgangs") == {}

    async def test_a_gang_deleted_by_hand_is_recreated_and_keeps_its_pods(self) -> None:
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            pods = {p["metadata"]["uid"] for p in (await grove.list("pods")).values()}
            statuses: list[str] = []
            grove.cluster.on_write(lambda w: statuses.append(str(w.now.get("status"))))
            await grove.call("DELETE", f"{GANGS}/demo-0")
            await grove.settle()
            assert not [text for text in statuses if "defect" in text]
            gang = (await grove.list("podgangs"))["demo-0"]
            assert (await condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            after = await self.objects(grove)
            assert len(after) == len(before)
            for obj in after.values():
                held = "deletionTimestamp" in obj["metadata"]  # by a finalizer
                assert held or obj["metadata"]["ownerReferences"][0]["uid"] == gang["metadata"]["uid"]
            assert len(await grove.list("pods")) == 4
            if self.schedules:
                assert {p["metadata"]["uid"] for p in (await grove.list("pods")).values()} == pods
                assert await bound(grove) == 4

    async def test_scaling_a_copy_out_and_in_leaves_the_other_objects_unchanged(self) -> None:
        group = {"name": "unit", "cliqueNames": ["worker"], "replicas": 1, "minAvailable": 1}
        async with self.operating(cpus=6) as grove:
            await grove.apply(
                self.set_of(clique("router", 1), clique("worker", 2), podCliqueScalingGroups=[group])
            )
            await grove.settle()
            before = await self.objects(grove)
            await grove.call("PATCH", f"{GROUPS}/demo-0-unit", {"spec": {"replicas": 2}})
            await grove.settle()
            scaled = await self.objects(grove)
            assert specs(scaled) | specs(before) == specs(scaled)
            assert len(scaled) > len(before) or not before
            if self.schedules:
                assert await bound(grove) == 5
            await grove.call("PATCH", f"{GROUPS}/demo-0-unit", {"spec": {"replicas": 1}})
            await grove.settle()
            assert specs(await self.objects(grove)) == specs(before)
            assert len(await grove.list("pods")) == 3

    async def test_a_set_that_moves_to_another_backend_leaves_no_objects_behind(self) -> None:
        """Bound pods stay where they are; their replacements belong to the other backend."""
        async with self.operating() as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.objects(grove)
            await self.choose(grove, "bystander")
            await self.delete_all_pods(grove)
            gang = (await grove.list("podgangs"))["demo-0"]
            assert gang["metadata"]["labels"][labels.SCHEDULER_BACKEND] == "bystander"
            assert (await condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert await schedulers(grove) == {"bystander": 4}
            assert await gated(grove) == {}
            assert await self.objects(grove) == {}, "the former scheduler's objects are left"
            await self.choose(grove, None)
            await self.delete_all_pods(grove)
            assert await schedulers(grove) == {self.backend().scheduler_name: 4}
            assert await gated(grove) == {}
            assert specs(await self.objects(grove)).keys() == specs(before).keys()
