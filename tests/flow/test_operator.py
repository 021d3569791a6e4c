"""From one PodCliqueSet to running pods, on the embedded cluster."""

import pytest

from tests.flow.operating import example, running

pytestmark = pytest.mark.looptime


async def test_a_set_comes_up() -> None:
    async with running() as grove:
        await grove.apply(example("simple"))
        await grove.settle()
        pods = await grove.list("pods")
        gangs = await grove.list("podgangs")
        assert len(pods) == 8
        assert {p["status"]["phase"] for p in pods.values()} == {"Running"}
        assert {g["status"]["phase"] for g in gangs.values()} == {"Running"}
        assert grove.observer.opened == 8
        pcs = (await grove.list("podcliquesets"))["train"]
        assert pcs["status"]["availableReplicas"] == 2
