"""Each rule accepts one set and refuses another, with the path, the rule and a remedy."""

from dataclasses import dataclass
from typing import Any

import pytest

from grove.api import ClusterTopologyBinding, OperatorConfiguration, PodCliqueSet, Time
from grove.api.serialization import codec
from grove.api.validation import Problem, ValidationContext, check_binding, check_configuration, validate
from tests.unit.api.sets import CONTAINER, clique, pcs, pcs_json

Json = dict[str, Any]


def configuration(**changes: Any) -> OperatorConfiguration:
    return codec.decode(codec.encode(changes), OperatorConfiguration)


TOPOLOGY = codec.decode(
    codec.encode(
        {
            "metadata": {"name": "dc"},
            "spec": {"levels": [{"domain": d, "key": f"example.com/{d}"} for d in ("zone", "rack", "host")]},
        }
    ),
    ClusterTopologyBinding,
)
ALL_ON = ValidationContext(
    configuration(topologyAwareScheduling={"enabled": True}, network={"autoMNNVLEnabled": True}),
    {"dc": TOPOLOGY},
)


def with_meta(**metadata: Any) -> PodCliqueSet:
    return codec.decode(codec.encode(pcs_json() | {"metadata": metadata}), PodCliqueSet)


def with_replicas(replicas: int) -> PodCliqueSet:
    found = pcs()
    found.spec.replicas = replicas
    return found


def group(name: str = "unit", cliques: tuple[str, ...] = ("worker",), **changes: Any) -> Json:
    return {"name": name, "cliqueNames": list(cliques)} | changes


def pack(required: str | None = None, preferred: str | None = None, topology: str | None = "dc") -> Json:
    wanted = {k: v for k, v in (("required", required), ("preferred", preferred)) if v}
    return {"pack": wanted} | ({"topologyName": topology} if topology else {})


def env(*names: str) -> Json:
    return {"containers": [CONTAINER | {"env": [{"name": n} for n in names]}]}


def claim(name: str = "gpu", requests: int = 1) -> Json:
    return {"name": name, "templateSpec": {"spec": {"devices": {"requests": [{"name": "r"}] * requests}}}}


def share(name: str = "gpu", **changes: Any) -> Json:
    return {"name": name, "scope": "AllReplicas"} | changes


def scheduled_by(name: str) -> Json:
    return {"containers": [CONTAINER], "schedulerName": name}


MNNVL = "grove.io/mnnvl-group"
EXPLICIT = {"cliqueStartupType": "CliqueStartupTypeExplicit"}


@dataclass(frozen=True)
class Rule:
    name: str
    good: PodCliqueSet
    bad: PodCliqueSet
    path: str
    says: str
    known: ValidationContext = ALL_ON


T = "spec.template"
MALFORMED: list[Json] = [
    {"priorityClassName": 5},
    {"schedulingGates": ["gate"]},
    {"volumes": {}},
    {"resourceClaims": {}},
    {"containers": [CONTAINER | {"resources": "all"}]},
    {"containers": [CONTAINER | {"resources": {"limits": "all"}}]},
    {"initContainers": [CONTAINER | {"resources": {"claims": "all"}}]},
]

