"""The few fields of Pods that Grove reads.

A pod has hundreds of fields, and a cluster has thousands of pods: msgspec skips every field that is not listed here.
Views are for reading only: writing one back would drop the other fields.
"""

import msgspec


class PartialView(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    """Base class of views. They cannot form reference cycles, so the garbage collector need not track them."""


class PodOwner(PartialView):
    uid: str
    kind: str
    name: str
    controller: bool | None = None


class PodMetadata(PartialView):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[PodOwner, ...] = ()


class SchedulingGate(PartialView):
    name: str


class SchedulingGroup(PartialView):
    pod_group_name: str | None = None


class WorkloadReference(PartialView):
    name: str | None = None
    pod_group: str | None = None


class PodSpec(PartialView):
    node_name: str | None = None
    hostname: str | None = None
    scheduler_name: str | None = None
    restart_policy: str | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None


class PodCondition(PartialView):
    type: str
    status: str
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class Waiting(PartialView):
    reason: str | None = None
    message: str | None = None


class Terminated(PartialView):
    exit_code: int = 0
    reason: str | None = None


class ContainerState(PartialView):
    """A container that is neither waiting nor terminated is running."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(PartialView):
    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(PartialView):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(PartialView):
    metadata: PodMetadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
