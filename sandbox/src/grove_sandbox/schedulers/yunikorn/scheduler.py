"""YuniKorn: no objects of its own, only labels and annotations of pods.

Reads from a pod: the application id (label or annotation `yunikorn.apache.org/app-id`, label `applicationId`), the
annotation with its task group, and the annotations with the task groups and policy parameters of the application. It
takes the last two from the first ungated pod and never reads them again.

The real scheduler creates placeholder pods and replaces them later. Here a placeholder is a reservation in memory: it
reserves `minResource` on a node and obeys the node selector and tolerations of its task group. Otherwise the
behaviour is the same. Placeholders are placed one by one, and keep their reservations. When the last one is placed,
the pods replace them. After a timeout the pods are scheduled without a gang (style Soft) or fail (style Hard). A
failed application schedules nothing more. An application without pods is forgotten after 30 seconds.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
from grove.runtime.client.objects import PartialMetadata, ResourceType

from grove_sandbox.schedulers.objects import PODS, Json, SchedulerPod, SchedulerPodSpec
from grove_sandbox.schedulers.policy import Round, SchedulerEvent, View, by_priority, place_alone
from grove_sandbox.schedulers.snapshot import Snapshot

_PREFIX = "yunikorn.apache.org/"
_DEFAULT_TIMEOUT_SECONDS = 900
_FORGOTTEN_AFTER = timedelta(seconds=30)


class YuniKornScheduler:
    reads: Sequence[ResourceType] = ()
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def __init__(self, scheduler_name: str = "yunikorn") -> None:
        self.scheduler_name = scheduler_name
        self._applications: dict[str, _Application] = {}

    def round(self, view: View) -> Round:
        result = Round()
        snapshot = view.snapshot()
        members: dict[str, list[SchedulerPod]] = {}
        for pod in (p for p in view.pods if p.spec.scheduler_name == self.scheduler_name):
            members.setdefault(application_id(pod), []).append(pod)
        self._forget(members, view, result)
        for name, pods in members.items():
            first = next(iter(view.waiting(by_age([p for p in pods if not p.finished]))), None)
            if name not in self._applications and (first or any(view.node_of(p) for p in pods)):
                self._applications[name] = _submit(name, pods, first, view, result)
        ordered = sorted(self._applications.values(), key=lambda app: (app.submitted, app.name))
        for app in ordered:
            app.hold(snapshot)
        for app in ordered:
            self._schedule(snapshot, app, members.get(app.name, []), view, result)
        return result

    def _forget(self, members: dict[str, list[SchedulerPod]], view: View, result: Round) -> None:
        for app in list(self._applications.values()):
            if any(not pod.finished for pod in members.get(app.name, ())):
                app.empty_since = None
            elif app.state == "Failed" and not members.get(app.name):
                del self._applications[app.name]
            elif app.state != "Failed":
                app.empty_since = app.empty_since or view.now
                app.placeholders.clear()
                left = app.empty_since + _FORGOTTEN_AFTER - view.now
                if left <= timedelta(0):
                    del self._applications[app.name]
                else:
                    result.wake(left.total_seconds())

    def _schedule(
        self, snapshot: Snapshot, app: "_Application", pods: list[SchedulerPod], view: View, result: Round
    ) -> None:
        waiting = by_priority(view.waiting([pod for pod in pods if not pod.finished]))
        if app.state == "Reserving":
            app.reserve(snapshot, view.now)
            app.check_timeout(snapshot, waiting, view, result)
        if app.state == "Running":
            for pod in waiting:
                _replace_or_place(snapshot, app, pod, result)
            app.release_unused(snapshot, view, result)


@dataclass
class _Placeholder:
    task_group: str
    pod: SchedulerPod
    node: str = ""


@dataclass
class _Application:
    name: str
    state: str
    submitted: datetime
    hard: bool = False
    timeout: timedelta = timedelta(0)
    placeholders: list[_Placeholder] = field(default_factory=list)
    deadline: datetime | None = None
    empty_since: datetime | None = None

    def hold(self, snapshot: Snapshot) -> None:
        """Assumes the reservations of earlier rounds in the snapshot of this round."""
        for placeholder in self.placeholders:
            if placeholder.node in snapshot.node_infos:
                snapshot.assume(placeholder.pod, placeholder.node)
            else:
                placeholder.node = ""

    def reserve(self, snapshot: Snapshot, now: datetime) -> None:
        for placeholder in self.placeholders:
            if not placeholder.node:
                placeholder.node = snapshot.find(placeholder.pod) or ""
                if placeholder.node:
                    snapshot.assume(placeholder.pod, placeholder.node)
                    self.deadline = self.deadline or now + self.timeout
        if all(placeholder.node for placeholder in self.placeholders):
            self.state = "Running"

    def check_timeout(
        self, snapshot: Snapshot, waiting: list[SchedulerPod], view: View, result: Round
    ) -> None:
        """Ends the reservation after its timeout, which starts with the first placeholder that is placed."""
        if self.state != "Reserving" or self.deadline is None:
            return
        if view.now < self.deadline:
            result.wake((self.deadline - view.now).total_seconds())
            return
        for placeholder in self.placeholders:
            if placeholder.node:
                _vacate(snapshot, placeholder)
        self.placeholders.clear()
        if self.hard:
            self.state = "Failed"
            text = "placeholders of the application were not all allocated in time"
            result.failed += [(pod, "ResourceReservationTimeout", text) for pod in waiting]
        else:
            self.state = "Running"

    def release_unused(self, snapshot: Snapshot, view: View, result: Round) -> None:
        if not self.placeholders or self.deadline is None:
            return
        if view.now >= self.deadline:
            for placeholder in self.placeholders:
                _vacate(snapshot, placeholder)
            self.placeholders.clear()
        else:
            result.wake((self.deadline - view.now).total_seconds())


def application_id(pod: SchedulerPod) -> str:
    labels, annotations = pod.metadata.labels, pod.metadata.annotations
    return (
        labels.get(f"{_PREFIX}app-id")
        or annotations.get(f"{_PREFIX}app-id")
        or labels.get("applicationId")
        or labels.get("spark-app-selector")
        or f"yunikorn-{pod.metadata.namespace}-autogen"
    )


def by_age(pods: Sequence[SchedulerPod]) -> list[SchedulerPod]:
    return sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.key))


def _submit(
    name: str, pods: list[SchedulerPod], first: SchedulerPod | None, view: View, result: Round
) -> _Application:
    """A new application. If it has bound pods, it is from before a restart of the scheduler and is running."""
    app = _Application(name, "Running", view.now)
    if first is None or any(view.node_of(pod) for pod in pods):
        return app
    groups = _task_groups(first, result)
    if not groups:
        return app
    parameters = dict(
        item.split("=", 1)
        for item in first.metadata.annotations.get(f"{_PREFIX}schedulingPolicyParameters", "").split()
        if "=" in item
    )
    app.hard = parameters.get("gangSchedulingStyle") == "Hard"
    seconds = parameters.get("placeholderTimeoutInSeconds", "")
    wanted = timedelta(
        seconds=int(seconds) if seconds.isdigit() and int(seconds) else _DEFAULT_TIMEOUT_SECONDS
    )
    created = datetime.fromisoformat(first.metadata.creation_timestamp or view.now_text)
    # The timeout counts from the creation of the first pod, so time behind its gate is lost.
    app.timeout = max(created + wanted - view.now, timedelta(milliseconds=1))
    app.state = "Reserving"
    app.placeholders = [
        _Placeholder(group["name"], _placeholder_pod(first, name, group, number))
        for group in groups
        for number in range(group["minMember"])
    ]
    return app


def _task_groups(first: SchedulerPod, result: Round) -> list[Json]:
    """The task groups. If they are malformed, records an event and returns none: then there is no gang."""
    text = first.metadata.annotations.get(f"{_PREFIX}task-groups", "")
    if not text:
        return []
    try:
        groups = json.loads(text)
        names = [group["name"] for group in groups]
        valid = len(set(names)) == len(names) and all(
            group["minMember"] > 0 and isinstance(group["minResource"], dict) for group in groups
        )
    except (ValueError, KeyError, TypeError):
        valid = False
    if not valid:
        result.events.append(
            SchedulerEvent(
                PODS,
                first.key,
                "TaskGroupsError",
                "unable to get taskGroups from pod annotation",
                warning=True,
            )
        )
        return []
    return list(groups)


def _placeholder_pod(first: SchedulerPod, app: str, group: Json, number: int) -> SchedulerPod:
    shape = {k: group[k] for k in ("nodeSelector", "tolerations", "affinity") if group.get(k)}
    shape["containers"] = [{"resources": {"requests": group["minResource"]}}]
    spec = msgspec.convert(shape, SchedulerPodSpec)
    name = f"tg-{app[:28]}-{group['name'][:20]}-{number}"
    meta = PartialMetadata(
        name=name,
        namespace=first.metadata.namespace,
        uid=f"{first.uid}/{group['name']}/{number}",
        labels={**(group.get("labels") or {}), f"{_PREFIX}app-id": app},
    )
    return SchedulerPod(meta, spec)


def _replace_or_place(snapshot: Snapshot, app: _Application, pod: SchedulerPod, result: Round) -> None:
    """A pod of a task group replaces one of its placeholders. Other pods are placed alone."""
    group = pod.metadata.annotations.get(f"{_PREFIX}task-group-name", "")
    for placeholder in [p for p in app.placeholders if p.task_group == group]:
        app.placeholders.remove(placeholder)
        _vacate(snapshot, placeholder)
        need, held = snapshot.need(pod), snapshot.need(placeholder.pod)
        if any(amount > held.get(name, 0) for name, amount in need.items()):
            continue  # larger than its placeholder: the reservation is given up
        if snapshot.obstacle(pod, snapshot.node_infos[placeholder.node]) is None:
            snapshot.assume(pod, placeholder.node)
            result.bindings.append((pod, placeholder.node))
            return
    place_alone(snapshot, pod, result)


def _vacate(snapshot: Snapshot, placeholder: _Placeholder) -> None:
    snapshot.remove(placeholder.pod, placeholder.node)
