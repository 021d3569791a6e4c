"""Our plans give the same objects as the Go reference, field by field.

Both sides are brought to one form first. Each function that does so is one difference that is allowed, and says why;
whatever they do not name must be equal.
"""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from grove.api import PodCliqueSet, labels
from grove.api.defaults import with_defaults
from grove.api.podgang import PodGang
from grove.api.scalars import Duration
from grove.api.serialization import codec, yaml
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.pod_draft import GroupDrafts, PodDraft
from grove.plan.objects.podgangs import GangScheduling
from grove.plan.render import ScheduledGang, build_gang, lay_out, render

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = sorted(p.stem for p in (GOLDEN / "manifests").glob("*.yaml"))
INIT_IMAGE = "registry.example/grove-initc:1"
GATE = "example.com/gang"
BACKEND = "example"


@pytest.mark.parametrize("case", CASES)
def test_a_set_has_the_defaults_of_the_reference(case: str) -> None:
    (theirs,) = [o for o in recorded(case) if o["kind"] == "PodCliqueSet"]
    spec = codec.to_builtins(with_defaults(given(case)).spec)
    # Go normalises a duration; we keep the spelling of the user.
    spec["template"]["terminationDelay"] = Duration(spec["template"]["terminationDelay"]).canonical()
    assert spec == without_empty_resources(theirs["spec"])


@pytest.mark.parametrize("case", CASES)
def test_the_objects_are_those_of_the_reference(case: str) -> None:
    pcs = given(case)
    made = aligned([as_a_server_keeps(o) for o in rendered(pcs)])
    expected = aligned([as_we_make(o) for o in recorded(case) if is_ours_to_make(o, pcs)])
    assert list(made) == list(expected)
    for key in expected:
        assert made[key] == expected[key], key


def test_the_cases_cover_every_kind() -> None:
    kinds = {o["kind"] for case in CASES for o in rendered(given(case))}
    assert kinds == {
        "PodClique",
        "PodCliqueScalingGroup",
        "PodGang",
        "Pod",
        "Service",
        "HorizontalPodAutoscaler",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Secret",
    }


def given(case: str) -> PodCliqueSet:
    """The manifest, applied to the namespace that the recording calls `<namespace>`."""
    pcs = PodCliqueSet.from_yaml((GOLDEN / "manifests" / f"{case}.yaml").read_text())
    return replace(pcs, metadata=replace(pcs.metadata, namespace="<namespace>"))


def recorded(case: str) -> list[Json]:
    return [d.value for d in yaml.load_all((GOLDEN / "objects" / f"{case}.yaml").read_text())]


def rendered(pcs: PodCliqueSet) -> list[Json]:
    """With a stand-in for the scheduler backends, which have golden files of their own."""
    parts = lay_out(pcs)
    scheduler = parts.layout.scheduler_name or "default-scheduler"
    gangs: list[ScheduledGang] = []
    for members in parts.gang_members:
        gang = build_gang(parts, members, GangScheduling(scheduler, BACKEND))
        drafts = GroupDrafts(draft(gang, scheduler))
        gangs.append(ScheduledGang(gang, {g.name: drafts for g in gang.spec.pod_groups}))
    return render(parts, gangs, init_image=INIT_IMAGE, gates=frozenset())


def draft(gang: PodGang, scheduler: str) -> PodDraft:
    drafted = PodDraft(scheduler, GATE)
    if scheduler == "volcano":
        keys = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
        drafted.annotations = dict.fromkeys(keys, gang.metadata.name or "")
    return drafted


# The recorded objects, without the differences that we chose.


def is_ours_to_make(obj: Json, pcs: PodCliqueSet) -> bool:
    """Not the set itself, nor the scheduler's objects. Access to pods only if cliques wait for each other."""
    if obj["kind"] in ("ServiceAccount", "Role", "RoleBinding", "Secret"):
        return SetLayout(pcs).starts_in_order
    return obj["kind"] not in ("PodCliqueSet", "PodGroup")


