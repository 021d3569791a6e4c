"""YuniKorn: no object at all. A gang is an application, its groups are task groups, and the pods themselves say so.

    gang                      application: the label app-id, the same on all pods of the gang, and the label queue
    pod group                 task group: for each pod of its minimum a placeholder that asks for what such a pod does
    pods beyond the minimum   placed one by one once the placeholders stand

YuniKorn makes the placeholders, places them, and lets the pods take their places when all of them stand.

What shapes this translation, beside the fields themselves:

- All is read from the first pod without a gate, which also owns the placeholders, and stays as it is as long as the
  application lives. So every pod says the same, and whichever is first will do.
- A placeholder that is smaller than its pod, or may not stand where its pod may, is useless; what pods need stands in
  their templates. So a gang carries the shapes of its placeholders in an annotation.
- When the placeholders are not all placed in time, the style Hard fails the pods, and no pod that joins this
  application will ever be placed. The same happens to one that is rejected. An application that lost all its pods
  lives on for a while, as one without a gang. So pods that follow join a new application: its number is the dialect
  of the gang, with whether it was placed. Otherwise they would fail, and be made again, for ever.
- Placeholders hold what they have until all are placed. Gangs are served in the order of their placeholders, but those
  of the same second at random: many that start at once would share out the last room, so that none of them fits. So
  gangs are released one after another, far enough apart that they have an order.
- What is left, a time-out ends: two queues that share out the room. It is YuniKorn's own by default.
- The time-out also ends placeholders that all stand and whose pods are just about to take their places: a gang that is
  placed in part. It counts the time behind a gate, which would make that likely. So that time is added to it when the
  gate is removed.
- Ids and names of task groups become parts of the names of placeholders: only letters, digits and dashes are safe.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Annotated, Any, Literal

import msgspec

from grove.api import labels
from grove.api.labels import Gate
from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.validation.problem import Problem, forbidden, invalid, warning
from grove.api.validation.topology import places
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.pod_state import is_present
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.queues import disagreements, queue_of
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.requests import pod_requests, written
from grove.schedulers.types import Json, ObjectKind, Refusal, SchedulerObject, Served
from grove.schema.errors import Path

APPLICATION = "yunikorn.apache.org/app-id"
QUEUE = "yunikorn.apache.org/queue"
TASK_GROUP = "yunikorn.apache.org/task-group-name"
TASK_GROUPS = "yunikorn.apache.org/task-groups"
PARAMETERS = "yunikorn.apache.org/schedulingPolicyParameters"

PLACEHOLDERS = "grove.io/yunikorn-placeholders"
"""Annotation of a gang: what a placeholder of each of its groups looks like, in their order."""

TIMEOUT = "placeholderTimeoutInSeconds"
STYLE = "gangSchedulingStyle"
_VALUES = {TIMEOUT: re.compile("[1-9][0-9]{0,9}"), STYLE: re.compile("Hard|Soft")}

# Why YuniKorn fails the pods of an application that it gives up.
GIVEN_UP = ("ResourceReservationTimeout", "ApplicationRejected")

_DIALECT = re.compile("Application([0-9]+)(Placed)?")

_QUEUE = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?|root(\.[A-Za-z0-9_-]+)*\.[A-Za-z0-9_-]*[A-Za-z0-9]"
)
_PLACED_BY = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
_TOPOLOGY = "YuniKorn knows no topology"
_WITHOUT = "remove the constraint, make it a preferred one, or choose another scheduler"


class Settings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    # Without one the placement rules of YuniKorn decide, usually by namespace.
    queue: str = ""
    gang_scheduling_style: Literal["Hard", "Soft"] = "Hard"
    placeholder_timeout_in_seconds: Annotated[int, msgspec.Meta(ge=1)] = 900
    # YuniKorn orders gangs by the second in which it makes their first placeholder.
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
                Guarantee.MINIMUM_BELOW_REPLICAS: "the others one by one, once the placeholders stand",
                Guarantee.RESCHEDULED_AS_GANG: "when none is left on a node",
                Guarantee.QUEUES: "hierarchical",
            },
            {
                Guarantee.WAITING_HOLDS_NO_ROOM: "placeholders hold it, up to a time-out",
                Guarantee.TOPOLOGY_REQUIRED: "refused",
                Guarantee.TOPOLOGY_PREFERRED: "said on the gang",
                Guarantee.PREEMPTION: "YuniKorn's own, of single pods across queues",
            },
        ),
    )

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, Settings)

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        return {
            labels.QUEUE: queue_of(pcs, _queue_in) or self._settings.queue,
            PLACEHOLDERS: _json([_placeholder(c) for c in members]),
        }

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        """The application that pods join now, and whether it has its places: the next one when it is over."""
        number, placed = _attempt(gang)
        mine = [p for p in pods if p.metadata.labels.get(APPLICATION) == _application(gang, number)]
        placeholders = [p for p in mine if labels.STAND_IN_FOR in p.metadata.labels]
        members = [p for p in mine if labels.STAND_IN_FOR not in p.metadata.labels]
        given_up = any(map(_is_given_up, members))
        if not given_up and any(p.spec.node_name and is_present(p) for p in members):
            return f"Application{number}Placed"
        over = given_up or placed or _are_gone(members, placeholders)
        return f"Application{number + 1 if over else number}"

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        for where, required, _ in _constraints(gang):
            if required:
                raise Refusal(f"{where} must be packed by {required}, and {_TOPOLOGY}", _WITHOUT)
        _shapes(gang)
        return ()

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        meta = gang.metadata
        pod.labels[APPLICATION] = _application(gang, _attempt(gang)[0])
        if queue := (
            meta.annotations.get(labels.QUEUE)
            or _queue_in(meta.labels, meta.annotations)
            or self._settings.queue
        ):
            pod.labels[QUEUE] = queue
        if gang.spec.priority_class_name:
            pod.spec["priorityClassName"] = gang.spec.priority_class_name
        pod.annotations[PARAMETERS] = _written(self._parameters(gang))
        task_groups = [
            {
                "name": g.name,
                "minMember": g.min_replicas,
                **shape,
                "labels": {**shape.get("labels", {}), labels.STAND_IN_FOR: meta.name},
            }
            for g, shape in zip(gang.spec.pod_groups, _shapes(gang), strict=True)
            if g.min_replicas > 0
        ]
        if task_groups:
            pod.annotations[TASK_GROUPS] = _json(task_groups)
        if group.min_replicas > 0:
            pod.annotations[TASK_GROUP] = group.name

    def release_annotations(self, gang: PodGang, waited_seconds: float) -> Mapping[str, str]:
        """YuniKorn counts the time-out from when a pod was made, and not from when its gate was removed."""
        parameters = self._parameters(gang)
        adjusted = {TIMEOUT: str(int(parameters[TIMEOUT]) + ceil(waited_seconds))}
        return {PARAMETERS: _written(parameters | adjusted)}

    def release_pause_seconds(self, gang: PodGang) -> float:
        _, placed = _attempt(gang)
        return 0.0 if placed else self._settings.seconds_between_gangs

    def has_begun(self, gang: PodGang, pods: Sequence[Pod]) -> bool:
        """Its first placeholder decides before which others it comes."""
        application = _application(gang, _attempt(gang)[0])
        mine = [p for p in pods if p.metadata.labels.get(APPLICATION) == application]
        if not any(g.min_replicas for g in gang.spec.pod_groups):
            return True  # it has none
        return any(labels.STAND_IN_FOR in p.metadata.labels or _is_given_up(p) for p in mine)

    def is_outdated(self, gang: PodGang, pod: Pod) -> bool:
        """Whether a pod belongs to an application that nothing will come of any more.

        One that was placed just as its application was given up is a part of a gang, and alone.
        """
        number, placed = _attempt(gang)
        mine = pod.metadata.labels.get(APPLICATION, "")
        if not pod.spec.node_name:
            return mine != _application(gang, number)
        return not placed and mine in [_application(gang, n) for n in range(max(1, number - 3), number)]

    def needs_new_dialect(self, gang: PodGang, pod: Pod) -> bool:
        """Whether the gang must take this in before the pod is deleted: it needs a new application."""
        return _is_given_up(pod) and not self.is_outdated(gang, pod)

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        wanted = _application(gang, _attempt(gang)[0])
        found = pod.metadata.labels.get(APPLICATION, "")
        if found == wanted:
            return ""
        return (
            f"pod {pod.metadata.name} is in the application {found or '(none)'} and its gang is in {wanted}: "
            "YuniKorn would place it without the gang"
        )

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from disagreements(pcs, _queue_in)
        queue = queue_of(pcs, _queue_in)
        if queue and not _QUEUE.fullmatch(queue):
            remedy = "write one name, or the path from the root, as in root.research.nlp"
            yield invalid(("metadata", "labels", QUEUE), queue, "this is no name of a queue", remedy)
        try:
            _read(pcs.metadata.annotations.get(PARAMETERS, ""))
        except ValueError as e:
            remedy = f"write it as in: {TIMEOUT}=600 {STYLE}=Hard"
            yield invalid(
                ("metadata", "annotations", PARAMETERS), pcs.metadata.annotations[PARAMETERS], str(e), remedy
            )
        for i, clique in enumerate(pcs.spec.template.cliques):
            yield from _check_template(clique, ("spec", "template", "cliques", i, "spec", "podSpec"))
        for place in places(pcs):
            if place.constraint.required:
                yield forbidden(place.path, _TOPOLOGY, _WITHOUT)
            else:
                yield warning(place.path, place.constraint.preferred, f"{_TOPOLOGY}: it is ignored", _WITHOUT)

    def shortfall(self, gang: PodGang, served: Served) -> str:
        weaker = [
            f"the wish to pack {where} by {preferred} is dropped, since {_TOPOLOGY}"
            for where, _, preferred in _constraints(gang)
            if preferred
        ]
        parameters = self._parameters(gang)
        if parameters[STYLE] == "Soft":
            weaker.append(
                f"with the style Soft it is no gang any more when it is not placed in {parameters[TIMEOUT]} seconds"
            )
        return "; ".join(weaker)

    def _parameters(self, gang: PodGang) -> dict[str, str]:
        """The set's own, over those of the profile."""
        default = {
            TIMEOUT: str(self._settings.placeholder_timeout_in_seconds),
            STYLE: self._settings.gang_scheduling_style,
        }
        try:
            asked = default | _read(gang.metadata.annotations.get(PARAMETERS, ""))
        except ValueError as e:
            raise Refusal(f"the annotation {PARAMETERS}: {e}", "correct it") from e
        return asked | {TIMEOUT: str(_patience(gang, int(asked[TIMEOUT])))}


