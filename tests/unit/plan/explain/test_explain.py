"""From the observed objects of a set to the one reason why it does not run."""

from dataclasses import replace as replace_seen
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.event_view import Event, Regarding
from grove.api.meta import Condition, ConditionStatus, LastError
from grove.api.pod_view import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodMetadata,
    PodSpec,
    PodStatus,
    SchedulingGate,
    Waiting,
)
from grove.api.podclique import PodCliqueStatus
from grove.api.podcliqueset import PodCliqueSetStatus
from grove.api.podgang import NamespacedName, PodGangStatus
from grove.api.reasons import RunReason, Step
from grove.api.scalars import Time
from grove.api.serialization.model import replace
from grove.plan.explain import (
    Finding,
    Kind,
    Observed,
    Target,
    explain,
    in_words,
    set_reason,
    top_reason,
    worst,
)
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import member_clique, scaling_group, standalone_clique
from grove.plan.objects.podgangs import GangScheduling, pod_gang
from tests.unit.api.sets import clique, pcs
from tests.unit.plan import observed

NOW = Time.at(observed.NOW)
GATE = "scheduling.k8s.io/workload"
SET: Target = Target("PodCliqueSet", "train")


def said(
    kind: str, status: ConditionStatus = "True", reason: str = "Because", message: str = ""
) -> Condition:
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=NOW,
        observed_generation=1,
    )


INITIALIZED = said(ConditionType.INITIALIZED)
SYNCED = said(ConditionType.BACKEND_SYNCED, "True", Reason.BACKEND_IN_SYNC)
SCHEDULED = said(ConditionType.SCHEDULED)


class World:
    """All objects of a healthy set, for tests to break."""

    def __init__(self, **template: Any) -> None:
        found: PodCliqueSet = pcs(clique("worker", replicas=2), **template)
        metadata = replace(found.metadata, namespace="default", generation=1)
        self.pcs = replace(found, metadata=metadata, status=PodCliqueSetStatus(observed_generation=1))
        layout = SetLayout(self.pcs)
        scheduling = GangScheduling("default-scheduler", "default")
        self.groups: list[PodCliqueScalingGroup] = [scaling_group(layout, g, 0) for g in layout.groups]
        self.cliques: list[PodClique] = [standalone_clique(layout, c, 0) for c in layout.standalone]
        for template_group, group in zip(layout.groups, self.groups, strict=True):
            self.cliques += [
                member_clique(layout, template_group, c, 0, j, group)
                for j in range(group.spec.replicas)
                for c in template_group.cliques
            ]
        self.gangs: list[PodGang] = [
            pod_gang(layout, members, scheduling) for members in gang_members(layout, 0, {})
        ]
        self.pods: list[Pod] = [self.pod(c, n) for c in self.cliques for n in range(c.spec.replicas)]
        self.events: list[Event] = []
        for gang in self.gangs:
            gang.metadata.generation = 1
            gang.metadata.uid = f"uid-of-{gang.metadata.name}"
            gang.status = PodGangStatus(phase="Running", conditions=[INITIALIZED, SYNCED, SCHEDULED])
            for part in gang.spec.pod_groups:
                part.pod_references = [
                    NamespacedName(namespace="default", name=p.metadata.name or "")
                    for p in self.pods
                    if p.metadata.labels[labels.POD_CLIQUE] == part.name
                ]

    def pod(self, clique: PodClique, index: int) -> Pod:
        own = {k: v for k, v in clique.metadata.labels.items() if k.startswith("grove.io/")}
        name = clique.metadata.name or ""
        return Pod(
            metadata=PodMetadata(
                name=f"{name}-{index}", namespace="default", labels=own | {labels.POD_CLIQUE: name}
            ),
            spec=PodSpec(node_name="node-1", hostname=f"{name}-{index}", scheduler_name="default-scheduler"),
            status=PodStatus(
                phase="Running",
                conditions=(observed.SCHEDULED, observed.READY),
                container_statuses=(
                    ContainerStatus(name="c", ready=True, started=True, state=ContainerState()),
                ),
            ),
        )

    def gate(self, *names: str, of: str = "") -> None:
        for pod in self.pods:
            if (pod.metadata.name or "").startswith(of):
                pod.spec = PodSpec(
                    hostname=pod.spec.hostname,
                    scheduler_name=pod.spec.scheduler_name,
                    scheduling_gates=tuple(SchedulingGate(name=n) for n in names or (GATE,)),
                )
                pod.status = PodStatus(phase="Pending", conditions=(observed.GATED,))

    def release(self, *conditions: PodCondition) -> None:
        """Takes the gates and the nodes from the pods."""
        self.gate()
        for pod in self.pods:
            pod.spec.scheduling_gates = ()
            pod.status.conditions = conditions or (observed.GATED,)

    def place(self, *containers: ContainerStatus, init: tuple[ContainerStatus, ...] = ()) -> None:
        """Puts the pods on nodes, with these containers, and not ready."""
        for pod in self.pods:
            pod.status = PodStatus(
                phase="Pending",
                conditions=(observed.SCHEDULED, observed.NOT_READY),
                init_container_statuses=init,
                container_statuses=containers,
            )

    def say(self, *conditions: Condition, gang: int = 0) -> None:
        """Adds conditions to the gang; they replace those of the same type."""
        found = self.gangs[gang].status
        assert found is not None
        types = {c.type for c in conditions}
        found.conditions = [*(c for c in found.conditions if c.type not in types), *conditions]

    def warn(self, kind: str, name: str, reason: str, note: str, by: str = "kubelet") -> None:
        self.events.append(
            Event(
                metadata=PodMetadata(name=f"{name}.{len(self.events)}"),
                regarding=Regarding(kind=kind, name=name),
                type="Warning",
                reason=reason,
                note=note,
                reporting_controller=by,
                event_time=f"2026-03-01T12:00:{len(self.events):02}Z",
            )
        )

    def seen(self, kind: Kind = "PodCliqueSet", name: str = "train") -> Observed:
        return Observed(
            Target(kind, name),
            self.pcs,
            self.groups,
            self.gangs,
            self.cliques,
            self.pods,
            self.events,
            {"default": GATE},
        )


