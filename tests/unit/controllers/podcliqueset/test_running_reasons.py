"""Why a set does not run is computed again when one of its parts changed, and not more often than necessary."""

import asyncio

import pytest

from grove.api import PodClique, PodCliqueSet
from grove.api.serialization.model import replace
from grove.controllers.podcliqueset.running_reasons import (
    EXPLAIN_INTERVAL_SECONDS,
    EXPLAIN_INTERVAL_SECONDS_PER_REPLICA,
    RunningReasons,
)
from grove.runtime.client.objects import ObjectKey
from tests.unit.controllers.caches import context, empty_informers, put
from tests.unit.plan.observed import layout, pcs
from tests.unit.plan.samples import alone

pytestmark = pytest.mark.looptime

LAYOUT = layout(replicas=2)
SET = ObjectKey("default", "train")


def stored_set() -> PodCliqueSet:
    found = pcs(replicas=2)
    return replace(found, metadata=replace(found.metadata, namespace="default", uid="set", generation=1))


def clique(replica: int) -> PodClique:
    return alone(LAYOUT, "worker", replica)


class Reasons:
    """With the sets for which `outdated` has fired."""

    def __init__(self) -> None:
        self.informers = empty_informers()
        self.reasons = RunningReasons(context(), self.informers)
        self.fired: list[ObjectKey] = []
        self.reasons.outdated.subscribe(self.fired.append)
        for version, replica in enumerate((0, 1), 1):
            put(self.informers.cliques, clique(replica), version)
        self.pcs = stored_set()
        self.reasons.explain(self.pcs, 2)


async def test_a_changed_part_fires_once_until_the_set_is_explained_again() -> None:
    scene = Reasons()
    assert scene.fired == []
    put(scene.informers.cliques, clique(0), 11, other="1")
    put(scene.informers.cliques, clique(0), 12, other="2")
    assert scene.fired == [SET]
    scene.reasons.explain(scene.pcs, 2)
    put(scene.informers.cliques, clique(0), 13, other="3")
    assert scene.fired == [SET, SET]


async def test_a_part_that_is_relabelled_concerns_the_replica_that_it_left() -> None:
    scene = Reasons()
    put(scene.informers.cliques, clique(1), 11, podcliqueset_replica_index="7")
    assert scene.fired == [SET]


async def test_a_set_that_was_never_explained_is_not_outdated() -> None:
    scene = Reasons()
    scene.reasons.forget(scene.pcs)
    put(scene.informers.cliques, clique(0), 11, other="1")
    assert scene.fired == []


async def test_a_set_is_explained_at_intervals_that_grow_with_its_replicas() -> None:
    scene = Reasons()
    interval = EXPLAIN_INTERVAL_SECONDS + 2 * EXPLAIN_INTERVAL_SECONDS_PER_REPLICA
    assert scene.reasons.next_in(scene.pcs) == pytest.approx(interval)
    await asyncio.sleep(interval)
    assert scene.reasons.next_in(scene.pcs) == pytest.approx(0.0)
    scene.reasons.forget(scene.pcs)
    assert scene.reasons.next_in(scene.pcs) == 0.0