def _attempt(gang: PodGang) -> tuple[int, bool]:
    """The number of the gang's application, and whether pods of it have been placed."""
    found = _DIALECT.fullmatch(dialect_of(gang))
    return (int(found[1]), bool(found[2])) if found else (1, False)


def _patience(gang: PodGang, timeout: int) -> int:
    """How long an application waits for its places: after the first, up to twice as long as asked.

    Gangs whose placeholders hold a part of the same room give up together, and would go on to do so: none would ever
    be left the room of the others.
    """
    number, _ = _attempt(gang)
    if number == 1:
        return timeout
    chance = hashlib.sha256(f"{gang.metadata.uid}/{number}/patience".encode()).digest()[0] / 256
    return timeout + int(timeout * chance)


def _are_gone(members: Sequence[Pod], placeholders: Sequence[Pod]) -> bool:
    """Whether all pods of an application are gone, or the first: its placeholders go with it, and do not come back."""
    present = {p.metadata.uid for p in members if is_present(p)}
    owners = {o.uid for p in placeholders for o in p.metadata.owner_references}
    return (bool(members) and not present) or not owners <= present


def _application(gang: PodGang, number: int) -> str:
    """Ids of applications are unique in the cluster, and never used again."""
    meta = gang.metadata
    name = f"{meta.namespace}-{meta.name}".replace(".", "-")[:50].rstrip("-")
    return f"{name}-{hashlib.sha256(f'{meta.uid}/{number}'.encode()).hexdigest()[:8]}"