CREATE_RULES = [
    Rule("a name is required", with_meta(name="a"), with_meta(), "metadata.name", "has a name"),
    Rule(
        "a name is a DNS name", with_meta(name="a-1.b"), with_meta(name="A_1"), "metadata.name", "lower case"
    ),
    Rule(
        "a generated name is one too",
        with_meta(generateName="a-"),
        with_meta(generateName="A-"),
        "metadata.generateName",
        "lower case",
    ),
    Rule(
        "labels are spelt right",
        with_meta(name="a", labels={"x.io/y": "1"}),
        with_meta(name="a", labels={"x/y/z": "1"}),
        "metadata.labels[x/y/z]",
        "label keys",
    ),
    Rule(
        "label values too",
        with_meta(name="a", labels={"y": ""}),
        with_meta(name="a", labels={"y": "a b"}),
        "metadata.labels[y]",
        "label value",
    ),
    Rule(
        "annotations are spelt right",
        with_meta(name="a", annotations={"Y": "a b"}),
        with_meta(name="a", annotations={"-": "1"}),
        "metadata.annotations[-]",
        "annotation keys",
    ),
    Rule(
        "annotations have a limit",
        with_meta(name="a", annotations={"y": "a" * 1000}),
        with_meta(name="a", annotations={"y": "a" * 300_000}),
        "metadata.annotations",
        "256 KiB",
    ),
    Rule("replicas are not negative", with_replicas(0), with_replicas(-1), "spec.replicas", "at least 0"),
    Rule(
        "the delay is positive",
        pcs(terminationDelay="1s"),
        pcs(terminationDelay="-1s"),
        f"{T}.terminationDelay",
        "more than 0",
    ),
    # Cliques
    Rule(
        "a set has cliques",
        pcs(),
        codec.decode(codec.encode(pcs_json() | {"spec": {"template": {"cliques": []}}}), PodCliqueSet),
        f"{T}.cliques",
        "at least one clique",
    ),
    Rule("a clique has a name", pcs(clique("a")), pcs(clique(" ")), f"{T}.cliques[0].name", "has a name"),
    Rule("which is a DNS name", pcs(clique("a.b")), pcs(clique("a_b")), f"{T}.cliques[0].name", "lower case"),
    Rule(
        "names are unique",
        pcs(clique("a"), clique("b")),
        pcs(clique("a"), clique("a", roleName="b")),
        f"{T}.cliques[1].name",
        "this name too",
    ),
    Rule(
        "roles are unique",
        pcs(clique("a"), clique("b")),
        pcs(clique("a"), clique("b", roleName="a")),
        f"{T}.cliques[1].spec.roleName",
        "this role too",
    ),
    Rule(
        "names are short together",
        pcs(clique("a" * 40)),
        pcs(clique("a" * 41)),
        f"{T}.cliques[0].name",
        "46 characters",
    ),
    Rule(
        "said of the set's name too",
        pcs(clique("a" * 40)),
        pcs(clique("a" * 41)),
        "metadata.name",
        "46 characters",
    ),
    Rule(
        "clique labels are spelt right",
        pcs(clique(labels={"a": "b"})),
        pcs(clique(labels={"a": "b c"})),
        f"{T}.cliques[0].labels[a]",
        "label value",
    ),
    Rule(
        "clique annotations too",
        pcs(clique(annotations={"a": "b c"})),
        pcs(clique(annotations={"a b": "c"})),
        f"{T}.cliques[0].annotations[a b]",
        "annotation keys",
    ),
    Rule(
        "a clique has pods",
        pcs(clique(replicas=1)),
        pcs(clique(replicas=-1)),
        f"{T}.cliques[0].spec.replicas",
        "at least 1",
    ),
    Rule(
        "a minimum is positive",
        pcs(clique(minAvailable=1)),
        pcs(clique(minAvailable=0)),
        f"{T}.cliques[0].spec.minAvailable",
        "at least 1",
    ),
    Rule(
        "and not more than replicas",
        pcs(clique(minAvailable=2)),
        pcs(clique(minAvailable=3)),
        f"{T}.cliques[0].spec.minAvailable",
        "replicas, which is 2",
    ),
    Rule(
        "scaling keeps the minimum",
        pcs(clique(autoScalingConfig={"minReplicas": 2, "maxReplicas": 2})),
        pcs(clique(autoScalingConfig={"minReplicas": 1, "maxReplicas": 2})),
        f"{T}.cliques[0].spec.autoScalingConfig.minReplicas",
        "minAvailable, which is 2",
    ),
    Rule(
        "scaling has room",
        pcs(clique(autoScalingConfig={"maxReplicas": 2})),
        pcs(clique(autoScalingConfig={"maxReplicas": 1})),
        f"{T}.cliques[0].spec.autoScalingConfig.maxReplicas",
        "at least minReplicas",
    ),
    # Start order
    Rule(
        "startsAfter names cliques",
        pcs(clique("a"), clique("b", startsAfter=["a"]), **EXPLICIT),
        pcs(clique("a"), clique("b", startsAfter=["c"]), **EXPLICIT),
        f"{T}.cliques[1].spec.startsAfter[0]",
        "no such clique",
    ),
    Rule(
        "and not blanks",
        pcs(**EXPLICIT),
        pcs(clique("a", startsAfter=[" "]), **EXPLICIT),
        f"{T}.cliques[0].spec.startsAfter[0]",
        "blank",
    ),
    Rule(
        "and not itself",
        pcs(**EXPLICIT),
        pcs(clique("a", startsAfter=["a"]), **EXPLICIT),
        f"{T}.cliques[0].spec.startsAfter[0]",
        "after itself",
    ),
    Rule(
        "each once",
        pcs(clique("a"), clique("b", startsAfter=["a"]), **EXPLICIT),
        pcs(clique("a"), clique("b", startsAfter=["a", "a"]), **EXPLICIT),
        f"{T}.cliques[1].spec.startsAfter[1]",
        "listed twice",
    ),
    Rule(
        "without cycles",
        pcs(clique("a"), clique("b", startsAfter=["a"]), clique("c", startsAfter=["a", "b"]), **EXPLICIT),
        pcs(
            clique("a", startsAfter=["c"]),
            clique("b", startsAfter=["a"]),
            clique("c", startsAfter=["b"]),
            **EXPLICIT,
        ),
        f"{T}.cliques[0].spec.startsAfter",
        "a -> c -> b -> a",
    ),
    # Pod templates
    Rule(
        "pods are not spread",
        pcs(),
        pcs(clique(podSpec={"containers": [CONTAINER], "topologySpreadConstraints": [{}]})),
        f"{T}.cliques[0].spec.podSpec.topologySpreadConstraints",
        "as a gang",
    ),
    Rule(
        "pods have no node",
        pcs(),
        pcs(clique(podSpec={"containers": [CONTAINER], "nodeName": "n"})),
        f"{T}.cliques[0].spec.podSpec.nodeName",
        "bypasses",
    ),
    Rule(
        "a pod template is one",
        pcs(),
        pcs(clique(podSpec={"containers": "c"})),
        f"{T}.cliques[0].spec.podSpec",
        "not a PodSpec",
    ),
    *(
        Rule(
            f"what Grove reads of a pod template has its shape: {wrong}",
            pcs(),
            pcs(clique(podSpec={"containers": [CONTAINER]} | wrong)),
            f"{T}.cliques[0].spec.podSpec",
            "not a PodSpec",
        )
        for wrong in MALFORMED
    ),
    Rule(
        "variables have names",
        pcs(clique(podSpec=env("A", "b.c-d"))),
        pcs(clique(podSpec=env("A=B"))),
        f"{T}.cliques[0].spec.podSpec.containers[0].env[0].name",
        "environment variable",
    ),
    Rule(
        "each variable once",
        pcs(clique(podSpec=env("A", "B"))),
        pcs(clique(podSpec=env("A", "A"))),
        f"{T}.cliques[0].spec.podSpec.containers[0].env[1].name",
        "set twice",
    ),
    Rule(
        "in init containers too",
        pcs(),
        pcs(
            clique(
                podSpec={"containers": [CONTAINER], "initContainers": [CONTAINER | {"env": [{"name": ""}]}]}
            )
        ),
        f"{T}.cliques[0].spec.podSpec.initContainers[0].env[0].name",
        "environment variable",
    ),
    # Schedulers
    Rule(
        "one scheduler per set",
        pcs(clique("a", podSpec=scheduled_by("volcano")), clique("b", podSpec=scheduled_by("volcano"))),
        pcs(clique("a", podSpec=scheduled_by("volcano")), clique("b")),
        f"{T}.cliques[0].spec.podSpec.schedulerName",
        "a uses volcano, b uses default-scheduler",
    ),
    Rule(
        "which is enabled",
        pcs(clique(podSpec=scheduled_by("grove-scheduler"))),
        pcs(clique(podSpec=scheduled_by("mine"))),
        f"{T}.cliques[0].spec.podSpec.schedulerName",
        '"kai-scheduler"',
    ),
    Rule(
        "any koord is Koordinator",
        pcs(clique(podSpec=scheduled_by("my-koord-2"))),
        pcs(clique(podSpec=scheduled_by("coord"))),
        f"{T}.cliques[0].spec.podSpec.schedulerName",
        "supported values",
    ),
    Rule(
        "a profile list is exhaustive",
        pcs(clique(podSpec=scheduled_by("default-scheduler"))),
        pcs(clique(podSpec=scheduled_by("kai-scheduler"))),
        f"{T}.cliques[0].spec.podSpec.schedulerName",
        '"volcano", "default-scheduler"',
        ValidationContext(configuration(scheduler={"profiles": [{"name": "volcano"}]})),
    ),
    # Scaling groups
    Rule(
        "a group's name is a DNS name",
        pcs(podCliqueScalingGroups=[group("g")]),
        pcs(podCliqueScalingGroups=[group("G")]),
        f"{T}.podCliqueScalingGroups[0].name",
        "lower case",
    ),
    Rule(
        "group names are unique",
        pcs(clique("a"), clique("b"), podCliqueScalingGroups=[group("g", ("a",)), group("h", ("b",))]),
        pcs(clique("a"), clique("b"), podCliqueScalingGroups=[group("g", ("a",)), group("g", ("b",))]),
        f"{T}.podCliqueScalingGroups[1].name",
        "this name too",
    ),
    Rule(
        "groups have cliques",
        pcs(podCliqueScalingGroups=[group()]),
        pcs(podCliqueScalingGroups=[group(cliques=())]),
        f"{T}.podCliqueScalingGroups[0].cliqueNames",
        "at least one clique",
    ),
    Rule(
        "which exist",
        pcs(podCliqueScalingGroups=[group()]),
        pcs(podCliqueScalingGroups=[group(cliques=("worker", "x"))]),
        f"{T}.podCliqueScalingGroups[0].cliqueNames[1]",
        "no such clique",
    ),
    Rule(
        "in one group",
        pcs(clique("a"), clique("b"), podCliqueScalingGroups=[group("g", ("a",)), group("h", ("b",))]),
        pcs(clique("a"), podCliqueScalingGroups=[group("g", ("a",)), group("h", ("a",))]),
        f"{T}.podCliqueScalingGroups[1].cliqueNames[0]",
        "already in the scaling group 'g'",
    ),
    Rule(
        "once",
        pcs(podCliqueScalingGroups=[group()]),
        pcs(podCliqueScalingGroups=[group(cliques=("worker", "worker"))]),
        f"{T}.podCliqueScalingGroups[0].cliqueNames[1]",
        "already in",
    ),
    Rule(
        "no clique beside a group has its name",
        pcs(clique("a"), clique("b"), podCliqueScalingGroups=[group("a", ("a",))]),
        pcs(clique("a"), clique("b"), podCliqueScalingGroups=[group("b", ("a",))]),
        f"{T}.podCliqueScalingGroups[0].name",
        "collide",
    ),
    Rule(
        "a group has copies",
        pcs(podCliqueScalingGroups=[group(replicas=1)]),
        pcs(podCliqueScalingGroups=[group(replicas=0)]),
        f"{T}.podCliqueScalingGroups[0].replicas",
        "at least 1",
    ),
    Rule(
        "its minimum is positive",
        pcs(podCliqueScalingGroups=[group(minAvailable=1)]),
        pcs(podCliqueScalingGroups=[group(minAvailable=0)]),
        f"{T}.podCliqueScalingGroups[0].minAvailable",
        "at least 1",
    ),
    Rule(
        "and not more than copies",
        pcs(podCliqueScalingGroups=[group(replicas=2, minAvailable=2)]),
        pcs(podCliqueScalingGroups=[group(replicas=2, minAvailable=3)]),
        f"{T}.podCliqueScalingGroups[0].minAvailable",
        "replicas, which is 2",
    ),
    Rule(
        "its scaling keeps the minimum",
        pcs(podCliqueScalingGroups=[group(scaleConfig={"minReplicas": 1, "maxReplicas": 2})]),
        pcs(podCliqueScalingGroups=[group(scaleConfig={"minReplicas": 0, "maxReplicas": 2})]),
        f"{T}.podCliqueScalingGroups[0].scaleConfig.minReplicas",
        "minAvailable",
    ),
    Rule(
        "its scaling has room",
        pcs(podCliqueScalingGroups=[group(replicas=3, scaleConfig={"maxReplicas": 3})]),
        pcs(podCliqueScalingGroups=[group(replicas=3, scaleConfig={"maxReplicas": 2})]),
        f"{T}.podCliqueScalingGroups[0].scaleConfig.maxReplicas",
        "replicas (3)",
    ),
    Rule(
        "members do not scale alone",
        pcs(clique(), podCliqueScalingGroups=[group()]),
        pcs(clique(autoScalingConfig={"maxReplicas": 2}), podCliqueScalingGroups=[group()]),
        f"{T}.cliques[0].spec.autoScalingConfig",
        "scales with its scaling group 'unit'",
    ),
    Rule(
        "group names are short too",
        pcs(podCliqueScalingGroups=[group("g" * 34)]),
        pcs(podCliqueScalingGroups=[group("g" * 35)]),
        f"{T}.podCliqueScalingGroups[0].name",
        "46 characters",
    ),
    # Resource sharing
    Rule(
        "claims have names",
        pcs(resourceClaimTemplates=[claim()]),
        pcs(resourceClaimTemplates=[claim("")]),
        f"{T}.resourceClaimTemplates[0].name",
        "has a name",
    ),
    Rule(
        "unique ones",
        pcs(resourceClaimTemplates=[claim("a"), claim("b")]),
        pcs(resourceClaimTemplates=[claim("a"), claim("a")]),
        f"{T}.resourceClaimTemplates[1].name",
        "this name too",
    ),
    Rule(
        "and devices",
        pcs(resourceClaimTemplates=[claim()]),
        pcs(resourceClaimTemplates=[claim(requests=0)]),
        f"{T}.resourceClaimTemplates[0].templateSpec.spec.devices.requests",
        "at least one device",
    ),
    Rule(
        "sharing names a claim",
        pcs(resourceSharing=[share()]),
        pcs(resourceSharing=[share("")]),
        f"{T}.resourceSharing[0].name",
        "names a template",
    ),
    Rule(
        "once",
        pcs(clique(resourceSharing=[share("a"), share("b")])),
        pcs(clique(resourceSharing=[share("a"), share("a")])),
        f"{T}.cliques[0].resourceSharing[1].name",
        "shared twice",
    ),
    Rule(
        "our claims have no namespace",
        pcs(resourceSharing=[share(namespace="n")]),
        pcs(resourceClaimTemplates=[claim()], resourceSharing=[share(namespace="n")]),
        f"{T}.resourceSharing[0].namespace",
        "template of this set",
    ),
    Rule(
        "a filter filters",
        pcs(resourceSharing=[share(filter={"childCliqueNames": ["worker"]})]),
        pcs(resourceSharing=[share(filter={})]),
        f"{T}.resourceSharing[0].filter",
        "names something",
    ),
    Rule(
        "by cliques that exist",
        pcs(resourceSharing=[share(filter={"childCliqueNames": ["worker"]})]),
        pcs(resourceSharing=[share(filter={"childCliqueNames": ["x"]})]),
        f"{T}.resourceSharing[0].filter.childCliqueNames[0]",
        "no such clique",
    ),
    Rule(
        "by groups that exist",
        pcs(
            podCliqueScalingGroups=[group()],
            resourceSharing=[share(filter={"childScalingGroupNames": ["unit"]})],
        ),
        pcs(resourceSharing=[share(filter={"childScalingGroupNames": ["unit"]})]),
        f"{T}.resourceSharing[0].filter.childScalingGroupNames[0]",
        "no such scaling group",
    ),
    Rule(
        "a group's filter by its members",
        pcs(
            clique("a"),
            clique("b"),
            podCliqueScalingGroups=[
                group("g", ("a",), resourceSharing=[share(filter={"childCliqueNames": ["a"]})])
            ],
        ),
        pcs(
            clique("a"),
            clique("b"),
            podCliqueScalingGroups=[
                group("g", ("a",), resourceSharing=[share(filter={"childCliqueNames": ["b"]})])
            ],
        ),
        f"{T}.podCliqueScalingGroups[0].resourceSharing[0].filter.childCliqueNames[0]",
        "in the scaling group 'g'",
    ),
    Rule(
        "and not by nothing",
        pcs(podCliqueScalingGroups=[group(resourceSharing=[share()])]),
        pcs(podCliqueScalingGroups=[group(resourceSharing=[share(filter={})])]),
        f"{T}.podCliqueScalingGroups[0].resourceSharing[0].filter",
        "names something",
    ),
    # NVLink domains
    Rule(
        "an NVLink group has a name",
        pcs(clique(annotations={MNNVL: "g"})),
        pcs(clique(annotations={MNNVL: ""})),
        f"{T}.cliques[0].annotations[{MNNVL}]",
        "group's name",
    ),
    Rule(
        "which is a label",
        with_meta(name="a", annotations={MNNVL: "none"}),
        with_meta(name="a", annotations={MNNVL: "a.b"}),
        f"metadata.annotations[{MNNVL}]",
        "group's name",
    ),
    Rule(
        "if they are switched on",
        pcs(podCliqueScalingGroups=[group(annotations={MNNVL: "none"})]),
        pcs(podCliqueScalingGroups=[group(annotations={MNNVL: "g"})]),
        f"{T}.podCliqueScalingGroups[0].annotations[{MNNVL}]",
        "disabled",
        ValidationContext(),
    ),
    # Topology
    Rule(
        "topology must be on",
        pcs(),
        pcs(topologyConstraint=pack("rack")),
        f"{T}.topologyConstraint",
        "disabled",
        ValidationContext(),
    ),
    Rule(
        "a constraint names its topology",
        pcs(topologyConstraint=pack("rack")),
        pcs(topologyConstraint=pack("rack", topology=None)),
        f"{T}.topologyConstraint.topologyName",
        "names its topology",
    ),
    Rule(
        "or inherits it",
        pcs(clique(topologyConstraint=pack("host", topology=None)), topologyConstraint=pack("rack")),
        pcs(clique(topologyConstraint=pack("host", topology=None))),
        f"{T}.cliques[0].topologyConstraint.topologyName",
        "names its topology",
    ),
    Rule(
        "but not another",
        pcs(clique(topologyConstraint=pack("host")), topologyConstraint=pack("rack")),
        pcs(clique(topologyConstraint=pack("host", topology="other")), topologyConstraint=pack("rack")),
        f"{T}.cliques[0].topologyConstraint.topologyName",
        "the set around it uses 'dc'",
    ),
    Rule(
        "siblings agree",
        pcs(clique("a", topologyConstraint=pack("host")), clique("b", topologyConstraint=pack("host"))),
        pcs(
            clique("a", topologyConstraint=pack("host")),
            clique("b", topologyConstraint=pack("host", topology="x")),
        ),
        f"{T}.cliques[1].topologyConstraint.topologyName",
        "names dc, x",
    ),
    Rule(
        "the topology exists",
        pcs(topologyConstraint=pack("rack")),
        pcs(topologyConstraint=pack("rack", topology="x")),
        f"{T}.topologyConstraint.topologyName",
        "no such ClusterTopologyBinding",
    ),
    Rule(
        "required domains exist",
        pcs(topologyConstraint=pack("rack")),
        pcs(topologyConstraint=pack("row")),
        f"{T}.topologyConstraint.pack.required",
        '"zone", "rack", "host"',
    ),
    Rule(
        "preferred domains exist",
        pcs(topologyConstraint=pack(None, "rack")),
        pcs(topologyConstraint=pack(None, "row")),
        f"{T}.topologyConstraint.pack.preferred",
        "supported values",
    ),
    Rule(
        "the old field's domains exist",
        pcs(),
        pcs(topologyConstraint={"topologyName": "dc", "packDomain": "row"}),
        f"{T}.topologyConstraint.packDomain",
        "supported values",
    ),
    Rule(
        "a set is not narrower than its cliques",
        pcs(clique(topologyConstraint=pack("rack")), topologyConstraint=pack("rack")),
        pcs(clique(topologyConstraint=pack("zone")), topologyConstraint=pack("rack")),
        f"{T}.topologyConstraint.pack.required",
        "narrower than 'zone' of clique 'worker'",
    ),
    Rule(
        "nor than its groups",
        pcs(podCliqueScalingGroups=[group(topologyConstraint=pack("host"))], topologyConstraint=pack("rack")),
        pcs(
            podCliqueScalingGroups=[group(topologyConstraint=pack(None, "zone"))],
            topologyConstraint=pack(None, "rack"),
        ),
        f"{T}.topologyConstraint.pack.preferred",
        "scaling group 'unit'",
    ),
    Rule(
        "nor a group than its cliques",
        pcs(
            clique(topologyConstraint=pack("host")),
            podCliqueScalingGroups=[group(topologyConstraint=pack("rack"))],
        ),
        pcs(
            clique(topologyConstraint=pack("rack")),
            podCliqueScalingGroups=[group(topologyConstraint=pack("host"))],
        ),
        f"{T}.podCliqueScalingGroups[0].topologyConstraint.pack.required",
        "narrower than 'rack'",
    ),
]


