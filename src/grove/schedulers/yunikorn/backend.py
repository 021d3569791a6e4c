"""YuniKorn: no objects. A gang is an application, its groups are task groups, and the pods carry all of it.

    gang                      application: the label app-id, the same on all pods of the gang, and the label queue
    pod group                 task group: a placeholder for each pod of its minimum, with the same requests
    pods beyond the minimum   placed one by one when the placeholders are placed

YuniKorn creates the placeholders and places them. When all are placed, it replaces them by the gang's pods.

Behaviour of YuniKorn that this translation takes into account:

- YuniKorn reads everything from the first pod without a gate. That pod also owns the placeholders. Later changes have
  no effect as long as the application lives. Therefore all pods carry the same, and any of them can be the first.
- When the placeholders are not all placed in time, the style Hard fails the pods, and YuniKorn never places a pod that
  joins this application later. The same happens to a rejected application. An application that lost all its pods lives
  on for a while, but not as a gang. Therefore later pods join a new application (see `applications`); otherwise they
  would fail and be recreated for ever.
- Placeholders hold their places until all of them are placed. YuniKorn serves gangs in the order of their placeholders,
  but at random within one second: many gangs that start together would divide the last room among them, so that none
  fits. Therefore gangs are released one after another, with a pause.
- What remains is resolved by the time-out: two queues whose gangs divide the room. Its default is YuniKorn's own.
- The time-out also deletes placeholders whose pods are about to replace them, which leaves a gang that is placed in
  part. YuniKorn counts the time behind a gate, which makes that likely. Therefore the release of a pod adds this time
  to its time-out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any, Literal

import msgspec

from grove.api import labels
from grove.api.labels import Gate
from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.validation.problem import Problem, forbidden, invalid, warning
from grove.api.validation.topology import placed_constraints
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.queues import conflicting_queues, queue_of
from grove.schedulers.types import ObjectKind, Refusal, SchedulerObject, Served
from grove.schedulers.yunikorn.applications import (
    APPLICATION_ID,
    application_id,
    application_of,
    current_application,
    is_given_up,
    is_outdated,
    is_placeholder,
)
from grove.schedulers.yunikorn.placeholders import (
    PLACEHOLDERS,
    check_template,
    encode_shapes,
    task_groups_of,
)
from grove.schedulers.yunikorn.policy_parameters import (
    PARAMETERS,
    STYLE,
    TIMEOUT,
    format_parameters,
    parameters_of,
    parse_parameters,
)

QUEUE = "yunikorn.apache.org/queue"
TASK_GROUP = "yunikorn.apache.org/task-group-name"
TASK_GROUPS = "yunikorn.apache.org/task-groups"

_QUEUE_NAME = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?|root(\.[A-Za-z0-9_-]+)*\.[A-Za-z0-9_-]*[A-Za-z0-9]"
)
_NO_TOPOLOGY = "YuniKorn does not support topology"
_NO_TOPOLOGY_REMEDY = "remove the constraint, make it a preferred one, or choose another scheduler"


class YuniKornSettings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    # If empty, the placement rules of YuniKorn decide, usually by namespace.
    queue: str = ""
    gang_scheduling_style: Literal["Hard", "Soft"] = "Hard"
    placeholder_timeout_in_seconds: Annotated[int, msgspec.Meta(ge=1)] = 900
    # YuniKorn orders gangs by the second in which it creates their first placeholder.
    seconds_between_gangs: Annotated[float, msgspec.Meta(ge=0)] = 1.0


class YuniKorn(Backend):
    name = "yunikorn"
    scheduler_name = "yunikorn"
    gate = Gate.YUNIKORN
    kinds: Sequence[ObjectKind] = ()
    pins_priority = True
    has_dialects = True
    creates_stand_ins = True
    variants = (
        SchedulerVariant(
            "yunikorn",
            "YuniKorn",
            {
                Guarantee.ALL_OR_NOTHING: "with placeholders",
                Guarantee.MINIMUM_BELOW_REPLICAS: "the others one by one, once the placeholders are placed",
                Guarantee.RESCHEDULED_AS_GANG: "when none is left on a node",
                Guarantee.QUEUES: "hierarchical",
            },
            {
                Guarantee.WAITING_HOLDS_NO_ROOM: "placeholders hold it, up to a time-out",
                Guarantee.TOPOLOGY_REQUIRED: "refused",
                Guarantee.TOPOLOGY_PREFERRED: "reported on the gang",
                Guarantee.PREEMPTION: "YuniKorn's own, of single pods across queues",
            },
        ),
    )

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, YuniKornSettings)

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        return {
            labels.QUEUE: queue_of(pcs, _queue_in) or self._settings.queue,
            PLACEHOLDERS: encode_shapes(members),
        }

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        return current_application(gang, pods).dialect

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        for constraint in _constraints(gang):
            if constraint.required:
                raise Refusal(
                    f"{constraint.part} must be packed by {constraint.required}, and {_NO_TOPOLOGY}",
                    _NO_TOPOLOGY_REMEDY,
                )
        task_groups_of(gang)  # raises Refusal
        return ()

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.labels[APPLICATION_ID] = _current_application_id(gang)
        if queue := self._queue_of_gang(gang):
            pod.labels[QUEUE] = queue
        if gang.spec.priority_class_name:
            pod.spec["priorityClassName"] = gang.spec.priority_class_name
        pod.annotations[PARAMETERS] = format_parameters(self._parameters(gang))
        if task_groups := task_groups_of(gang):
            pod.annotations[TASK_GROUPS] = msgspec.json.encode(task_groups).decode()
        if group.min_replicas > 0:
            pod.annotations[TASK_GROUP] = group.name

    def release_annotations(self, gang: PodGang, waited_seconds: float) -> Mapping[str, str]:
        """Adds the time behind the gate to the time-out, because YuniKorn counts from the creation of the pod."""
        parameters = self._parameters(gang)
        extended = {TIMEOUT: str(int(parameters[TIMEOUT]) + ceil(waited_seconds))}
        return {PARAMETERS: format_parameters(parameters | extended)}

    def release_pause_seconds(self, gang: PodGang) -> float:
        return 0.0 if application_of(gang).is_placed else self._settings.seconds_between_gangs

    def has_begun(self, gang: PodGang, pods: Sequence[Pod]) -> bool:
        """A gang has begun with its first placeholder, which decides its position among the gangs."""
        if not any(g.min_replicas for g in gang.spec.pod_groups):
            return True  # It gets no placeholders.
        current_id = _current_application_id(gang)
        own_pods = [p for p in pods if p.metadata.labels.get(APPLICATION_ID) == current_id]
        return any(is_placeholder(p) or is_given_up(p) for p in own_pods)

    def is_outdated(self, gang: PodGang, pod: Pod) -> bool:
        return is_outdated(gang, pod)

    def needs_new_dialect(self, gang: PodGang, pod: Pod) -> bool:
        return is_given_up(pod) and not is_outdated(gang, pod)

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        wanted = _current_application_id(gang)
        found = pod.metadata.labels.get(APPLICATION_ID, "")
        if found == wanted:
            return ""
        return (
            f"pod {pod.metadata.name} is in the application {found or '(none)'} and its gang is in {wanted}: "
            "YuniKorn would place it without the gang"
        )

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from conflicting_queues(pcs, _queue_in)
        queue = queue_of(pcs, _queue_in)
        if queue and not _QUEUE_NAME.fullmatch(queue):
            remedy = "write one name, or the path from the root, as in root.research.nlp"
            yield invalid(("metadata", "labels", QUEUE), queue, "this is no name of a queue", remedy)
        parameters = pcs.metadata.annotations.get(PARAMETERS, "")
        try:
            parse_parameters(parameters)
        except ValueError as e:
            remedy = f"write it as in: {TIMEOUT}=600 {STYLE}=Hard"
            yield invalid(("metadata", "annotations", PARAMETERS), parameters, str(e), remedy)
        for i, clique in enumerate(pcs.spec.template.cliques):
            yield from check_template(clique, ("spec", "template", "cliques", i, "spec", "podSpec"))
        for place in placed_constraints(pcs):
            if place.constraint.required:
                yield forbidden(place.path, _NO_TOPOLOGY, _NO_TOPOLOGY_REMEDY)
            else:
                detail = f"{_NO_TOPOLOGY}, so this has no effect"
                yield warning(place.path, place.constraint.preferred, detail, _NO_TOPOLOGY_REMEDY)

    def shortfall(self, gang: PodGang, served: Served) -> str:
        weaker = [
            f"the preference to pack {c.part} by {c.preferred} is dropped, since {_NO_TOPOLOGY}"
            for c in _constraints(gang)
            if c.preferred
        ]
        parameters = self._parameters(gang)
        if parameters[STYLE] == "Soft":
            weaker.append(
                f"with the style Soft it is no gang any more when it is not placed in {parameters[TIMEOUT]} seconds"
            )
        return "; ".join(weaker)

    def _parameters(self, gang: PodGang) -> dict[str, str]:
        defaults = {
            TIMEOUT: str(self._settings.placeholder_timeout_in_seconds),
            STYLE: self._settings.gang_scheduling_style,
        }
        return parameters_of(gang, defaults)

    def _queue_of_gang(self, gang: PodGang) -> str:
        meta = gang.metadata
        return (
            meta.annotations.get(labels.QUEUE)
            or _queue_in(meta.labels, meta.annotations)
            or self._settings.queue
        )


@dataclass(frozen=True)
class _PartConstraint:
    """A topology constraint of a part of a gang."""

    part: str
    required: str
    preferred: str


def _constraints(gang: PodGang) -> Iterator[_PartConstraint]:
    parts = [("the gang", gang.spec.topology_constraint)]
    parts += [
        (f"group {c.name!r}", c.topology_constraint) for c in gang.spec.topology_constraint_group_configs
    ]
    parts += [(f"pod group {g.name!r}", g.topology_constraint) for g in gang.spec.pod_groups]
    for part, constraint in parts:
        pack = constraint.pack_constraint if constraint else None
        if pack is not None:
            yield _PartConstraint(part, pack.required or "", pack.preferred or "")


def _current_application_id(gang: PodGang) -> str:
    return application_id(gang, application_of(gang).number)


def _queue_in(object_labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return object_labels.get(QUEUE) or annotations.get(QUEUE, "")
