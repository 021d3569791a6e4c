"""Whether an update is in progress: of a set, a scaling group or a clique.

An update is in progress from the write that sets `status.updateProgress.updateStartedAt` to the one that sets
`updateEndedAt`. The first is written before any unit is touched, the second when every unit follows the new template
and is ready.
"""

from grove.api.podclique import PodCliqueUpdateProgress
from grove.api.podcliqueset import PodCliqueSetUpdateProgress
from grove.api.scalinggroup import ScalingGroupUpdateProgress

UpdateProgress = PodCliqueSetUpdateProgress | ScalingGroupUpdateProgress | PodCliqueUpdateProgress


def is_updating(progress: UpdateProgress | None) -> bool:
    """`progress` is the `updateProgress` in the status of a set, a scaling group or a clique."""
    return progress is not None and progress.update_ended_at is None