def errors(problems: list[Problem]) -> list[Problem]:
    return [p for p in problems if not p.warning]


@pytest.mark.parametrize("rule", CREATE_RULES, ids=lambda r: r.name)
def test_a_rule_for_new_sets(rule: Rule) -> None:
    assert errors(validate(rule.good, None, rule.known)) == []
    found = [p for p in errors(validate(rule.bad, None, rule.known)) if p.field == rule.path]
    assert found, [str(p) for p in validate(rule.bad, None, rule.known)]
    assert any(rule.says in str(p) for p in found), [str(p) for p in found]
    assert all(p.remedy for p in found)


@dataclass(frozen=True)
class Change:
    name: str
    old: PodCliqueSet
    good: PodCliqueSet
    bad: PodCliqueSet
    path: str
    says: str


TWO = (clique("a"), clique("b"))
IN_ORDER = {"cliqueStartupType": "CliqueStartupTypeInOrder"}
UPDATE_RULES = [
    Change(
        "cliques stay",
        pcs(*TWO),
        pcs(clique("a", replicas=5, minAvailable=2), clique("b")),
        pcs(clique("a"), clique("c")),
        f"{T}.cliques",
        "added c; removed b",
    ),
    Change(
        "in order, when it matters",
        pcs(*TWO, **IN_ORDER),
        pcs(clique("a", labels={"x": "y"}), clique("b"), **IN_ORDER),
        pcs(*reversed(TWO), **IN_ORDER),
        f"{T}.cliques",
        "order in which they start",
    ),
    Change(
        "roles stay",
        pcs(),
        pcs(clique(labels={"x": "y"})),
        pcs(clique(roleName="x")),
        f"{T}.cliques[0].spec.roleName",
        "it was worker",
    ),
    Change(
        "minimums stay",
        pcs(),
        pcs(clique(minAvailable=2, replicas=3)),
        pcs(clique(minAvailable=1)),
        f"{T}.cliques[0].spec.minAvailable",
        "it was 2",
    ),
    Change(
        "dependencies stay",
        pcs(*TWO, **EXPLICIT),
        pcs(clique("a", replicas=3, minAvailable=2), clique("b"), **EXPLICIT),
        pcs(clique("a"), clique("b", startsAfter=["a"]), **EXPLICIT),
        f"{T}.cliques[1].spec.startsAfter",
        "it was not set",
    ),
    Change(
        "the scheduler stays",
        pcs(),
        pcs(clique(podSpec={"containers": [CONTAINER | {"image": "x"}]})),
        pcs(clique(podSpec=scheduled_by("volcano"))),
        f"{T}.cliques[0].spec.podSpec.schedulerName",
        "it was not set",
    ),
    Change(
        "shared claims stay",
        pcs(clique(resourceSharing=[share()])),
        pcs(clique(replicas=3, minAvailable=2, resourceSharing=[share()])),
        pcs(clique(resourceSharing=[])),
        f"{T}.cliques[0].resourceSharing",
        "cannot be changed",
    ),
    Change(
        "the start order's kind stays",
        pcs(),
        pcs(cliqueStartupType="CliqueStartupTypeAnyOrder", terminationDelay="1h"),
        pcs(**EXPLICIT),
        f"{T}.cliqueStartupType",
        "CliqueStartupTypeAnyOrder",
    ),
    Change(
        "claim templates stay",
        pcs(resourceClaimTemplates=[claim()]),
        pcs(resourceClaimTemplates=[claim()], terminationDelay="1h"),
        pcs(resourceClaimTemplates=[claim("b")]),
        f"{T}.resourceClaimTemplates",
        "cannot be changed",
    ),
    Change(
        "the set's shared claims stay",
        pcs(),
        pcs(priorityClassName="x"),
        pcs(resourceSharing=[share()]),
        f"{T}.resourceSharing",
        "cannot be changed",
    ),
    Change(
        "groups stay",
        pcs(podCliqueScalingGroups=[group()]),
        pcs(podCliqueScalingGroups=[group(replicas=4)]),
        pcs(podCliqueScalingGroups=[group("x")]),
        f"{T}.podCliqueScalingGroups",
        "added x; removed unit",
    ),
    Change(
        "their members stay",
        pcs(*TWO, podCliqueScalingGroups=[group("g", ("a",))]),
        pcs(*TWO, podCliqueScalingGroups=[group("g", ("a",), annotations={"x": "y"})]),
        pcs(*TWO, podCliqueScalingGroups=[group("g", ("b",))]),
        f"{T}.podCliqueScalingGroups[0].cliqueNames",
        "cannot be changed",
    ),
    Change(
        "their minimums stay",
        pcs(podCliqueScalingGroups=[group(replicas=2)]),
        pcs(podCliqueScalingGroups=[group(replicas=3, minAvailable=1)]),
        pcs(podCliqueScalingGroups=[group(replicas=2, minAvailable=2)]),
        f"{T}.podCliqueScalingGroups[0].minAvailable",
        "it was 1",
    ),
    Change(
        "a minimum that is left open stays open",
        pcs(clique(replicas=2)),
        pcs(clique(replicas=4)),
        pcs(clique(replicas=4, minAvailable=3)),
        f"{T}.cliques[0].spec.minAvailable",
        "it was 2",
    ),
    Change(
        "a minimum that is left open may be written down",
        pcs(clique(replicas=2)),
        pcs(clique(replicas=4, minAvailable=2)),
        pcs(clique(replicas=4, minAvailable=4)),
        f"{T}.cliques[0].spec.minAvailable",
        "it was 2",
    ),
    Change(
        "their shared claims stay",
        pcs(podCliqueScalingGroups=[group()]),
        pcs(podCliqueScalingGroups=[group(scaleConfig={"maxReplicas": 3})]),
        pcs(podCliqueScalingGroups=[group(resourceSharing=[share()])]),
        f"{T}.podCliqueScalingGroups[0].resourceSharing",
        "cannot be changed",
    ),
    Change(
        "constraints stay",
        pcs(topologyConstraint=pack("rack")),
        pcs(topologyConstraint=pack("rack"), terminationDelay="1h"),
        pcs(topologyConstraint=pack("host")),
        f"{T}.topologyConstraint",
        "cannot be changed",
    ),
    Change(
        "are not added",
        pcs(),
        pcs(terminationDelay="1h"),
        pcs(topologyConstraint=pack("host")),
        f"{T}.topologyConstraint",
        "cannot be added",
    ),
    Change(
        "are not removed",
        pcs(clique(topologyConstraint=pack("host"))),
        pcs(clique(topologyConstraint=pack("host"), labels={"x": "y"})),
        pcs(),
        f"{T}.cliques[0].topologyConstraint",
        "cannot be removed",
    ),
    Change(
        "packDomain may become pack.required",
        pcs(topologyConstraint={"topologyName": "dc", "packDomain": "rack"}),
        pcs(topologyConstraint=pack("rack")),
        pcs(topologyConstraint=pack("rack", "host")),
        f"{T}.topologyConstraint",
        "cannot be changed",
    ),
    Change(
        "a topology may be added where it was missing",
        pcs(topologyConstraint={"packDomain": "rack"}),
        pcs(topologyConstraint={"packDomain": "rack", "topologyName": "dc"}),
        pcs(topologyConstraint={"packDomain": "rack", "topologyName": "x"}),
        f"{T}.topologyConstraint.topologyName",
        "no such ClusterTopologyBinding",
    ),
    Change(
        "NVLink groups stay",
        pcs(clique(annotations={MNNVL: "a"})),
        pcs(clique(annotations={MNNVL: "a", "x": "y"})),
        pcs(clique(annotations={MNNVL: "b"})),
        f"{T}.cliques[0].annotations[{MNNVL}]",
        "it was a",
    ),
]


