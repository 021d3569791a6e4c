"""A backend as its own deployment: the operator waits until it has synced the gang, whichever of the two restarts."""

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import pytest
from grove_sandbox.faults import Faults, FaultyTransport, Killed
from grove_sandbox.flow.cluster import backend_alone
from grove_sandbox.nodes import node

from grove.api.config import OperatorConfiguration
from grove.api.serialization import codec
from grove.schedulers.kai import Kai
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from grove.schedulers.volcano import Volcano
from tests.flow.operating import GroveCluster, cluster_with_crds, example, operator
from tests.flow.test_operator_faults import picture, small

pytestmark = pytest.mark.looptime

FACTORIES: dict[str, Factory] = {"default": Kubernetes, "kai": Kai, "volcano": Volcano}


def configuration(*, separate: str) -> OperatorConfiguration:
    names = ("default-scheduler", "kai-scheduler", "volcano")
    profiles = [{"name": n, "separate": n == separate} for n in names]
    return codec.decode(codec.encode({"scheduler": {"profiles": profiles}}), OperatorConfiguration)


APART = configuration(separate="default-scheduler")


def operating(grove: GroveCluster, **more: Any) -> AbstractAsyncContextManager[Any]:
    return operator(grove, **{"configuration": APART, "factories": FACTORIES, **more})


def backend(grove: GroveCluster, name: str = "default", **more: Any) -> AbstractAsyncContextManager[Any]:
    return backend_alone(grove, name, **{"configuration": APART, "factories": FACTORIES, **more})


async def gates(grove: GroveCluster) -> int:
    return sum(bool(p["spec"].get("schedulingGates")) for p in (await grove.list("pods")).values())


async def conditions(grove: GroveCluster, gang: str) -> dict[str, dict[str, Any]]:
    found = (await grove.list("podgangs"))[gang]["status"]["conditions"]
    return {c["type"]: c for c in found}


async def test_no_gate_opens_until_the_backend_has_spoken() -> None:
    async with cluster_with_crds() as grove, operating(grove):
        await grove.apply(example("simple"))
        await grove.settle()
        assert "BackendSynced" not in await conditions(grove, "train-0")
        assert await gates(grove) == len(await grove.list("pods"))
        async with backend(grove):
            await grove.settle()
            assert (await conditions(grove, "train-0"))["BackendSynced"]["status"] == "True"
            assert await gates(grove) == 0
            assert grove.observer.opened == 8


async def test_the_backend_reports_what_the_scheduler_says_and_clears_it() -> None:
    apart = configuration(separate="volcano")
    manifest = example("simple")
    manifest["spec"]["replicas"] = 1
    pod = manifest["spec"]["template"]["cliques"][0]["spec"]["podSpec"]
    pod["schedulerName"] = "volcano"
    pod["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    async with (
        cluster_with_crds(nodes=[node("only", capacity={"cpu": "1"})], schedulers=["volcano"]) as grove,
        operating(grove, configuration=apart),
        backend(grove, "volcano", configuration=apart),
    ):
        await grove.apply(manifest)
        await grove.settle()
        said = await conditions(grove, "train-0")
        assert said["Scheduled"]["status"] == "False"
        assert (said["Unschedulable"]["status"], said["Unschedulable"]["reason"]) == (
            "True",
            "NotEnoughResources",
        )
        [pcs] = (await grove.list("podcliquesets")).values()
        running = next(c for c in pcs["status"]["conditions"] if c["type"] == "Running")
        assert running["reason"] == "Unschedulable"
        for i in range(3):
            await grove.cluster.create("/api/v1/nodes", node(f"more-{i}", capacity={"cpu": "1"}))
        await grove.settle()
        said = await conditions(grove, "train-0")
        assert said["Scheduled"]["status"] == "True"
        assert "Unschedulable" not in said


async def test_a_backend_alone_reads_gangs_and_pods_and_what_its_scheduler_reads() -> None:
    async with cluster_with_crds() as grove, backend(grove) as process:
        await grove.settle()
        watched = {i.resource.plural for i, _ in process.manager._informers.values()}
        kinds = {k.plural for k in Kubernetes({}).kinds}
        assert watched == {"podgangs", "pods"} | kinds


async def test_either_side_may_restart_on_the_way() -> None:
    async with cluster_with_crds() as grove:
        await grove.apply(example("disaggregated"))
        for _ in range(4):
            async with operating(grove):
                await asyncio.sleep(0.3)
            async with backend(grove):
                await asyncio.sleep(0.3)
        async with operating(grove), backend(grove):
            await grove.settle()
        assert {p["status"]["phase"] for p in (await grove.list("pods")).values()} == {"Running"}
        assert await gates(grove) == 0


def killed_after(write: int, made: list[FaultyTransport]) -> Any:
    def through(server: Any) -> FaultyTransport:
        made.append(Faults(0).transport(server))
        made[0].kill_after(write)
        return made[0]

    return through


@pytest.mark.parametrize("victim", ["operator", "backend"])
async def test_a_new_process_continues_after_any_single_write_of_either_side(victim: str) -> None:
    """The other side runs on meanwhile."""
    one, other = (operating, backend) if victim == "operator" else (backend, operating)
    async with cluster_with_crds() as grove, one(grove), other(grove):
        await grove.apply(small())
        await grove.settle()
        expected = await picture(grove)
    write, dies = 1, True
    while dies:
        made: list[FaultyTransport] = []
        async with cluster_with_crds() as grove, other(grove):
            await grove.apply(small())
            with suppress(Killed, BaseExceptionGroup):
                async with one(grove, through=killed_after(write, made)):
                    await grove.settle()
            dies = made[0].killed.is_set()
            async with one(grove):
                await grove.settle()
            assert await picture(grove) == expected, f"the {victim} was killed after write {write}"
        write += 1
    assert write > 5


async def test_gangs_of_other_backends_are_left_alone() -> None:
    apart = configuration(separate="kai-scheduler")
    async with (
        cluster_with_crds() as grove,
        operating(grove, configuration=apart),
        backend(grove, "kai", configuration=apart),
    ):
        await grove.apply(example("simple"))
        await grove.settle()
        assert {p["status"]["phase"] for p in (await grove.list("pods")).values()} == {"Running"}
