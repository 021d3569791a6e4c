"""`grove validate` finds every mistake of a manifest at once, and points at its line."""

from pathlib import Path

import pytest

from grove.api.serialization.manifests import ManifestFinding, Source, check

FIVE_MISTAKES = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: Llama_70B
spec:
  replicas: two
  template:
    cliques:
    - name: router
      spec:
        roleName: router
        replicas: 1
        podSpec: {containers: [{name: r, image: "r:1"}]}
    - name: decode
      spec:
        roleName: decode
        replicas: 3
        minAvailable: 5
        podspec: {containers: [{name: d, image: "d:1"}]}
    podCliqueScalingGroups:
    - name: dec
      cliqueNames: [decode, prefill]
"""


def found(text: str) -> list[ManifestFinding]:
    return check([Source("f.yaml", text)]).findings


def test_five_mistakes_are_five_findings_with_lines_and_remedies() -> None:
    findings = found(FIVE_MISTAKES)
    assert [(f.line, f.path) for f in findings] == [
        (4, "metadata.name"),
        (6, "spec.replicas"),
        (18, "spec.template.cliques[1].spec.minAvailable"),
        (19, "spec.template.cliques[1].spec.podspec"),
        (22, "spec.template.podCliqueScalingGroups[0].cliqueNames[1]"),
    ]
    assert all(f.remedy for f in findings)
    assert findings[3].remedy == "did you mean podSpec?"
    assert '"two": must be of type integer' in findings[1].message


def test_the_examples_are_valid() -> None:
    examples = Path(__file__).parents[4] / "examples"
    sources = [Source(p.name, p.read_text()) for p in sorted(examples.glob("*.yaml"))]
    report = check(sources)
    assert report.findings == []
    assert report.checked >= 4


def test_a_missing_field_does_not_hide_other_mistakes() -> None:
    text = FIVE_MISTAKES.replace("        roleName: decode\n", "").replace("podspec", "podSpec")
    assert "spec.template.cliques[1].spec.minAvailable" in [f.path for f in found(text)]
    assert "spec.template.cliques[1].spec.roleName" in [f.path for f in found(text)]


def test_problems_caused_by_another_mistake_are_not_reported() -> None:
    text = FIVE_MISTAKES.replace("replicas: 3", "replicas: three")
    assert [f.path for f in found(text) if f.path.startswith("spec.template.cliques[1]")] == [
        "spec.template.cliques[1].spec.replicas",
        "spec.template.cliques[1].spec.podspec",
    ]


def test_other_kinds_are_skipped_and_counted() -> None:
    report = check(
        [Source("f", "apiVersion: v1\nkind: Namespace\n---\napiVersion: apps/v1\nkind: Deployment")]
    )
    assert (report.checked, report.skipped, report.findings) == (0, 2, [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1", "an object has apiVersion and kind"),
        ("[]", "an object has apiVersion and kind"),
        ("apiVersion: grove.io/v1beta1\nkind: PodCliqueSet", "there is no PodCliqueSet in grove.io/v1beta1"),
        ("a: [", "did not find expected"),
    ],
)
def test_an_object_without_a_known_kind_is_reported(text: str, says: str) -> None:
    assert [says in f.message for f in found(text)] == [True]


def test_items_of_a_list_are_checked_with_their_own_paths_and_lines() -> None:
    item = "- apiVersion: grove.io/v1alpha1\n  kind: PodClique\n  metadata: {name: x}\n"
    text = f"apiVersion: v1\nkind: List\nitems:\n{item}"
    assert [(f.line, f.path) for f in found(text)] == [(4, "spec")]


def test_a_configuration_is_checked_too() -> None:
    text = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nlogLvl: info\n"
    assert [(f.line, f.path) for f in found(text)] == [(3, "logLvl")]


TOPOLOGY = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: dc}
spec: {levels: [{domain: rack, key: r}]}
---
"""
CONSTRAINED = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a}
spec:
  template:
    topologyConstraint: {topologyName: dc, pack: {required: row}}
    cliques: [{name: c, spec: {roleName: c, replicas: 1, podSpec: {containers: [{name: c}]}}}]
"""


def test_a_set_may_refer_to_a_topology_of_the_same_files() -> None:
    assert [f.path for f in found(TOPOLOGY + CONSTRAINED)] == [
        "spec.template.topologyConstraint.pack.required"
    ]
    assert found(CONSTRAINED) == []


def test_the_file_of_a_finding_is_named() -> None:
    report = check([Source("good", CONSTRAINED), Source("bad", FIVE_MISTAKES)])
    assert {f.file for f in report.findings} == {"bad"}