@pytest.mark.parametrize("change", UPDATE_RULES, ids=lambda c: c.name)
def test_a_rule_for_changed_sets(change: Change) -> None:
    assert errors(validate(change.good, change.old, ALL_ON)) == []
    found = [p for p in errors(validate(change.bad, change.old, ALL_ON)) if p.field == change.path]
    assert found, [str(p) for p in validate(change.bad, change.old, ALL_ON)]
    assert any(change.says in str(p) for p in found), [str(p) for p in found]
    assert all(p.remedy for p in found)


def test_cliques_may_be_reordered_when_they_start_in_any_order() -> None:
    assert validate(pcs(*reversed(TWO)), pcs(*TWO)) == []


def test_all_problems_are_reported_at_once() -> None:
    bad = pcs(
        clique("A", replicas=1, minAvailable=2), clique("b", podSpec=env("X", "X")), terminationDelay="0"
    )
    assert len(validate(bad)) == 4


def test_a_set_that_is_being_deleted_is_not_validated() -> None:
    bad = pcs(clique(minAvailable=9))
    bad.metadata.deletion_timestamp = Time("2026-01-01T00:00:00Z")
    assert validate(bad, bad) == []


def test_labels_of_a_set_that_became_invalid_stay_editable() -> None:
    old = pcs(clique(podSpec=scheduled_by("gone")))
    new = pcs(clique(podSpec=scheduled_by("gone")))
    new.metadata.labels["x"] = "y"
    assert errors(validate(new, None)) != []
    assert validate(new, old) == []