def as_we_make(obj: Json) -> Json:
    """Without the traces of other controllers and of time; with our gate and our image of the init container."""
    obj = copy.deepcopy(obj)
    obj.pop("status", None)
    obj["metadata"].pop("generation", None)
    if obj["kind"] == "Secret":
        assert obj.pop("data").keys() == {"namespace", "token"}
    if obj["kind"] == "PodClique":
        obj["spec"] = without_empty_resources(obj["spec"])
    if obj["kind"] == "Pod":
        # Pods of scaled gangs still wait for their base gang; the gate of all others is gone.
        assert obj["spec"].pop("schedulingGates", []) in ([], [{"name": labels.Gate.REFERENCE}])
        for container in obj["spec"].get("initContainers", []):
            if container["image"].startswith("grove-initc:"):
                container["image"] = INIT_IMAGE
    return obj


def without_empty_resources(value: Any) -> Any:
    """Go writes empty `resources` for a container that has none."""
    if isinstance(value, list):
        return [without_empty_resources(v) for v in value]
    if isinstance(value, dict):
        return {k: without_empty_resources(v) for k, v in value.items() if (k, v) != ("resources", {})}
    return value


# Our objects, as an API server would store them.


def as_a_server_keeps(obj: Json) -> Json:
    if obj["kind"] == "Pod":
        return pod_in_cluster(obj)
    if obj["kind"] == "Service":
        if not obj["spec"]["publishNotReadyAddresses"]:
            del obj["spec"]["publishNotReadyAddresses"]  # Go does not write false
        obj["spec"] |= {
            "clusterIPs": ["None"],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "type": "ClusterIP",
        }
    if obj["kind"] == "PodGang":
        assert obj["metadata"]["labels"].pop(labels.SCHEDULER_BACKEND) == BACKEND
        for group in obj["spec"]["podgroups"]:
            for reference in group["podReferences"]:
                reference["name"] = recorded_name(reference["name"])
    return obj


def recorded_name(pod: str) -> str:
    clique, _, index = pod.rpartition("-")
    return f"{clique}-<{index}>"


def pod_in_cluster(pod: Json) -> Json:
    pod["metadata"]["name"] = recorded_name(pod["metadata"]["name"])
    spec = pod["spec"]
    assert spec.pop("schedulingGates") == [{"name": GATE}]
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        container.setdefault("resources", {})
        container |= {
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
        for variable in container.get("env", []):
            if "valueFrom" in variable:
                variable["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
    for volume in spec.get("volumes", []):
        if "downwardAPI" in volume:
            volume["downwardAPI"]["defaultMode"] = 420
            for item in volume["downwardAPI"]["items"]:
                item["fieldRef"]["apiVersion"] = "v1"
    spec |= {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "securityContext": {},
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": {None: 0, "system-node-critical": 2000001000}[spec.get("priorityClassName")],
    }
    lost = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    spec["tolerations"] = [
        *spec.get("tolerations", []),
        *({"key": k, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for k in lost),
    ]
    return pod


def aligned(objects: Iterable[Json]) -> dict[tuple[str, str], Json]:
    """By kind and name. Hashes become numbers: the values differ, but equal hashes must be equal on both sides."""
    found = {(o["kind"], o["metadata"]["name"]): o for o in objects}
    numbers: dict[str, str] = {}
    for _, obj in sorted(found.items()):
        own = obj["metadata"].get("labels", {})
        if labels.POD_TEMPLATE_HASH in own:
            value = own[labels.POD_TEMPLATE_HASH]
            own[labels.POD_TEMPLATE_HASH] = numbers.setdefault(value, f"hash {len(numbers)}")
        for group in obj["spec"]["podgroups"] if obj["kind"] == "PodGang" else []:
            group["podReferences"].sort(key=lambda r: str(r["name"]))
    return dict(sorted(found.items()))
