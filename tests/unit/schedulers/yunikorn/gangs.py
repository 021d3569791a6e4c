"""Sets, gangs and pods for the tests of the backend for YuniKorn."""

from typing import Any

from grove.api import labels
from grove.api.pod_view import Pod, PodMetadata, PodOwner, PodSpec, PodStatus
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.objects.podgangs import pod_gang
from grove.schedulers.registry import Selection
from grove.schedulers.yunikorn.applications import APPLICATION_ID
from grove.schedulers.yunikorn.backend import YuniKorn
from grove.schedulers.yunikorn.placeholders import PLACEHOLDERS
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import Json, gang, group

yunikorn = YuniKorn({})


PLAIN = {PLACEHOLDERS: '[{"minResource":{"cpu":"1"}}]'}
"""The annotation of a gang of one group whose pods request one CPU."""

GANG = gang(group("a", 1), annotations=PLAIN)


def containers(*requests: Json, **more: Any) -> Json:
    made = [{"name": f"c{i}", "image": "app:1", "resources": {"requests": r}} for i, r in enumerate(requests)]
    return {"podSpec": {"containers": made, **more}}


def gang_of(found: PodCliqueSet, backend: YuniKorn = yunikorn) -> PodGang:
    """The base gang of a set, as the operator creates it."""
    found.metadata.namespace = "team-a"
    layout = SetLayout(found)
    base, *_ = gang_members(layout, 0, {})
    made = pod_gang(layout, base, Selection(backend, "yunikorn").scheduling(layout, base, None))
    made.metadata.uid = "5d1c7a52-0000-4000-8000-000000000001"
    made.metadata.owner_references = []
    return made


def draft_of(found: PodGang, backend: YuniKorn = yunikorn, index: int = 0) -> PodDraft:
    draft = PodDraft("yunikorn", backend.gate)
    backend.prepare_pod(found, found.spec.pod_groups[index], draft)
    return draft


def pod(
    found: PodGang,
    *,
    uid: str = "first",
    phase: str = "Pending",
    reason: str = "",
    node: str = "",
    going: bool = False,
) -> Pod:
    return Pod(
        metadata=PodMetadata(
            name="p",
            uid=uid,
            labels={APPLICATION_ID: draft_of(found).labels[APPLICATION_ID]},
            deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
        ),
        spec=PodSpec(node_name=node or None),
        status=PodStatus(phase=phase, reason=reason or None),
    )


def placeholder(found: PodGang, node: str) -> Pod:
    made = pod(found, node=node)
    made.metadata.labels[labels.STAND_IN_FOR] = found.metadata.name or ""
    made.metadata.owner_references = (PodOwner(uid="first", kind="Pod", name="p", controller=False),)
    return made


SETS: dict[str, PodCliqueSet] = {
    "flat": pcs(clique("worker", replicas=4, **containers({"cpu": "1"}))),
    "groups": pcs(
        clique(
            "router",
            **containers({"cpu": "500m", "memory": "1Gi"}, {"cpu": "250m"}),
        ),
        clique(
            "worker",
            replicas=6,
            minAvailable=4,
            labels={"app": "worker"},
            **containers(
                {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"},
                nodeSelector={"pool": "gpu"},
                tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
                initContainers=[
                    {"name": "load", "image": "app:1", "resources": {"requests": {"memory": "16Gi"}}}
                ],
            ),
        ),
        priorityClassName="inference",
    ),
    "pod-anti-affinity": pcs(
        clique(
            "worker",
            replicas=2,
            labels={"app": "worker"},
            **containers(
                {"cpu": "1"},
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "labelSelector": {"matchLabels": {"app": "worker"}},
                                "topologyKey": "kubernetes.io/hostname",
                            }
                        ]
                    }
                },
            ),
        )
    ),
    "copies": pcs(
        clique("leader", replicas=1, **containers({"cpu": "1"})),
        clique("worker", replicas=2, **containers({"cpu": "2"})),
        podCliqueScalingGroups=[
            {"name": "unit", "cliqueNames": ["leader", "worker"], "replicas": 3, "minAvailable": 2}
        ],
    ),
    "no-requests": pcs(clique("worker")),
}
