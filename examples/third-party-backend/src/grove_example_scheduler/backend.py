"""Flock: one Flock per gang, of the same name.

gang                   Flock, in a lane
pod group              part with a minimum
pack constraint        `near`, for the flock or for a part; none for several parts together
queue                  lane: the annotation flock.example.com/lane of the set, else that of the profile
pod                    labels flock.example.com/flock and flock.example.com/part
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from grove.api.conditions import Reason
from grove.api.podgang import GangTopologyConstraint, PodGang, PodGroup
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.types import Json, ObjectKind, Observation, Refusal, SchedulerObject, Served

FLOCKS = ObjectKind("flock.example.com", "v1", "flocks", "Flock")
LANES = ObjectKind("flock.example.com", "v1", "lanes", "Lane", namespaced=False)

LANE = "flock.example.com/lane"
LINK = "flock.example.com/flock"
PART = "flock.example.com/part"


class Settings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    lane: str = "main"


class Flock(Backend):
    name = "flock"
    scheduler_name = "flock-scheduler"
    gate = "flock.example.com/gang"
    kinds: Sequence[ObjectKind] = (FLOCKS,)
    reads: Sequence[ObjectKind] = (LANES,)

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, Settings)

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        for config in gang.spec.topology_constraint_group_configs:
            if _near(config.topology_constraint):
                raise Refusal(
                    f"Flock cannot keep the groups of {config.name!r} near each other",
                    "constrain the whole set, or single cliques",
                )
        spec = {
            "lane": self._lane(gang, served),
            "priorityClassName": gang.spec.priority_class_name,
            "near": _near(gang.spec.topology_constraint),
            "parts": [
                _present({"name": g.name, "minimum": g.min_replicas, "near": _near(g.topology_constraint)})
                for g in gang.spec.pod_groups
            ],
        }
        return [SchedulerObject(FLOCKS, {"metadata": {"name": gang.metadata.name}, "spec": _present(spec)})]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.labels[LINK] = gang.metadata.name or ""
        pod.labels[PART] = group.name

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        """Flock reports in the status of a flock why it cannot take off."""
        reasons = [text for o in objects if (text := o.get("status", {}).get("grounded"))]
        return Observation("Grounded", reasons[0]) if reasons else Observation()

    def _lane(self, gang: PodGang, served: Served) -> str:
        """Raises Refusal for a lane that does not exist: Flock would silently ignore the flock."""
        lane = gang.metadata.annotations.get(LANE) or self._settings.lane
        lanes = served.objects.get(LANES)
        if lanes is not None and lane not in lanes:
            remedy = f"create it, or name another in the annotation {LANE}"
            raise Refusal(f"there is no lane {lane!r}", remedy, Reason.QUEUE_MISSING)
        return lane


def _near(constraint: GangTopologyConstraint | None) -> Json | None:
    pack = constraint.pack_constraint if constraint else None
    return _present({"must": pack.required, "should": pack.preferred}) if pack else None


def _present(fields: Json) -> Json:
    return {k: v for k, v in fields.items() if v}