def _is_given_up(pod: Pod) -> bool:
    return pod.status.phase == "Failed" and pod.status.reason in GIVEN_UP


def _placeholder(clique: Clique) -> Json:
    """What a task group says beside its name and number: what a pod requests, and where it may stand."""
    template: dict[str, Any] = msgspec.json.decode(clique.spec.pod_spec)
    placed_by = {field: template[field] for field in _PLACED_BY if template.get(field)}
    shape: Json = {"minResource": written(pod_requests(clique.spec.pod_spec)), **placed_by}
    # A placeholder must match the selectors of its own pods; else it stays without labels, or Services would find it.
    if _attracts(template) and clique.labels:
        shape["labels"] = clique.labels
    return shape


def _attracts(template: dict[str, Any]) -> bool:
    """Whether other pods decide where a pod may stand."""
    affinity = template.get("affinity") or {}
    return bool(
        template.get("topologySpreadConstraints")
        or affinity.get("podAffinity")
        or affinity.get("podAntiAffinity")
    )


def _shapes(gang: PodGang) -> list[Json]:
    text = gang.metadata.annotations.get(PLACEHOLDERS, "")
    shapes: list[Json] = msgspec.json.decode(text) if text else []
    if len(shapes) != len(gang.spec.pod_groups):
        raise Refusal(
            f"the annotation {PLACEHOLDERS} of PodGang {gang.metadata.name} does not say what its placeholders request",
            "Grove writes it for the gangs that it makes: do not remove it",
        )
    return shapes


