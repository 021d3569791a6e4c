"""The status of a ClusterTopologyBinding, from a comparison with each scheduler's own topology object.

    no topology-aware scheduler                                no condition SchedulerTopologyDrift
    the binding names a scheduler that cannot be compared      Unknown, TopologyNotFound
    all objects have the levels of the binding                 False, InSync
    otherwise                                                  True, Drift

`observedGeneration` advances only if no comparison failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grove.api.conditions import ConditionType, Reason
from grove.api.meta import ConditionStatus
from grove.api.topology import ClusterTopologyBinding, ClusterTopologyBindingStatus, SchedulerTopologyStatus
from grove.plan.status.conditions import put, without


@dataclass(frozen=True)
class TopologyComparison:
    """The comparison with the topology object of one scheduler."""

    scheduler_name: str
    reference: str
    in_sync: bool
    message: str = ""
    generation: int | None = None
    unknown: bool = False
    """The scheduler is not enabled, has no topology objects, or its kind is not served by the cluster."""
    failed: bool = False
    """Grove could not create or update the object."""


def topology_status(
    binding: ClusterTopologyBinding, comparisons: Sequence[TopologyComparison], now: datetime
) -> ClusterTopologyBindingStatus:
    old = binding.status or ClusterTopologyBindingStatus()
    generation = binding.metadata.generation
    return ClusterTopologyBindingStatus(
        observed_generation=old.observed_generation if any(c.failed for c in comparisons) else generation,
        conditions=(
            put(
                old.conditions,
                ConditionType.SCHEDULER_TOPOLOGY_DRIFT,
                *_drift(comparisons),
                now,
                observed_generation=generation,
            )
            if comparisons
            else without(old.conditions, ConditionType.SCHEDULER_TOPOLOGY_DRIFT)
        ),
        scheduler_topology_statuses=[
            SchedulerTopologyStatus(
                scheduler_name=c.scheduler_name,
                topology_reference=c.reference,
                in_sync=c.in_sync,
                scheduler_backend_topology_observed_generation=c.generation,
                message=c.message or None,
            )
            for c in comparisons
        ],
    )


def _drift(comparisons: Sequence[TopologyComparison]) -> tuple[ConditionStatus, str, str]:
    unknown = [c for c in comparisons if c.unknown]
    if unknown:
        return "Unknown", Reason.TOPOLOGY_OBJECT_NOT_FOUND, _listed(unknown)
    differing = [c for c in comparisons if not c.in_sync]
    if differing:
        return "True", Reason.DRIFT, _listed(differing)
    return "False", Reason.IN_SYNC, "the schedulers' topologies have the levels of this binding"


def _listed(comparisons: Sequence[TopologyComparison]) -> str:
    return "; ".join(f"{c.scheduler_name}: {c.message}" for c in comparisons)[:1000]
