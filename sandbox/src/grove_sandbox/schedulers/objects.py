"""The fields of pods, nodes and schedulers' own objects that simulated schedulers read.

Nothing else is decoded, so no decision can depend on anything else.
"""

from typing import Any

import msgspec
from grove.runtime.client.objects import APIResource, ObjectKey, PartialMetadata, key_of

Json = dict[str, Any]


class Requirements(msgspec.Struct, frozen=True):
    requests: dict[str, str | int | float] = {}


class SchedulerContainer(msgspec.Struct, rename="camel", frozen=True):
    resources: Requirements = Requirements()
    restart_policy: str = ""


class SchedulerPodSpec(msgspec.Struct, rename="camel", frozen=True):
    containers: list[SchedulerContainer] = []
    init_containers: list[SchedulerContainer] = []
    overhead: dict[str, str | int | float] = {}
    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: list[Json] = []
    node_selector: dict[str, str] = {}
    affinity: Json = {}
    tolerations: list[Json] = []
    priority: int = 0
    scheduling_group: Json = {}
    workload_ref: Json = {}


class SchedulerPodStatus(msgspec.Struct, rename="camel", frozen=True):
    phase: str = "Pending"
    nominated_node_name: str = ""
    conditions: list[Json] = []


class SchedulerPod(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: SchedulerPodSpec
    status: SchedulerPodStatus = SchedulerPodStatus()

    @property
    def key(self) -> ObjectKey:
        return key_of(self)

    @property
    def uid(self) -> str:
        return self.metadata.uid or ""

    @property
    def gated(self) -> bool:
        return bool(self.spec.scheduling_gates)

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class SchedulerNodeSpec(msgspec.Struct, frozen=True):
    unschedulable: bool = False
    taints: list[Json] = []


class SchedulerNodeStatus(msgspec.Struct, frozen=True):
    allocatable: dict[str, str | int | float] = {}


class SchedulerNode(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: SchedulerNodeSpec = SchedulerNodeSpec()
    status: SchedulerNodeStatus = SchedulerNodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name or ""


class PolicyObject(msgspec.Struct, frozen=True):
    """An object of one of the scheduler's own kinds: PodGroup, Queue, Topology, ..."""

    metadata: PartialMetadata
    spec: Json = {}
    status: Json = {}

    @property
    def key(self) -> ObjectKey:
        return key_of(self)

    @property
    def name(self) -> str:
        return self.metadata.name or ""


class PriorityClass(msgspec.Struct, rename="camel", frozen=True):
    metadata: PartialMetadata
    value: int = 0
    global_default: bool = False


PODS = APIResource("", "v1", "pods", "Pod")
NODES = APIResource("", "v1", "nodes", "Node", namespaced=False)
PRIORITY_CLASSES = APIResource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
