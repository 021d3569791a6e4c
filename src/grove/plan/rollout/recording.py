"""`updateProgress` of a clique and of a scaling group: what is recorded before a unit is touched.

Write-ahead: before a pod is made from a template, or a copy from the templates of a set, the status names that template.
So whoever reads a status that names only one template knows that all units were made from that one, however old the
status is. A status names the templates of its last finished update (the current hashes) and of the one in progress.

    begin    the unit's template is not named yet, and a unit is about to be touched, or it is this replica's turn
    again    the template changed while an update runs: the same update goes on, with the newest template
    end      every unit follows the template and is ready; or the strategy was changed to OnDelete
    OnDelete begins and ends at once
"""

from collections.abc import Sequence
from datetime import datetime

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique, PodCliqueStatus, PodCliqueUpdateProgress, PodUpdate
from grove.api.scalars import Time
from grove.api.scalinggroup import (
    PodCliqueScalingGroupStatus,
    ReplicaUpdate,
    ScalingGroupUpdateProgress,
)
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.pod_state import is_present
from grove.plan.rollout.pods import all_updated, is_outdated
from grove.plan.rollout.progress import is_updating
from grove.plan.rollout.rollout import Rollout


def names_template(status: PodCliqueStatus | None, template_hash: str) -> bool:
    """Whether pods may be made from this template without a record. A new clique has recorded nothing yet."""
    if status is None or status.current_pod_template_hash in (None, template_hash):
        return True
    return status.update_progress is not None and status.update_progress.pod_template_hash == template_hash


def clique_progress(
    clique: PodClique,
    pods: Sequence[Pod],
    layout: SetLayout,
    rollout: Rollout,
    now: datetime,
    *,
    touching: bool = False,
    chosen: Sequence[str] = (),
) -> PodCliqueUpdateProgress | None:
    """Of a standalone clique. `touching` says that pods are about to be created or replaced, `chosen` which healthy ones
    are replaced."""
    status = clique.status or PodCliqueStatus()
    progress, template = status.update_progress, clique.metadata.labels.get(labels.POD_TEMPLATE_HASH, "")
    if status.current_pod_template_hash is None and progress is None:
        return None
    present = [p for p in pods if is_present(p)]
    outdated = any(is_outdated(p, template) for p in present)
    i = int(clique.metadata.labels.get(labels.REPLICA_INDEX, "0"))
    new = PodCliqueUpdateProgress(
        update_started_at=Time.at(now),
        pod_clique_set_generation_hash=layout.generation_hash,
        pod_template_hash=template,
    )
    if progress is not None and is_updating(progress):
        if progress.pod_template_hash != template:
            progress = new
        elif rollout.recorded and progress.pod_clique_set_generation_hash != layout.generation_hash:
            progress = replace(progress, pod_clique_set_generation_hash=layout.generation_hash)
    elif not names_template(status, template) and (touching or (outdated and rollout.replaces_healthy(i))):
        progress = new
    elif rollout.recorded and not rollout.in_progress and not names_template(status, template) and outdated:
        progress = replace(new, update_ended_at=Time.at(now))
    elif progress is not None and progress.pod_template_hash != template and not outdated:
        progress = replace(new, update_ended_at=Time.at(now))
    elif progress is not None and outdated and rollout.replaces_healthy(i):
        progress = new  # an update that ended under OnDelete, and is now rolled out
    if progress is None or not is_updating(progress):
        return progress
    if rollout.recorded and not rollout.in_progress:
        return replace(progress, update_ended_at=Time.at(now), ready_pods_selected_to_update=None)
    if all_updated(pods, template, clique.spec.replicas):
        return replace(progress, update_ended_at=Time.at(now), ready_pods_selected_to_update=None)
    return (
        replace(progress, ready_pods_selected_to_update=_selected(progress, chosen)) if chosen else progress
    )


def _selected(progress: PodCliqueUpdateProgress, chosen: Sequence[str]) -> PodUpdate:
    """The last pod that was chosen is current; all before it count as completed."""
    before = progress.ready_pods_selected_to_update
    done = [*before.completed, before.current] if before is not None else []
    return PodUpdate(current=chosen[-1], completed=list(dict.fromkeys([*done, *chosen[:-1]])))


def group_names_templates(status: PodCliqueScalingGroupStatus | None, generation_hash: str) -> bool:
    """As `names_template`, for the templates of all cliques."""
    if status is None or status.current_pod_clique_set_generation_hash in (None, generation_hash):
        return True
    progress = status.update_progress
    return progress is not None and progress.pod_clique_set_generation_hash == generation_hash


def group_progress(
    status: PodCliqueScalingGroupStatus,
    generation_hash: str,
    rollout: Rollout,
    i: int,
    now: datetime,
    *,
    outdated: bool,
    complete: bool,
    touching: bool = False,
    chosen: Sequence[int] = (),
) -> ScalingGroupUpdateProgress | None:
    """Of a scaling group of replica i. `outdated` says that a copy is, `complete` that every copy follows the templates
    and has all its pods ready."""
    progress = status.update_progress
    if status.current_pod_clique_set_generation_hash is None and progress is None:
        return None
    if not rollout.recorded:
        return progress
    new = ScalingGroupUpdateProgress(
        update_started_at=Time.at(now), pod_clique_set_generation_hash=generation_hash
    )
    named = group_names_templates(status, generation_hash)
    if progress is not None and is_updating(progress):
        if progress.pod_clique_set_generation_hash != generation_hash:
            progress = new
    elif outdated and rollout.replaces_healthy(i):
        progress = new
    elif not named and touching:
        progress = new
    elif not rollout.in_progress and not named:
        progress = replace(new, update_ended_at=Time.at(now))
    elif progress is not None and progress.pod_clique_set_generation_hash != generation_hash and complete:
        progress = replace(new, update_ended_at=Time.at(now))
    if progress is None or not is_updating(progress):
        return progress
    if complete or not rollout.in_progress:
        return replace(progress, update_ended_at=Time.at(now), ready_replica_indices_selected_to_update=None)
    if not chosen:
        return progress
    before = progress.ready_replica_indices_selected_to_update
    done = [*before.completed, before.current] if before is not None else []
    selected = ReplicaUpdate(current=chosen[-1], completed=list(dict.fromkeys([*done, *chosen[:-1]])))
    return replace(progress, ready_replica_indices_selected_to_update=selected)
