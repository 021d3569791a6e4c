"""Which replica of a set is updated next, when an update begins and when it is over.

    begin     the templates differ from those that the status names: the status names the new ones, and an update runs.
              The replica that was being updated stays the current one, so that no second one is taken down
    record    a new set, or one whose recorded hash was not made by this operator while no update runs: the status names
              the current templates and nothing is replaced. So a takeover from the Go reference restarts nothing
    next      one replica at a time, until all its pods follow the new templates and are ready; replicas that are not
              available first, then by index. Replicas below the partition are left out
    end       when every replica is done. An update that a partition holds back stays in progress

With OnDelete an update ends as it begins: nothing is replaced until somebody deletes a pod.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grove.api.podcliqueset import (
    PodCliqueSetStatus,
    PodCliqueSetUpdateProgress,
    ReplicaUpdateProgress,
    UpdateStrategy,
)
from grove.api.scalars import Time
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.layout.template_hash import is_own_hash
from grove.plan.rollout.progress import is_updating
from grove.plan.rollout.rollout import current_replica


@dataclass(frozen=True)
class ReplicaProgress:
    done: bool
    """Every clique follows the current templates, and all its pods are ready."""
    available: bool
    outdated: bool = False
    """A PodClique has another template than the set, by a hash of our own."""


def plan_set_update(
    layout: SetLayout, old: PodCliqueSetStatus, replicas: Sequence[ReplicaProgress], now: datetime
) -> PodCliqueSetStatus:
    """The status with the new `currentGenerationHash` and `updateProgress`. `replicas` are those of the spec, in order."""
    strategy = layout.pcs.spec.update_strategy or UpdateStrategy()
    recorded, wanted = old.current_generation_hash, layout.generation_hash
    if recorded == wanted:
        return replace(old, update_progress=_continued(old, strategy, replicas, now))
    if not _is_update(old, replicas):
        return replace(old, current_generation_hash=wanted, update_progress=None)
    started = replace(
        old,
        current_generation_hash=wanted,
        updated_replicas=0,
        update_progress=PodCliqueSetUpdateProgress(
            update_started_at=Time.at(now), currently_updating=_still_current(old, replicas, now)
        ),
    )
    # The replicas are judged with the next status: what is known of them now is about the previous templates.
    if strategy.type == "OnDelete":
        return replace(started, update_progress=_continued(started, strategy, replicas, now))
    return started


def _is_update(old: PodCliqueSetStatus, replicas: Sequence[ReplicaProgress]) -> bool:
    """Whether templates that the status does not name yet are a change of templates."""
    recorded = old.current_generation_hash
    if recorded is not None and is_own_hash(recorded):
        return True
    return is_updating(old.update_progress) or any(r.outdated for r in replicas)


def _still_current(
    old: PodCliqueSetStatus, replicas: Sequence[ReplicaProgress], now: datetime
) -> list[ReplicaUpdateProgress]:
    current = current_replica(old)
    if current is None or current >= len(replicas):
        return []
    return [ReplicaUpdateProgress(replica_index=current, update_started_at=Time.at(now))]


def _continued(
    old: PodCliqueSetStatus, strategy: UpdateStrategy, replicas: Sequence[ReplicaProgress], now: datetime
) -> PodCliqueSetUpdateProgress | None:
    progress = old.update_progress
    if progress is None or not is_updating(progress):
        return progress
    if strategy.type == "OnDelete":
        return replace(progress, currently_updating=[], update_ended_at=Time.at(now))
    if strategy.paused:
        return progress
    current = current_replica(old)
    if current is not None and strategy.partition <= current < len(replicas) and not replicas[current].done:
        return progress
    waiting = [i for i, r in enumerate(replicas) if i >= strategy.partition and not r.done]
    if waiting:
        first = min(waiting, key=lambda i: (replicas[i].available, i))
        chosen = ReplicaUpdateProgress(replica_index=first, update_started_at=Time.at(now))
        return replace(progress, currently_updating=[chosen])
    if any(not r.done for r in replicas):
        return replace(progress, currently_updating=[])  # held back by the partition
    return replace(progress, currently_updating=[], update_ended_at=Time.at(now))