def test_settings_without_effect_give_a_warning() -> None:
    found = validate(pcs(clique("a"), clique("b", startsAfter=["a"])))
    assert [(p.field, p.warning) for p in found] == [(f"{T}.cliques[1].spec.startsAfter", True)]
    redundant = validate(pcs(topologyConstraint=pack("rack", "zone")), None, ALL_ON)
    assert [(p.field, p.warning) for p in redundant] == [(f"{T}.topologyConstraint.pack.preferred", True)]
    old_field = validate(pcs(topologyConstraint={"topologyName": "dc", "packDomain": "rack"}), None, ALL_ON)
    assert [(p.field, p.warning) for p in old_field] == [(f"{T}.topologyConstraint.packDomain", True)]


def named(name: str, **template: Any) -> PodCliqueSet:
    found = pcs(**template)
    found.metadata.name = name
    return found


def generated(prefix: str) -> PodCliqueSet:
    found = pcs()
    found.metadata.name, found.metadata.generate_name = None, prefix
    return found


GROUPED = [{"name": "gpu.pool", "cliqueNames": ["worker"]}]


@pytest.mark.parametrize(
    ("found", "field", "says", "remedy"),
    [
        (named("llama-3.1"), "metadata.name", "hostnames", "'llama-3-1'"),
        (generated("llama-3.1-"), "metadata.generateName", "hostnames", "'llama-3-1-xxxxx'"),
        (named("7b-chat"), "metadata.name", "up to 1.35", "'set-7b-chat'"),
        (pcs(clique("a.b")), f"{T}.cliques[0].name", "hostnames", "'a-b'"),
        (
            pcs(podCliqueScalingGroups=GROUPED),
            f"{T}.podCliqueScalingGroups[0].name",
            "hostnames",
            "'gpu-pool'",
        ),
    ],
)
def test_names_that_make_invalid_hostnames_or_services_give_a_warning(
    found: PodCliqueSet, field: str, says: str, remedy: str
) -> None:
    [problem] = validate(found)
    assert (problem.field, problem.warning) == (field, True)
    assert says in problem.detail
    assert remedy in problem.remedy