def scaled() -> World:
    """A set with a worker, and a scaling group with two copies and `minAvailable` 1."""
    found = World(
        cliques=[clique("worker", replicas=2), clique("helper", replicas=1)],
        podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["helper"], "replicas": 2, "minAvailable": 1}],
    )
    assert [g.metadata.name for g in found.gangs] == ["train-0", "train-0-g-0"]
    return found


def waiting(reason: str, message: str = "") -> ContainerStatus:
    return ContainerStatus(name="c", state=ContainerState(waiting=Waiting(reason=reason, message=message)))


def error(code: str) -> LastError:
    return LastError(code=code, description="its words", observed_at=NOW)


def test_a_healthy_set_is_running() -> None:
    answer = explain(World().seen())
    assert (answer.reason, answer.state, answer.message) == (RunReason.RUNNING, "Running", "2 pods ready")
    assert answer.findings == (top_reason(World().seen()),)


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("False", Reason.SCHEDULER_NOT_INSTALLED, RunReason.SCHEDULER_NOT_INSTALLED),
        ("False", Reason.REFUSED_BY_BACKEND, RunReason.REFUSED_BY_BACKEND),
        ("False", Reason.QUEUE_MISSING, RunReason.QUEUE_MISSING),
        ("False", Reason.BACKEND_FAILED, RunReason.BACKEND_FAILED),
        ("False", "WhateverElse", RunReason.BACKEND_FAILED),
        ("False", Reason.SCHEDULER_NOT_KNOWN_YET, RunReason.WAITING_FOR_BACKEND),
    ],
)
def test_the_message_of_the_backend_is_quoted(
    status: ConditionStatus, reason: str, expected: RunReason
) -> None:
    world = World()
    world.gate()
    world.say(said(ConditionType.BACKEND_SYNCED, status, reason, "its words"))
    for kind, name in (
        ("PodCliqueSet", "train"),
        ("PodClique", "train-0-worker"),
        ("Pod", "train-0-worker-0"),
    ):
        answer = explain(world.seen(kind, name))  # type: ignore[arg-type]
        assert (answer.reason, answer.step, answer.about) == (expected, Step.SYNCED, "PodGang/train-0"), kind
        assert answer.cliques[0].reason is expected
        if expected is not RunReason.WAITING_FOR_BACKEND:
            assert [(s.by, s.text) for s in answer.said] == [("backend default", "its words")]