def _constraints(gang: PodGang) -> Iterator[tuple[str, str, str]]:
    """Every topology constraint: where it stands, what it requires, what it prefers."""
    found = [("the gang", gang.spec.topology_constraint)]
    found += [
        (f"group {c.name!r}", c.topology_constraint) for c in gang.spec.topology_constraint_group_configs
    ]
    found += [(f"pod group {g.name!r}", g.topology_constraint) for g in gang.spec.pod_groups]
    for where, constraint in found:
        pack = constraint.pack_constraint if constraint else None
        if pack is not None:
            yield where, pack.required or "", pack.preferred or ""


def _check_template(clique: Clique, path: Path) -> Iterator[Problem]:
    try:
        pod_requests(clique.spec.pod_spec)
    except ValueError as e:
        yield invalid(path, clique.name, f"its requests cannot be read: {e}", "correct them")
        return
    template: dict[str, Any] = msgspec.json.decode(clique.spec.pod_spec)
    selectors = _json([template.get(f) for f in ("affinity", "topologySpreadConstraints")])
    if _attracts(template) and (labels.GROVE_PREFIX in selectors or "app.kubernetes.io/" in selectors):
        yield warning(
            path,
            clique.name,
            "its affinity or spread constraints name labels of Grove, which placeholders do not have",
            "use labels of the clique's own",
        )


def _queue_in(tags: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return tags.get(QUEUE) or annotations.get(QUEUE, "")


def _read(text: str) -> dict[str, str]:
    """Policy parameters. YuniKorn ignores what it does not understand; here it raises ValueError."""
    found: dict[str, str] = {}
    for item in text.split():
        key, _, value = item.partition("=")
        if key not in _VALUES or not _VALUES[key].fullmatch(value):
            raise ValueError(f"{item!r} is neither {TIMEOUT}=SECONDS nor {STYLE}=Hard or Soft")
        found[key] = value
    return found


def _written(parameters: Mapping[str, str]) -> str:
    return " ".join(f"{k}={v}" for k, v in parameters.items())


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
