"""A gang of one leader and two workers, written by hand for every scheduler, and ways to write it wrong."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

GATE = "grove.io/podgang-pending-creation"
ROLES = {"leader": ["leader-0"], "worker": ["worker-0", "worker-1"]}
ANYTHING = {kind: {"limit": -1, "quota": -1} for kind in ("cpu", "memory", "gpu")}


@dataclass
class Gang:
    """What to create: objects by path, and for each pod the metadata and spec that link it."""

    scheduler: str
    objects: list[tuple[str, Json]] = field(default_factory=list)
    link: Callable[[str], Json] = field(default=lambda role: {})
    group_path: str = ""


def meta(name: str, **more: Any) -> Json:
    return {"metadata": {"name": name, **more}}


def kube_135() -> Gang:
    groups = [{"name": "gang", "policy": {"gang": {"minCount": 3}}}]
    path = "/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads"
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        **meta("g"),
        "spec": {"podGroups": groups},
    }
    return Gang(
        "default-scheduler", [(path, workload)], lambda _: {"workloadRef": {"name": "g", "podGroup": "gang"}}
    )


def kube_flat(version: str) -> Gang:
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    group = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        **meta("g.pg"),
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
    }
    link = {"schedulingGroup": {"podGroupName": "g.pg"}}
    return Gang("default-scheduler", [(path, group)], lambda _: link, f"{path}/g.pg")


def kube_137() -> Gang:
    groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
    trees = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups"
    ref = {"workloadRef": {"workloadName": "g", "templateName": "t"}}
    root = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        **meta("g"),
        "spec": {**ref, "schedulingPolicy": {"gang": {"minGroupCount": 2}}},
    }
    leaves = [
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            **meta(f"g.pg.{role}"),
            "spec": {
                **ref,
                "parentCompositePodGroupName": "g",
                "schedulingPolicy": {"gang": {"minCount": len(names)}},
            },
        }
        for role, names in ROLES.items()
    ]
    return Gang(
        "default-scheduler",
        [(trees, root), *((groups, leaf) for leaf in leaves)],
        lambda role: {"schedulingGroup": {"podGroupName": f"g.pg.{role}"}},
        f"{groups}/g.pg.worker",
    )


def kai() -> Gang:
    groups = "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups"
    queues = [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            **meta(name),
            "spec": {"resources": ANYTHING, **({"parentQueue": parent} if parent else {})},
        }
        for name, parent in (("default-parent", ""), ("default-queue", "default-parent"))
    ]
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        **meta("pg-g"),
        "spec": {
            "queue": "default-queue",
            "subGroups": [{"name": role, "minMember": len(names)} for role, names in ROLES.items()],
        },
    }
    return Gang(
        "kai-scheduler",
        [*(("/apis/scheduling.run.ai/v2/queues", queue) for queue in queues), (groups, group)],
        lambda role: {
            "annotations": {"pod-group-name": "pg-g"},
            "labels": {"kai.scheduler/subgroup-name": role},
        },
        f"{groups}/pg-g",
    )


def koordinator() -> Gang:
    path = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
    tied = json.dumps([f"default/g-{role}" for role in ROLES])
    annotations = {
        "gang.scheduling.koordinator.sh/groups": tied,
        "gang.scheduling.koordinator.sh/match-policy": "waiting-and-running",
    }
    groups = [
        {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            **meta(f"g-{role}", annotations=annotations),
            "spec": {"minMember": len(names)},
        }
        for role, names in ROLES.items()
    ]
    return Gang(
        "koord-scheduler",
        [(path, group) for group in groups],
        lambda role: {"labels": {"pod-group.scheduling.sigs.k8s.io": f"g-{role}"}},
        f"{path}/g-worker",
    )


def volcano() -> Gang:
    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
    policies = [
        {
            "name": role,
            "labelSelector": {"matchLabels": {"role": role}},
            "matchLabelKeys": ["gang"],
            "subGroupSize": len(names),
            "minSubGroups": 1,
        }
        for role, names in ROLES.items()
    ]
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        **meta("g"),
        "spec": {"minMember": 3, "subGroupPolicy": policies},
    }
    return Gang(
        "volcano",
        [(path, group)],
        lambda role: {
            "annotations": {"scheduling.k8s.io/group-name": "g"},
            "labels": {"role": role, "gang": "g"},
        },
        f"{path}/g",
    )


def yunikorn() -> Gang:
    groups = [
        {"name": role, "minMember": len(names), "minResource": {"cpu": "1"}} for role, names in ROLES.items()
    ]

    def link(role: str) -> Json:
        return {
            "labels": {"yunikorn.apache.org/app-id": "g"},
            "annotations": {
                "yunikorn.apache.org/task-group-name": role,
                "yunikorn.apache.org/task-groups": json.dumps(groups),
                "yunikorn.apache.org/schedulingPolicyParameters": "gangSchedulingStyle=Hard",
            },
        }

    return Gang("yunikorn", [], link)


GANGS: dict[str, Callable[[], Gang]] = {
    "kube-1.35": kube_135,
    "kube-1.36": lambda: kube_flat("v1alpha2"),
    "kube-1.37-flat": lambda: kube_flat("v1beta1"),
    "kube-1.37": kube_137,
    "kai": kai,
    "koordinator": koordinator,
    "volcano": volcano,
    "yunikorn": yunikorn,
}
PODS = [(role, name) for role, names in ROLES.items() for name in names]


def without(*names: str) -> Callable[[Json], Json]:
    """The link of a pod with labels or annotations left out."""

    def changed(link: Json) -> Json:
        return {
            part: {k: v for k, v in value.items() if k not in names} if isinstance(value, dict) else value
            for part, value in link.items()
        }

    return changed


def renamed(part: str, name: str, value: str) -> Callable[[Json], Json]:
    return lambda link: {**link, part: {**link[part], name: value}}


def spec_of(number: int, **changes: Any) -> Callable[[Gang], None]:
    """One of the gang's objects with other fields in its spec."""

    def change(gang: Gang) -> None:
        path, obj = gang.objects[number]
        gang.objects[number] = (path, {**obj, "spec": {**obj["spec"], **changes}})

    return change


