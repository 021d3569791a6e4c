"""The status of a ClusterTopologyBinding follows from the comparisons with the schedulers' topology objects."""

import pytest

from grove.api import ClusterTopologyBinding
from grove.api.meta import ObjectMeta
from grove.api.topology import ClusterTopologyBindingSpec, ClusterTopologyBindingStatus, TopologyLevel
from grove.plan.status.topology_status import TopologyComparison, topology_status
from tests.unit.plan.observed import NOW, condition

IN_SYNC = TopologyComparison("kai", "floor", in_sync=True, generation=7)
DRIFTED = TopologyComparison("volcano", "tiers", in_sync=False, message="it has other levels")
UNKNOWN = TopologyComparison("other", "floor", in_sync=False, message="is not enabled", unknown=True)
FAILED = TopologyComparison("kai", "floor", in_sync=False, message="forbidden", failed=True)


def binding(status: ClusterTopologyBindingStatus | None = None) -> ClusterTopologyBinding:
    levels = [TopologyLevel(domain="rack", key="example.com/rack")]
    return ClusterTopologyBinding(
        metadata=ObjectMeta(name="floor", generation=3),
        spec=ClusterTopologyBindingSpec(levels=levels),
        status=status,
    )


@pytest.mark.parametrize(
    ("comparisons", "expected"),
    [
        (
            [IN_SYNC],
            ("False", "InSync", "the schedulers' topologies have the levels of this binding"),
        ),
        ([IN_SYNC, DRIFTED], ("True", "Drift", "volcano: it has other levels")),
        ([DRIFTED, UNKNOWN], ("Unknown", "TopologyNotFound", "other: is not enabled")),
        ([FAILED, DRIFTED], ("True", "Drift", "kai: forbidden; volcano: it has other levels")),
    ],
    ids=["in sync", "drift", "a scheduler that cannot be compared comes first", "a failure counts as drift"],
)
def test_the_condition_reports_the_worst_comparison(
    comparisons: list[TopologyComparison], expected: tuple[str, str, str]
) -> None:
    (found,) = topology_status(binding(), comparisons, NOW).conditions
    assert (found.status, found.reason, found.message) == expected
    assert (found.type, found.observed_generation) == ("SchedulerTopologyDrift", 3)


def test_without_a_topology_aware_scheduler_the_condition_is_removed() -> None:
    before = ClusterTopologyBindingStatus(
        conditions=[condition("SchedulerTopologyDrift"), condition("Other")]
    )
    assert [c.type for c in topology_status(binding(before), [], NOW).conditions] == ["Other"]


@pytest.mark.parametrize(
    ("comparisons", "observed"), [([IN_SYNC, DRIFTED, UNKNOWN], 3), ([IN_SYNC, FAILED], 2)]
)
def test_the_observed_generation_advances_only_if_no_comparison_failed(
    comparisons: list[TopologyComparison], observed: int
) -> None:
    before = ClusterTopologyBindingStatus(observed_generation=2)
    assert topology_status(binding(before), comparisons, NOW).observed_generation == observed


def test_each_scheduler_has_its_own_status() -> None:
    first, second = topology_status(binding(), [IN_SYNC, DRIFTED], NOW).scheduler_topology_statuses
    assert (first.scheduler_name, first.topology_reference, first.in_sync) == ("kai", "floor", True)
    assert (first.scheduler_backend_topology_observed_generation, first.message) == (7, None)
    assert (second.scheduler_name, second.in_sync, second.message) == (
        "volcano",
        False,
        "it has other levels",
    )