def test_a_set_waits_for_a_backend_that_is_behind() -> None:
    world = World()
    world.gangs[0].metadata.generation = 2
    assert top_reason(world.seen()).reason is RunReason.WAITING_FOR_BACKEND
    world.gangs[0].status = None
    assert top_reason(world.seen()).message == "the backend default has not processed it yet"


def test_notes_keep_nothing_from_running() -> None:
    world = World()
    world.say(said(ConditionType.BACKEND_SYNCED, "True", Reason.WEAKER_THAN_ASKED, "less"))
    assert world.pcs.status is not None
    world.pcs.status.conditions = [
        said(ConditionType.TOPOLOGY_LEVELS_UNAVAILABLE, "Unknown", message="no rack")
    ]
    answer = explain(world.seen())
    assert (answer.reason, answer.running) == (RunReason.RUNNING, True)
    assert {f.reason: f.message for f in answer.findings[1:]} == {
        RunReason.TOPOLOGY_IGNORED: "no rack",
        RunReason.WEAKER_THAN_ASKED: "less",
    }


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ERR_CREATE_POD", RunReason.PODS_REFUSED_BY_SERVER),
        ("ERR_BUILD_POD_RESOURCE", RunReason.REFUSED_BY_BACKEND),
        ("ERR_DELETE_POD", RunReason.PODS_NOT_DELETED),
        ("ERR_POD_LINK_DROPPED", RunReason.POD_LINK_DROPPED),
        ("ERR_REMOVE_POD_SCHEDULING_GATE", RunReason.GATES_NOT_OPENED),
        ("ERR_SYNC_PCLQ_RESOURCE_CLAIM", RunReason.PARTS_REFUSED_BY_SERVER),
        ("ERR_OF_A_LATER_VERSION", RunReason.PODS_REFUSED_BY_SERVER),
    ],
)
def test_errors_of_a_clique_are_quoted(code: str, reason: RunReason) -> None:
    world = World()
    world.pods.pop()
    world.cliques[0].status = PodCliqueStatus(last_errors=[error(code), error(code)])
    answer = explain(world.seen())
    assert (answer.reason, answer.message) == (reason, f"1 of 2 pods exist; {code}")
    assert [s.text for s in answer.said] == ["its words"]
    assert explain(world.seen("Pod", "train-0-worker-0")).running


def test_a_set_waits_for_missing_parts_unless_the_server_refuses_them() -> None:
    world = World()
    world.cliques, world.pods = [], []
    answer = explain(world.seen())
    assert (answer.reason, answer.message) == (
        RunReason.WAITING_FOR_PARTS,
        "PodClique train-0-worker does not exist",
    )
    assert [(c.name, c.wanted, c.created) for c in answer.cliques] == [("train-0-worker", 2, 0)]
    assert world.pcs.status is not None
    world.pcs.status.last_errors = [error("ERR_CREATE_OR_UPDATE_PODCLIQUE")]
    for kind, name in (("PodCliqueSet", "train"), ("PodGang", "train-0")):
        assert explain(world.seen(kind, name)).reason is RunReason.PARTS_REFUSED_BY_SERVER  # type: ignore[arg-type]


def test_a_missing_gang_is_named() -> None:
    world = World()
    world.gangs = []
    assert top_reason(world.seen()).message == "PodGang train-0 does not exist"


def test_pods_wait_for_their_gang_to_be_complete() -> None:
    world = scaled()
    world.gate()
    world.pods = [p for p in world.pods if p.metadata.name != "train-0-g-0-helper-0"]
    for gang in (0, 1):
        world.say(said(ConditionType.INITIALIZED, "False"), said(ConditionType.SCHEDULED, "False"), gang=gang)
    answer = explain(world.seen("PodClique", "train-0-worker"))
    assert (answer.reason, answer.about) == (RunReason.WAITING_FOR_PODS, "PodClique/train-0-g-0-helper")
    assert answer.findings[-1].reason is RunReason.WAITING_FOR_INITIALIZATION
    assert answer.findings[-1].message == "pods are still missing: 1 of train-0-g-0-helper"