WRONG_LINKS = [
    ("kube-1.35", renamed("workloadRef", "name", "other")),
    ("kube-1.35", renamed("workloadRef", "podGroup", "other")),
    ("kube-1.36", renamed("schedulingGroup", "podGroupName", "g")),
    ("kube-1.37-flat", renamed("schedulingGroup", "podGroupName", "g")),
    ("kube-1.37", renamed("schedulingGroup", "podGroupName", "g.pg")),
    ("kai", without("pod-group-name")),
    ("kai", renamed("annotations", "pod-group-name", "g")),
    ("kai", without("kai.scheduler/subgroup-name")),
    ("kai", renamed("labels", "kai.scheduler/subgroup-name", "other")),
    ("koordinator", renamed("labels", "pod-group.scheduling.sigs.k8s.io", "g")),
    ("volcano", without("scheduling.k8s.io/group-name")),
    ("volcano", renamed("annotations", "scheduling.k8s.io/group-name", "other")),
    ("volcano", without("role")),
    ("volcano", without("gang")),
]
WRONG_OBJECTS = [
    ("kube-1.35", spec_of(0, podGroups=[{"name": "gang", "policy": {"gang": {"minCount": 4}}}])),
    ("kube-1.36", spec_of(0, schedulingPolicy={"gang": {"minCount": 4}})),
    ("kube-1.37", spec_of(0, schedulingPolicy={"gang": {"minGroupCount": 3}})),
    ("kube-1.37", spec_of(2, schedulingPolicy={"gang": {"minCount": 3}})),
    ("kube-1.37", spec_of(1, parentCompositePodGroupName="other")),
    ("kube-1.37-flat", spec_of(0, schedulingConstraints={"topology": [{"key": "no.such/label"}]})),
    ("kai", spec_of(2, queue="other")),
    ("kai", spec_of(1, resources={}, parentQueue="default-parent")),
    ("kai", spec_of(2, subGroups=[{"name": "leader", "minMember": 1}, {"name": "worker", "minMember": 3}])),
    ("kai", spec_of(2, topologyConstraint={"topology": "gone", "requiredTopologyLevel": "x"})),
    ("koordinator", spec_of(0, minMember=2)),
    ("volcano", spec_of(0, minMember=4)),
    ("volcano", spec_of(0, queue="other")),
    ("volcano", spec_of(0, minTaskMember={"leader": 1})),
]


RACK = "grove.io/rack"


def on_one_rack(name: str, racks: list[str]) -> Gang:
    """The gang of a scheduler that knows topology, required to be on one of the racks, which are a label of nodes."""
    gang = GANGS[name]()
    if name.startswith("kube"):
        spec_of(0, schedulingConstraints={"topology": [{"key": RACK}]})(gang)
    elif name == "kai":
        topology = {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            **meta("cluster-topology"),
            "spec": {"levels": [{"nodeLabel": RACK}]},
        }
        gang.objects.append(("/apis/kai.scheduler/v1alpha1/topologies", topology))
        constraint = {"topology": "cluster-topology", "requiredTopologyLevel": RACK}
        spec_of(2, topologyConstraint=constraint)(gang)
    elif name == "volcano":
        for rack in racks:
            selector = {"labelMatch": {"matchLabels": {RACK: rack}}}
            hyper_node = {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                **meta(rack),
                "spec": {"tier": 1, "members": [{"type": "Node", "selector": selector}]},
            }
            gang.objects.append(("/apis/topology.volcano.sh/v1alpha1/hypernodes", hyper_node))
        spec_of(0, networkTopology={"mode": "hard", "highestTierAllowed": 1})(gang)
    return gang


KNOW_TOPOLOGY = ("kube-1.36", "kube-1.37-flat", "kube-1.37", "kai", "volcano")
