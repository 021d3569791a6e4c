"""What kube-scheduler reports about a gang in the conditions of its PodGroups.

A PodGroup that fails makes its siblings fail with the same message; the observation has each message once. Conditions
with the status True are ignored: once a PodGroup is scheduled, its condition stays True even if all its pods are lost.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang
from grove.schedulers.types import Json, Observation

CONDITIONS = ("PodGroupInitiallyScheduled", "PodGroupScheduled")


def observe_pod_groups(gang: PodGang, objects: Sequence[Json]) -> Observation:
    groups_by_message: dict[str, list[str]] = {}
    reasons: list[str] = []
    for obj in sorted(objects, key=lambda o: str(o["metadata"]["name"])):
        for condition in obj.get("status", {}).get("conditions") or ():
            if condition["type"] in CONDITIONS and condition["status"] == "False":
                message = str(condition.get("message") or condition.get("reason") or "")
                groups_by_message.setdefault(message, []).append(
                    _group_name(gang, str(obj["metadata"]["name"]))
                )
                reasons.append(str(condition.get("reason") or ""))
    if not reasons:
        return Observation()
    message = "; ".join(f"{', '.join(names)}: {text}" for text, names in groups_by_message.items())
    return Observation("SchedulerError" if "SchedulerError" in reasons else reasons[0], message)


def _group_name(gang: PodGang, pod_group: str) -> str:
    """The name that the user knows: that of the pod group in the gang."""
    gang_name = gang.metadata.name or ""
    short = pod_group.removeprefix(f"{gang_name}.pg.")
    return "the gang" if short == f"{gang_name}.pg" else short