@pytest.mark.parametrize("found", [pcs(clique("7b")), named("llama-3-1"), generated("llama-")])
def test_digits_elsewhere_in_a_name_give_no_warning(found: PodCliqueSet) -> None:
    assert validate(found) == []


def test_an_unknown_topology_is_not_checked_offline() -> None:
    offline = ValidationContext(ALL_ON.configuration, None)
    assert validate(pcs(topologyConstraint=pack("row", topology="anything")), None, offline) == []


def binding(*levels: Json, **spec: Any) -> ClusterTopologyBinding:
    value = {"metadata": {"name": "dc"}, "spec": {"levels": list(levels), **spec}}
    return codec.decode(codec.encode(value), ClusterTopologyBinding)


ZONE, RACK = {"domain": "zone", "key": "z"}, {"domain": "rack", "key": "r"}
BOUND = {"schedulerName": "kai-scheduler", "topologyReference": "t"}


@pytest.mark.parametrize(
    ("bad", "path", "says"),
    [
        (binding(ZONE, RACK | {"domain": "zone"}), "spec.levels[1].domain", "this domain too"),
        (binding(ZONE, RACK | {"key": "z"}), "spec.levels[1].key", "this key too"),
        (
            binding(ZONE, schedulerTopologyBindings=[BOUND, BOUND]),
            "spec.schedulerTopologyBindings[1].schedulerName",
            "bound already",
        ),
        (
            binding(ZONE, schedulerTopologyBindings=[BOUND | {"schedulerName": "x"}]),
            "spec.schedulerTopologyBindings[0].schedulerName",
            "supported values",
        ),
    ],
)
def test_a_rule_for_topologies(bad: ClusterTopologyBinding, path: str, says: str) -> None:
    assert (
        check_binding(binding(ZONE, RACK, schedulerTopologyBindings=[BOUND]), OperatorConfiguration()) == []
    )
    found = check_binding(bad, OperatorConfiguration())
    assert [(p.field, says in str(p), bool(p.remedy)) for p in found] == [(path, True, True)]