def test_a_scaled_gang_is_explained_by_its_base_gang() -> None:
    world = scaled()
    world.release(
        PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message="no room")
    )
    world.gate(of="train-0-g-1")
    world.say(said(ConditionType.SCHEDULED, "False"))
    answer = explain(world.seen("PodGang", "train-0-g-0"))
    assert (answer.reason, answer.about, answer.pods) == (RunReason.UNSCHEDULABLE, "PodGang/train-0", 3)
    assert [(s.by, s.text) for s in answer.said] == [("default-scheduler", "no room")]
    assert [(c.name, c.reason) for c in answer.cliques] == [
        ("train-0-g-1-helper", RunReason.WAITING_FOR_BASE_GANG)
    ]
    world.say(SCHEDULED)
    assert explain(world.seen("PodGang", "train-0-g-0")).reason is RunReason.WAITING_FOR_GATES


def test_surplus_pods_wait_until_the_gang_has_its_minimum() -> None:
    world = World(cliques=[clique("worker", replicas=2, minAvailable=1)])
    world.gate(of="train-0-worker-1")
    world.say(said(ConditionType.SCHEDULED, "False"))
    assert top_reason(world.seen("Pod", "train-0-worker-1")).reason is RunReason.WAITING_FOR_MINIMUM


def test_a_pod_that_its_gang_does_not_name_yet_waits_for_that() -> None:
    world = World()
    world.gate(of="train-0-worker-1")
    world.gangs[0].spec.pod_groups[0].pod_references.pop()
    found = top_reason(world.seen())
    assert (found.reason, found.message) == (
        RunReason.WAITING_FOR_INITIALIZATION,
        "PodGang train-0 does not name train-0-worker-1 yet",
    )


def test_a_gate_of_somebody_else_is_reported_beside_ours() -> None:
    world = World()
    world.gate("example.com/quota")
    found = top_reason(world.seen())
    assert (found.reason, found.message) == (
        RunReason.HELD_BY_OTHER_GATE,
        "2 pods behind the gate example.com/quota",
    )
    world.gangs[0].metadata.labels[labels.SCHEDULER_BACKEND] = "third-party"
    assert top_reason(world.seen()).reason is RunReason.WAITING_FOR_GATES


def test_pods_for_another_scheduler_than_their_gang_are_named() -> None:
    world = World()
    world.gate()
    world.gangs[0].metadata.labels[labels.SCHEDULER_NAME] = "kai-scheduler"
    found = top_reason(world.seen())
    assert found.reason is RunReason.WRONG_SCHEDULER
    assert "is for default-scheduler, but PodGang train-0 is for kai-scheduler" in found.message


def test_a_pod_waits_for_a_scheduler_that_reports_nothing() -> None:
    world = World()
    world.release()
    found = top_reason(world.seen())
    assert found.reason is RunReason.WAITING_FOR_SCHEDULER
    assert "default-scheduler" in found.message


def test_reports_of_the_scheduler_are_found_on_the_pod_in_events_and_on_the_gang() -> None:
    world = World()
    world.release()
    world.warn("PodGroup", "train-0", "NotEnough", "of the group", by="some-scheduler")
    assert [(s.by, s.text) for s in top_reason(world.seen()).said] == [("some-scheduler", "of the group")]
    world.say(
        said(ConditionType.SCHEDULED, "False", message="0 of 2"),
        said(ConditionType.UNSCHEDULABLE, "True", "Full", "of the gang"),
    )
    assert [s.text for s in top_reason(world.seen()).said] == ["Full: of the gang"]
    world.warn("Pod", "train-0-worker-0", "FailedScheduling", "old", by="default-scheduler")
    world.warn("Pod", "train-0-worker-0", "FailedScheduling", "of the pod", by="default-scheduler")
    found = top_reason(world.seen("Pod", "train-0-worker-0"))
    assert (found.reason, found.said[0].text) == (RunReason.UNSCHEDULABLE, "of the pod")


