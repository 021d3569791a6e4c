"""A simulated Flock for the embedded cluster. It reads only what Flock reads: flocks, lanes, and two labels of pods."""

from collections.abc import Sequence

from grove_example_scheduler.backend import FLOCKS, LANES, LINK, PART
from grove_sandbox.schedulers.gangs import Gang, place
from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, View
from grove_sandbox.schedulers.snapshot import Snapshot, label_domains

from grove.runtime.client.objects import APIResource, ResourceType

_FLOCKS = APIResource(FLOCKS.group, FLOCKS.version, FLOCKS.plural, FLOCKS.kind)
_LANES = APIResource(LANES.group, LANES.version, LANES.plural, LANES.kind, namespaced=False)


class FlockScheduler:
    scheduler_name = "flock-scheduler"
    reads: Sequence[ResourceType] = (_FLOCKS, _LANES)
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def round(self, view: View) -> Round:
        result = Round()
        snapshot = view.snapshot()
        lanes = {lane.name for lane in view.objects.get(_LANES.plural, ())}
        for flock in view.objects.get(_FLOCKS.plural, ()):
            if flock.spec["lane"] in lanes:
                self._take_off(view, snapshot, flock, result)
        return result

    def _take_off(self, view: View, snapshot: Snapshot, flock: PolicyObject, result: Round) -> None:
        pods = [
            p
            for p in view.live(self.scheduler_name)
            if p.metadata.labels.get(LINK) == flock.name and p.metadata.namespace == flock.metadata.namespace
        ]
        if not view.waiting(pods):
            return
        parts = [_part(view, pods, part) for part in flock.spec["parts"]]
        domains = _domains(snapshot, flock.spec.get("near"))
        outcome = place(snapshot, Gang(flock.name, len(parts), children=parts, domains=domains))
        result.bind(outcome)
        if not outcome.ok:
            result.unschedulable(view.waiting(pods), outcome.failure)
        result.statuses.append(PolicyStatusWrite(_FLOCKS, flock.key, {"grounded": outcome.failure}))


def _part(view: View, pods: Sequence[SchedulerPod], part: Json) -> Gang:
    mine = [p for p in pods if p.metadata.labels.get(PART) == part["name"]]
    flying = sum(1 for p in mine if view.node_of(p))
    return Gang(part["name"], part["minimum"], pods=view.waiting(mine), present=flying)


def _domains(snapshot: Snapshot, near: Json | None) -> list[frozenset[str]] | None:
    return label_domains(snapshot.nodes, [near["must"]]) if near and "must" in near else None
