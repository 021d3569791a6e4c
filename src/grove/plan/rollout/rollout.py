"""How far the update of a set may go, read from its spec and status. All controllers ask this, and nothing else.

    recorded       the status names the current templates: only then does any PodClique change. Until then the set
                   controller has not decided whether the change is an update
    in progress    RollingRecreate, and the status says that an update runs
    current        the replica whose healthy units may be replaced; broken ones are replaced in every replica

`paused` stops all of it, and `partition` for the replicas below it: their PodCliques keep their template, so that even a
lost pod comes back as it was.
"""

from dataclasses import dataclass

from grove.api.podcliqueset import PodCliqueSetStatus, UpdateStrategy
from grove.plan.layout.set_layout import SetLayout
from grove.plan.rollout.progress import is_updating


@dataclass(frozen=True)
class Rollout:
    recorded: bool
    in_progress: bool
    current: int | None = None
    first: bool = False
    """Whether this operator has not updated the set yet: hashes may be those of an operator before it."""
    paused: bool = False
    partition: int = 0

    def may_change_template(self, i: int) -> bool:
        """Whether PodCliques of replica i may get the current template."""
        return self.recorded and not self.paused and i >= self.partition

    def replaces_broken(self, i: int) -> bool:
        return self.in_progress and self.may_change_template(i)

    def replaces_healthy(self, i: int) -> bool:
        return self.replaces_broken(i) and i == self.current


def rollout_of(layout: SetLayout, status: PodCliqueSetStatus | None) -> Rollout:
    """`status` is that of the set now; None for one that is new."""
    status = status or PodCliqueSetStatus()
    strategy = layout.pcs.spec.update_strategy or UpdateStrategy()
    progress = status.update_progress
    return Rollout(
        recorded=status.current_generation_hash == layout.generation_hash,
        in_progress=strategy.type == "RollingRecreate" and is_updating(progress),
        current=current_replica(status),
        first=progress is None,
        paused=strategy.paused,
        partition=strategy.partition,
    )


def current_replica(status: PodCliqueSetStatus | None) -> int | None:
    """The replica that is being updated; None between two replicas, and without an update."""
    progress = status.update_progress if status is not None else None
    if progress is None or not is_updating(progress) or not progress.currently_updating:
        return None
    return progress.currently_updating[0].replica_index
