"""Summaries of replicas are cached, and dropped with every change that concerns them."""

from grove.api import PodClique
from grove.api.podclique import PodCliqueStatus
from grove.api.serialization.model import replace
from grove.controllers.podcliqueset.replica_summaries import ReplicaSummaries
from grove.runtime.client.objects import ObjectKey
from tests.unit.api.sets import CONTAINER, clique
from tests.unit.controllers.caches import empty_informers, put
from tests.unit.plan.observed import layout
from tests.unit.plan.samples import alone

LAYOUT = layout(replicas=2)
SET = ObjectKey("default", "train")


def ready(replica: int, pods: int = 2) -> PodClique:
    return replace(alone(LAYOUT, "worker", replica), status=PodCliqueStatus(ready_replicas=pods))


async def test_a_changed_clique_changes_the_summary_of_its_replica_alone() -> None:
    informers = empty_informers()
    summaries = ReplicaSummaries(informers)
    put(informers.cliques, ready(0), 1)
    put(informers.cliques, ready(1), 2)
    before = summaries.of_set(LAYOUT, SET)
    assert [s.available for s in before] == [True, True]
    put(informers.cliques, ready(0, pods=1), 3)
    after = summaries.of_set(LAYOUT, SET)
    assert [s.available for s in after] == [False, True]
    assert after[1] is before[1]


async def test_a_clique_that_is_relabelled_changes_the_summary_of_the_replica_that_it_left() -> None:
    informers = empty_informers()
    summaries = ReplicaSummaries(informers)
    put(informers.cliques, ready(0), 1)
    put(informers.cliques, ready(1), 2)
    assert [s.available for s in summaries.of_set(LAYOUT, SET)] == [True, True]
    put(informers.cliques, ready(0), 3, podcliqueset_replica_index="1")
    assert [s.available for s in summaries.of_set(LAYOUT, SET)] == [False, True]


async def test_a_new_template_makes_a_new_summary() -> None:
    informers = empty_informers()
    summaries = ReplicaSummaries(informers)
    put(informers.cliques, ready(0), 1)
    [before, _] = summaries.of_set(LAYOUT, SET)
    changed = layout(clique(podSpec={"containers": [CONTAINER | {"image": "other"}]}), replicas=2)
    assert changed.generation_hash != LAYOUT.generation_hash
    [after, _] = summaries.of_set(changed, SET)
    assert after is not before