def test_events_of_a_schedulers_object_are_for_the_gang_that_it_is_named_after() -> None:
    world = scaled()
    for name in ("train-0-g-0", "pg-train-0-uid-of-train-0", "train-00", "other"):
        world.warn("PodGroup", name, "NotEnough", name)
    seen = world.seen()
    assert [s.text for s in seen.scheduler_warnings_about("train-0-g-0")] == ["train-0-g-0"]
    assert [s.text for s in seen.scheduler_warnings_about("train-0")] == ["pg-train-0-uid-of-train-0"]


RUNS = ContainerState()
INIT = ContainerStatus(name="grove-initc", state=RUNS)


@pytest.mark.parametrize(
    ("containers", "init", "events", "reason"),
    [
        ((waiting("ErrImagePull", "no such tag"),), (), (), RunReason.IMAGE_PULL_FAILING),
        ((waiting("InvalidImageName"),), (), (), RunReason.IMAGE_PULL_FAILING),
        ((waiting("PodInitializing"),), (waiting("ImagePullBackOff"),), (), RunReason.IMAGE_PULL_FAILING),
        ((waiting("CreateContainerConfigError"),), (), (), RunReason.CANNOT_START),
        ((waiting("PodInitializing"),), (INIT,), (), RunReason.WAITING_FOR_START_ORDER),
        ((waiting("ContainerCreating"),), (), (), RunReason.STARTING),
        ((), (), (), RunReason.STARTING),
        ((waiting("ContainerCreating"),), (), ("FailedMount",), RunReason.CANNOT_START),
        ((ContainerStatus(name="c", started=True, state=RUNS),), (), ("Unhealthy",), RunReason.NOT_READY),
        ((ContainerStatus(name="c", started=True, ready=True, state=RUNS),), (), (), RunReason.NOT_READY),
    ],
)
def test_what_keeps_a_pod_on_a_node_from_being_ready(
    containers: tuple[ContainerStatus, ...],
    init: tuple[ContainerStatus, ...],
    events: tuple[str, ...],
    reason: RunReason,
) -> None:
    world = World()
    world.place(*containers, init=init)
    for event in events:
        world.warn("Pod", "train-0-worker-0", event, "its words")
    found = top_reason(world.seen())
    assert (found.reason, found.pods > 0) == (reason, True)
    if events:
        assert [s.text for s in found.said] == ["its words"]


def test_disrupted_pods_are_reported() -> None:
    world = World()
    world.place()
    for pod in world.pods:
        pod.status.conditions += (observed.PREEMPTED,)
    found = top_reason(world.seen())
    assert (found.reason, found.said[0].by) == (RunReason.DISRUPTED, "PreemptionByScheduler")


def test_a_terminating_or_dead_pod_is_its_own_explanation() -> None:
    world = World()
    world.pods[0].metadata.deletion_timestamp = NOW
    world.pods[1].status = PodStatus(phase="Failed", reason="Evicted", message="the node was low on memory")
    assert top_reason(world.seen("Pod", "train-0-worker-0")).reason is RunReason.TERMINATING
    found = top_reason(world.seen("Pod", "train-0-worker-1"))
    assert (found.reason, found.message) == (
        RunReason.PODS_FAILED,
        "train-0-worker-1 ended: Evicted the node was low on memory",
    )


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("ApplicationRejected", " failed to place application train-0-1a2b", RunReason.QUEUE_MISSING),
        ("ApplicationRejected", " failed to find queue root.a for application", RunReason.QUEUE_MISSING),
        ("ApplicationRejected", " queue root.a cannot fit application", RunReason.PODS_FAILED),
        ("ResourceReservationTimeout", "failed to place application", RunReason.PODS_FAILED),
    ],
)
def test_pods_that_yunikorn_rejects_for_lack_of_a_queue_miss_a_queue(
    reason: str, message: str, expected: RunReason
) -> None:
    world = World()
    for pod in world.pods:
        pod.status = PodStatus(phase="Failed", reason=reason, message=message)
    found = top_reason(world.seen())
    assert found.reason is expected
    assert message.strip() in found.message


