"""Objects survive being read and written, whatever is in them."""

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import Clique, DecodeError, ObjectMeta, PodCliqueSet, PodGang
from grove.api.serialization import codec
from grove.api.serialization.crds import KINDS
from grove.api.serialization.model import replace
from tests.unit.api.sets import clique, pcs, pcs_json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
unknown_fields = st.dictionaries(st.from_regex(r"x[A-Za-z]{1,8}", fullmatch=True), json_values, max_size=3)


@given(unknown_fields, unknown_fields, unknown_fields)
def test_unknown_fields_survive_a_read_modify_write(
    top: dict[str, Any], in_clique: dict[str, Any], in_spec: dict[str, Any]
) -> None:
    given_clique = clique() | in_clique
    given_clique["spec"] |= in_spec
    stored = pcs_json(given_clique) | top
    found = PodCliqueSet.from_json(json.dumps(stored))
    found.spec.replicas = 7
    stored["spec"]["replicas"] = 7
    stored["spec"]["template"]["cliqueStartupType"] = "CliqueStartupTypeAnyOrder"
    assert found.to_dict() == stored


def test_unknown_fields_stay_with_their_item_when_the_list_changes() -> None:
    found = PodCliqueSet.from_json(json.dumps(pcs_json(clique("a"), clique("b") | {"xNew": [1]})))
    del found.spec.template.cliques[0]
    assert found.to_dict()["spec"]["template"]["cliques"] == [clique("b") | {"xNew": [1]}]


def test_copies_keep_unknown_fields() -> None:
    found = PodCliqueSet.from_json(json.dumps(pcs_json() | {"xNew": 1}))
    for twin in (copy.copy(found), copy.deepcopy(found), replace(found, status=None)):
        assert twin.to_dict()["xNew"] == 1


def test_a_copy_does_not_share_what_it_can_change() -> None:
    found = pcs()
    twin = copy.deepcopy(found)
    twin.spec.template.cliques[0].labels["a"] = "b"
    assert found.spec.template.cliques[0].labels == {}


@pytest.mark.parametrize("unknown", [b"", b'"xNew":1,'])
def test_a_pod_spec_keeps_its_bytes(unknown: bytes) -> None:
    pod_spec = b'{"z": 1.50, "containers":[{"name":"c" , "image":"i"}],"a":1e3,"big":12345678901234567890}'
    text = json.dumps(pcs_json(clique(podSpec="HERE"))).encode().replace(b'"HERE"', pod_spec)
    found = PodCliqueSet.from_json(text.replace(b"{", b"{" + unknown, 1))
    assert pod_spec in found.to_json()


def test_null_means_absent() -> None:
    found = PodCliqueSet.from_json(
        json.dumps(pcs_json(clique(minAvailable=None, startsAfter=None), terminationDelay=None))
    )
    assert found.spec.template.cliques[0].spec.starts_after == []
    assert found.to_dict()["spec"]["template"]["cliques"] == [clique()]


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"spec": {"replicas": "two"}}, "spec.replicas", "Expected `int`, got `str`"),
        ({"spec": {"template": {}}}, "spec.template.cliques", "this field is required"),
        (
            {"spec": {"template": {"cliques": [{"name": 1}]}}},
            "spec.template.cliques[0].name",
            "Expected `str`",
        ),
        ({"kind": "PodClique"}, "kind", "Invalid enum value 'PodClique'"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels", "Expected `str`"),
        (
            {"spec": {"template": {"cliques": [], "terminationDelay": "soon"}}},
            "spec.template.terminationDelay",
            "'soon' is not a duration",
        ),
    ],
)
def test_json_that_does_not_fit_its_kind_is_refused_with_the_path(
    change: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(DecodeError) as e:
        PodCliqueSet.from_json(json.dumps(pcs_json() | change))
    assert str(e.value).startswith(f"{path}")
    assert message in str(e.value)


def test_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(DecodeError, match="this is not JSON"):
        PodCliqueSet.from_json(b"{")


def test_a_set_built_in_python_is_the_set_written_in_yaml() -> None:
    text = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: train}
spec:
  replicas: 1
  template:
    cliques:
    - name: worker
      spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: c, image: "registry.example/app:1"}]}}
"""
    assert PodCliqueSet.from_yaml(text).to_dict() == pcs().to_dict()
    built = Clique.of(
        "worker", {"containers": [{"name": "c", "image": "registry.example/app:1"}]}, replicas=2
    )
    assert codec.to_builtins(built) == clique()


def test_a_misspelt_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError):
        pcs().spec.replica = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        ObjectMeta(nmae="x")  # type: ignore[call-arg]


def test_written_yaml_is_read_back_unchanged() -> None:
    found = pcs(clique(annotations={"a": "on", "b": "1e3", "c": "two\nlines\n", "d": "2026-01-01"}))
    assert PodCliqueSet.from_yaml(found.to_yaml()).to_dict() == found.to_dict()


def test_a_gang_without_pods_says_so() -> None:
    gang = PodGang.from_json(
        b'{"metadata":{"name":"g"},"spec":{"podgroups":[{"name":"a","podReferences":[],"minReplicas":1}]}}'
    )
    assert gang.to_dict()["spec"]["podgroups"][0]["podReferences"] == []


def test_every_kind_says_what_it_is() -> None:
    for kind in KINDS:
        defaults = {f.name: f.default_factory for f in msgspec.structs.fields(kind)}
        assert defaults["api_version"]() == kind.resource.api_version
        assert defaults["kind"]() == kind.resource.kind


def test_an_object_as_a_server_sends_it_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second, careful reading costs ten times as much, and is for objects with unknown fields alone."""
    fields = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    metadata = {
        "name": "a",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "2026-11-16T08:20:43Z",
        "managedFields": [fields],
    }
    sent = pcs_json() | {"metadata": metadata}
    monkeypatch.delattr(codec, "_decode_carefully")
    found = codec.decode(json.dumps(sent).encode(), PodCliqueSet)
    assert codec.to_builtins(found)["metadata"]["managedFields"] == [fields]
