"""Rendering a set: complete, in order, the same every time."""

from collections import Counter
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grove.api import PodCliqueSet
from grove.api.serialization import codec
from grove.api.validation import validate
from grove.plan.objects.claims import TemplateRef
from grove.plan.render import ScheduledGang, Sizes, lay_out, render
from tests.unit.api.sets import clique, pcs, pcs_json
from tests.unit.plan.samples import DEVICE, INIT_IMAGE, rendered, scheduled, share, template

Json = dict[str, Any]


def count(objects: list[Json]) -> Counter[str]:
    return Counter(o["kind"] for o in objects)


GROUPED = pcs(
    clique("r", replicas=1),
    clique("w", replicas=3),
    podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["w"], "replicas": 2, "minAvailable": 1}],
)


def test_a_set_renders_to_all_its_objects() -> None:
    assert count(rendered(GROUPED)) == {
        "Service": 1,
        "PodCliqueScalingGroup": 1,
        "PodClique": 3,
        "PodGang": 2,
        "Pod": 7,
    }


def test_sizes_override_those_of_the_manifest() -> None:
    found = rendered(GROUPED, sizes=Sizes(replicas=2, copies={"g": 4}))
    assert count(found) == {
        "Service": 2,
        "PodCliqueScalingGroup": 2,
        "PodClique": 10,
        "PodGang": 8,
        "Pod": 26,
    }
    assert {o["spec"]["replicas"] for o in found if o["kind"] == "PodCliqueScalingGroup"} == {4}
    assert rendered(GROUPED, sizes=Sizes(replicas=0)) == []


def test_a_group_that_is_scaled_to_zero_has_no_pods_in_its_base_gang() -> None:
    (gang,) = (o for o in rendered(GROUPED, sizes=Sizes(copies={"g": 0})) if o["kind"] == "PodGang")
    assert [len(g["podReferences"]) for g in gang["spec"]["podgroups"]] == [1, 0]


def test_owners_come_before_the_objects_that_refer_to_them() -> None:
    seen = {"PodCliqueSet/train"}
    for obj in rendered(GROUPED, sizes=Sizes(replicas=2)):
        (owner,) = obj["metadata"]["ownerReferences"]
        assert f"{owner['kind']}/{owner['name']}" in seen
        assert owner["uid"] == f"<uid of {owner['kind']}/{owner['name']}>"
        assert "uid" not in obj["metadata"]
        seen.add(f"{obj['kind']}/{obj['metadata']['name']}")


def test_gangs_name_exactly_the_pods_with_their_label() -> None:
    found = rendered(GROUPED, sizes=Sizes(replicas=2, copies={"g": 3}))
    named = {
        (gang["metadata"]["name"], group["name"], r["name"])
        for gang in found
        if gang["kind"] == "PodGang"
        for group in gang["spec"]["podgroups"]
        for r in group["podReferences"]
    }
    belong = {
        (own["grove.io/podgang"], own["grove.io/podclique"], pod["metadata"]["name"])
        for pod in found
        if pod["kind"] == "Pod"
        for own in [pod["metadata"]["labels"]]
    }
    assert named == belong


def test_the_schedulers_objects_follow_their_gang() -> None:
    parts = lay_out(GROUPED)
    gangs = [
        ScheduledGang(s.gang, s.drafts, [{"kind": "PodGroup", "of": s.gang.metadata.uid}])
        for s in scheduled(parts)
    ]
    found = render(parts, gangs, init_image=INIT_IMAGE, gates=frozenset())
    kinds = [o["kind"] for o in found if o["kind"].startswith("PodG")]
    assert kinds == ["PodGang", "PodGroup"] * 2
    assert next(o for o in found if o["kind"] == "PodGroup")["of"] == "<uid of PodGang/train-0>"


def test_a_set_with_generate_name_gets_a_readable_name() -> None:
    made = pcs_json(clique("w")) | {"metadata": {"generateName": "train-"}}
    found = rendered(codec.decode(codec.encode(made), PodCliqueSet))
    assert {o["metadata"]["name"] for o in found if o["kind"] == "Service"} == {"train-xxxxx-0"}


def test_a_claim_is_left_out_if_its_template_is_unknown() -> None:
    found = pcs(clique("w"), resourceSharing=[share("far", "PerReplica")])
    assert "ResourceClaim" not in count(rendered(found))
    known = {TemplateRef("default", "far"): DEVICE}
    assert count(rendered(found, templates=known))["ResourceClaim"] == 1


# Names that are likely to collide: few to choose from, with numbers and dashes in them.
NAMES = st.sampled_from(["a", "b", "0-b", "a-0-b", "a-1-b", "a-0-0-b", "a-all-b", "0", "b-0-a", "a-all-0"])
SHARING = st.lists(
    st.builds(share, NAMES, st.sampled_from(["AllReplicas", "PerReplica"])),
    max_size=3,
    unique_by=lambda s: s["name"],
)
GROUPS = ["a", "a-0", "b"]
STARTS = [f"CliqueStartupType{t}" for t in ("AnyOrder", "InOrder")]


@st.composite
def sets(draw: st.DrawFn) -> PodCliqueSet:
    names = draw(st.lists(NAMES, min_size=3, max_size=6, unique=True))
    cliques = [
        clique(n, replicas=draw(st.integers(1, 3)), minAvailable=1, resourceSharing=draw(SHARING))
        for n in names
    ]
    owners = draw(st.lists(st.sampled_from(["", *GROUPS]), min_size=len(names), max_size=len(names)))
    groups: list[Json] = [
        {
            "name": owner,
            "cliqueNames": [n for n, o in zip(names, owners, strict=True) if o == owner],
            "replicas": 3,
            "minAvailable": draw(st.integers(1, 3)),
            "scaleConfig": {"maxReplicas": 5},
            "resourceSharing": draw(SHARING),
        }
        for owner in sorted({*owners} - {""})
    ]
    made = pcs_json(
        *cliques,
        podCliqueScalingGroups=groups,
        cliqueStartupType=draw(st.sampled_from(STARTS)),
        resourceSharing=draw(SHARING),
    )
    made["spec"]["replicas"] = draw(st.integers(1, 3))
    used = {s["name"] for c in cliques for s in c["resourceSharing"]}
    used |= {s["name"] for g in groups for s in g["resourceSharing"]}
    used |= {s["name"] for s in made["spec"]["template"]["resourceSharing"]}
    made["spec"]["template"]["resourceClaimTemplates"] = [template(n) for n in sorted(used)]
    return codec.decode(codec.encode(made), PodCliqueSet)


@settings(max_examples=100, deadline=None)
@given(sets())
def test_no_two_objects_of_a_valid_set_have_the_same_name(found: PodCliqueSet) -> None:
    assume(not [p for p in validate(found) if not p.warning])
    objects = rendered(found, sizes=Sizes(copies={"a": 4}))
    names = Counter((o["kind"], o["metadata"]["name"]) for o in objects)
    assert [n for n, times in names.items() if times > 1] == []
    hosts = Counter((o["spec"]["hostname"], o["spec"]["subdomain"]) for o in objects if o["kind"] == "Pod")
    assert max(hosts.values(), default=1) == 1


@settings(max_examples=30, deadline=None)
@given(sets())
def test_the_same_set_gives_the_same_objects(found: PodCliqueSet) -> None:
    assume(not [p for p in validate(found) if not p.warning])
    again = codec.decode(codec.encode(found), PodCliqueSet)
    assert codec.encode(rendered(found)) == codec.encode(rendered(again))
