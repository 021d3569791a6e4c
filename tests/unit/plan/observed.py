"""Objects as a controller observes them: pods in every state, cliques and groups with a status."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from grove.api import PodClique, PodCliqueSet, labels
from grove.api.meta import Condition, ConditionStatus
from grove.api.pod_view import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodMetadata,
    PodSpec,
    PodStatus,
    Terminated,
)
from grove.api.podclique import PodCliqueStatus
from grove.api.scalars import Time
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import standalone_clique
from tests.unit.api import sets

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)

GATED = PodCondition(type="PodScheduled", status="False", reason="SchedulingGated")
SCHEDULED = PodCondition(type="PodScheduled", status="True")
READY = PodCondition(type="Ready", status="True")
NOT_READY = PodCondition(type="Ready", status="False")
PREEMPTED = PodCondition(
    type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message="made room for another"
)

_CRASHED = ContainerStatus(last_state=ContainerState(terminated=Terminated(exit_code=1)))
_PHASES = {
    "gated": "Pending",
    "pending": "Pending",
    "starting": "Pending",
    "failed": "Failed",
    "succeeded": "Succeeded",
    "finished": "Succeeded",
}
_CONDITIONS = {
    "gated": (GATED,),
    "pending": (),
    "ready": (SCHEDULED, READY),
}
_CONTAINERS = {
    "ready": ContainerStatus(ready=True, started=True),
    "unready": ContainerStatus(ready=False, started=True),
    "failing": _CRASHED,
    "finished": _CRASHED,  # and succeeded at the second attempt
}
STATES = ["gated", "pending", "starting", "ready", "unready", "failing", "failed", "succeeded", "finished"]


def pod(
    index: int = 0,
    state: str = "ready",
    *,
    clique: str = "train-0-worker",
    template: str = "new",
    age: int = 0,
    terminating: bool = False,
    name: str | None = None,
    conditions: tuple[PodCondition, ...] = (),
) -> Pod:
    """`age` in seconds. A `succeeded` pod ended although its restart policy is Always; a `finished` one may end."""
    born = NOW - timedelta(seconds=age)
    container = _CONTAINERS.get(state)
    return Pod(
        metadata=PodMetadata(
            name=name or f"{clique}-{index}-{state}-{age}",
            labels={labels.POD_TEMPLATE_HASH: template, labels.POD_INDEX: str(index)},
            creation_timestamp=Time.at(born),
            deletion_timestamp=Time.at(NOW) if terminating else None,
        ),
        spec=PodSpec(
            node_name=None if state in ("gated", "pending") else "node-1",
            hostname=f"{clique}-{index}",
            restart_policy="Never" if state == "finished" else "Always",
        ),
        status=PodStatus(
            phase=_PHASES.get(state, "Running"),
            conditions=_CONDITIONS.get(state, (SCHEDULED, NOT_READY)) + conditions,
            container_statuses=(container,) if container else (),
        ),
    )


@st.composite
def pods(draw: st.DrawFn, max_size: int = 8) -> list[Pod]:
    """Pods of one clique in any situation: with holes, duplicate indices, dead and terminating pods."""
    found = draw(
        st.lists(
            st.builds(
                pod,
                st.integers(0, 6),
                st.sampled_from(STATES),
                template=st.sampled_from(["old", "new"]),
                age=st.integers(0, 5),
                terminating=st.booleans(),
                conditions=st.sampled_from([(), (PREEMPTED,)]),
            ),
            max_size=max_size,
        )
    )
    for n, p in enumerate(found):
        p.metadata.name = f"train-0-worker-{n}"
    return found


def pcs(*cliques: dict[str, Any], replicas: int = 1, **template: Any) -> PodCliqueSet:
    found = sets.pcs(*cliques, **template)
    return replace(found, spec=replace(found.spec, replicas=replicas))


def layout(*cliques: dict[str, Any], replicas: int = 1, **template: Any) -> SetLayout:
    return SetLayout(pcs(*cliques, replicas=replicas, **template))


def stored(clique: PodClique, **status: Any) -> PodClique:
    """As the API server returns it: with a generation, and with this status."""
    metadata = replace(clique.metadata, generation=1)
    return replace(clique, metadata=metadata, status=PodCliqueStatus(**status) if status else None)


def worker(of: SetLayout, **status: Any) -> PodClique:
    """The first clique of replica 0."""
    return stored(standalone_clique(of, of.standalone[0], 0), **status)


def condition(kind: str, status: ConditionStatus = "True", reason: str = "Because") -> Condition:
    return Condition(type=kind, status=status, reason=reason, message="", last_transition_time=Time.at(NOW))
