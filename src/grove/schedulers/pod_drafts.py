"""The drafts of the pods of a group, as its backend prepares them."""

from grove.api.podgang import PodGang, PodGroup
from grove.plan.objects.pod_draft import GroupDrafts, PodDraft
from grove.schedulers.backend import Backend


def draft_pods(backend: Backend, gang: PodGang, group: PodGroup, scheduler_name: str) -> GroupDrafts:
    """One draft for the pods up to the group's minimum, and another for its surplus pods if the backend separates them.

    `gang` must have its dialect, if the backend has dialects. Raises Refusal.
    """
    required = PodDraft(scheduler_name, backend.gate)
    backend.prepare_pod(gang, group, required)
    if not backend.separates_surplus(gang, group):
        return GroupDrafts(required)
    surplus = PodDraft(scheduler_name, backend.gate)
    backend.prepare_surplus_pod(gang, group, surplus)
    return GroupDrafts(required, surplus)