def test_finished_work_is_fine() -> None:
    world = World()
    for pod in world.pods:
        pod.spec.restart_policy = "Never"
        pod.status = PodStatus(phase="Succeeded", conditions=(observed.SCHEDULED,))
    answer = explain(world.seen())
    assert (answer.reason, answer.running) == (RunReason.FINISHED, True)


def test_the_parts_of_a_set_that_is_gone_are_still_explained() -> None:
    world = World()
    world.gate()
    seen = Observed(Target("PodGang", "train-0"), None, (), world.gangs, world.cliques, world.pods)
    assert explain(seen).reason is RunReason.WAITING_FOR_GATES


def test_an_invalid_set_is_the_only_finding_and_its_numbers_do_not_count() -> None:
    world = World()
    world.pcs = replace(world.pcs, spec=replace(world.pcs.spec, replicas=2_000_000_000))
    world.pcs.status = PodCliqueSetStatus(conditions=[said(ConditionType.INVALID, message="too many")])
    answer = explain(world.seen())
    assert (answer.reason, answer.message, answer.state) == (RunReason.INVALID_SET, "too many", "Degraded")
    assert explain(world.seen("PodGang", "train-0")).running


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (RunReason.NOT_READY, RunReason.WAITING_FOR_START_ORDER),
        (RunReason.UNSCHEDULABLE, RunReason.WAITING_FOR_BASE_GANG),
        (RunReason.WAITING_FOR_PODS, RunReason.WAITING_FOR_INITIALIZATION),
        (RunReason.PODS_REFUSED_BY_SERVER, RunReason.UNSCHEDULABLE),
        (RunReason.WAITING_FOR_BASE_GANG, RunReason.RUNNING),
        (RunReason.RUNNING, RunReason.WEAKER_THAN_ASKED),
    ],
)
def test_the_cause_comes_before_its_consequences(first: RunReason, second: RunReason) -> None:
    findings = [Finding(second, "PodGang/a", ""), Finding(first, "PodGang/b", "")]
    assert worst(findings).reason is first


def test_a_replica_is_judged_by_its_own_objects() -> None:
    world = World(cliques=[clique("worker", replicas=2)])
    world.pcs = replace(world.pcs, spec=replace(world.pcs.spec, replicas=2))
    assert top_reason(replace_seen(world.seen(), replica=0)).reason is RunReason.RUNNING
    assert top_reason(replace_seen(world.seen(), replica=1)).reason is RunReason.WAITING_FOR_PARTS


STATES: list[tuple[Condition, ...]] = [
    (),
    (INITIALIZED,),
    (SYNCED,),
    (INITIALIZED, SYNCED),
    (INITIALIZED, SYNCED, SCHEDULED),
]


@given(st.lists(observed.pods(), min_size=2, max_size=2), st.sampled_from(STATES), st.booleans())
def test_there_is_an_answer_for_every_observation(
    pods: list[list[Pod]], conditions: tuple[Condition, ...], gated: bool
) -> None:
    world = scaled()
    world.pods = [*pods[0], *pods[1]]
    names = ["train-0-worker"] * len(pods[0]) + ["train-0-g-1-helper"] * len(pods[1])
    for pod, name in zip(world.pods, names, strict=True):
        pod.metadata.labels |= {labels.POD_CLIQUE: name, labels.POD_GANG: "train-0"}
        if gated and pod.spec.node_name is None:
            pod.spec.scheduling_gates = (SchedulingGate(name=GATE),)
    for gang in world.gangs:
        gang.status = PodGangStatus(phase="Pending", conditions=list(conditions))
    answer = explain(world.seen())
    assert answer.findings[0] == top_reason(world.seen())
    assert set_reason(world.pcs, [top_reason(replace_seen(world.seen(), replica=0))]) == answer.findings[0]
    assert in_words(answer.findings[0])
    assert answer.running == (answer.state == "Running")
    assert [f.rank for f in answer.findings] == sorted(f.rank for f in answer.findings)
    ready = all(c.ready >= c.wanted for c in answer.cliques)
    assert ready or not answer.running
    for clique_ in answer.cliques:
        assert clique_.created >= max(clique_.gated, clique_.ready)
        assert clique_.reason.fine == (clique_.ready >= clique_.wanted) or clique_.created > clique_.wanted
