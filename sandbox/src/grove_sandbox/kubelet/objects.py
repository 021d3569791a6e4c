"""The fields of pods and nodes that the kubelet and the node lifecycle read."""

from typing import Any

import msgspec
from grove.runtime.client.objects import APIResource, ObjectKey, PartialMetadata, key_of

Json = dict[str, Any]


class KubeletPodMeta(PartialMetadata, rename="camel", omit_defaults=True, kw_only=True):
    deletion_grace_period_seconds: int | None = None


class KubeletContainer(msgspec.Struct, rename="camel", frozen=True):
    name: str
    image: str = ""
    restart_policy: str = ""

    @property
    def is_sidecar(self) -> bool:
        return self.restart_policy == "Always"


class KubeletPodSpec(msgspec.Struct, rename="camel", frozen=True):
    containers: list[KubeletContainer] = []
    init_containers: list[KubeletContainer] = []
    node_name: str = ""
    restart_policy: str = "Always"
    tolerations: list[Json] = []


class KubeletPod(msgspec.Struct, frozen=True):
    metadata: KubeletPodMeta
    spec: KubeletPodSpec
    status: Json = {}

    @property
    def key(self) -> ObjectKey:
        return key_of(self)

    @property
    def uid(self) -> str:
        return self.metadata.uid or ""


class KubeletNodeSpec(msgspec.Struct, frozen=True):
    taints: list[Json] = []


class KubeletNode(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: KubeletNodeSpec = KubeletNodeSpec()
    status: Json = {}


PODS = APIResource("", "v1", "pods", "Pod")
NODES = APIResource("", "v1", "nodes", "Node", namespaced=False)