ELECT = {"enabled": True}


@pytest.mark.parametrize(
    ("good", "bad", "path", "says"),
    [
        (
            {"leaderElection": ELECT},
            {"leaderElection": ELECT | {"leaseDuration": "10s"}},
            "leaderElection.leaseDuration",
            "longer than renewDeadline",
        ),
        (
            {"leaderElection": {"retryPeriod": "0s"}},
            {"leaderElection": ELECT | {"retryPeriod": "0s"}},
            "leaderElection.retryPeriod",
            "more than 0",
        ),
        (
            {"leaderElection": ELECT},
            {"leaderElection": ELECT | {"resourceName": ""}},
            "leaderElection.resourceName",
            "has a name",
        ),
        (
            {"controllers": {"podGang": {"concurrentSyncs": 1}}},
            {"controllers": {"podGang": {"concurrentSyncs": 0}}},
            "controllers.podGang.concurrentSyncs",
            "at least 1",
        ),
        (
            {"runtimeClientConnection": {"burst": 1}},
            {"runtimeClientConnection": {"burst": -1}},
            "runtimeClientConnection.burst",
            "at least 0",
        ),
        (
            {"scheduler": {"profiles": [{"name": "volcano"}]}},
            {"scheduler": {"profiles": [{"name": ""}]}},
            "scheduler.profiles[0].name",
            "names a scheduler",
        ),
        (
            {"scheduler": {"profiles": [{"name": "a"}, {"name": "b"}]}},
            {"scheduler": {"profiles": [{"name": "a"}, {"name": "a"}]}},
            "scheduler.profiles[1].name",
            "this name too",
        ),
        (
            {"scheduler": {"defaultProfileName": "volcano"}},
            {"scheduler": {"defaultProfileName": "x"}},
            "scheduler.defaultProfileName",
            "supported values",
        ),
    ],
)
def test_a_rule_for_the_configuration(good: Json, bad: Json, path: str, says: str) -> None:
    assert check_configuration(configuration(**good)) == []
    found = check_configuration(configuration(**bad))
    assert [(p.field, says in str(p), bool(p.remedy)) for p in found] == [(path, True, True)]
