"""The CRDs are what an API server accepts, and what the committed files say."""

from pathlib import Path
from typing import Any

import pytest

from grove.api.meta import Resource
from grove.api.serialization.crds import KINDS, all_crds, schema
from grove.generate.__main__ import generated
from grove.schema import Schema, check_schema

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("name", sorted(generated(ROOT)))
def test_generated_files_are_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text() == generated(ROOT)[name], "run `make docs`, and look at what changed"


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_schemas_are_structural(kind: type[Resource]) -> None:
    assert check_schema(schema(kind)) == []


def walk(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [d for v in node for d in walk(v)]
    return [node, *(d for v in node.values() for d in walk(v))] if isinstance(node, dict) else []


def test_no_number_is_bounded_by_the_schema_so_that_stored_objects_stay_valid() -> None:
    bounded = [d for c in all_crds() for d in walk(c) if "minimum" in d or "maximum" in d]
    assert {str(d.get("description")) for d in bounded} == {
        "The generation of the object that this condition was computed from."
    }


def test_every_field_is_described() -> None:
    silent = []
    for crd in all_crds():
        root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for part in ("spec", "status"):
            for node in walk(root["properties"][part]):
                for name, field in node.get("properties", {}).items():
                    inside_raw = node.get("x-kubernetes-preserve-unknown-fields")
                    if isinstance(field, dict) and not inside_raw and "description" not in field:
                        silent.append(f"{crd['spec']['names']['kind']}: {name}")
    assert set(silent) <= {"PodGang: namespace", "PodGang: name"}


MINIMAL = {
    "name": "c",
    "spec": {
        "roleName": "r",
        "replicas": 1,
        "podSpec": {"containers": [{"name": "x", "anything": {"goes": 1}}]},
    },
}


def pcs(**template: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"template": {"cliques": [MINIMAL], **template}}}


@pytest.fixture(scope="module")
def compiled() -> Schema:
    return Schema(schema(KINDS[0]))


def test_the_server_fills_in_defaults(compiled: Schema) -> None:
    found = compiled.default(
        pcs(podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["c"]}], headlessServiceConfig={})
    )
    assert found["spec"]["replicas"] == 0
    assert found["spec"]["template"]["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"
    assert found["spec"]["template"]["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    assert found["spec"]["template"]["podCliqueScalingGroups"][0] == {
        "name": "g",
        "cliqueNames": ["c"],
        "replicas": 1,
        "minAvailable": 1,
    }


def test_nothing_in_a_pod_spec_is_pruned(compiled: Schema) -> None:
    assert compiled.prune(pcs()) == pcs()


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ({"topologyConstraint": {}}, "at least one of 'pack' or 'packDomain'"),
        ({"topologyConstraint": {"pack": {}}}, "at least one of 'required' or 'preferred'"),
        ({"topologyConstraint": {"packDomain": "rack"}}, "packDomain is deprecated"),
        (
            {"topologyConstraint": {"packDomain": "rack", "pack": {"required": "rack"}}},
            "set only pack.required",
        ),
        ({"topologyConstraint": {"pack": {"required": "Rack"}}}, "should match"),
        ({"cliqueStartupType": "Random"}, "Unsupported value"),
        ({"cliques": [MINIMAL, MINIMAL]}, "Duplicate value"),
        ({"cliques": [{"name": "c", "spec": {"roleName": "r", "replicas": 1}}]}, "podSpec: Required value"),
    ],
)
def test_the_server_refuses(compiled: Schema, template: dict[str, Any], says: str) -> None:
    errors = [str(e) for e in compiled.validate(compiled.default(pcs(**template)))]
    assert any(says in e for e in errors), errors


def test_a_stored_set_with_the_old_field_can_still_be_written(compiled: Schema) -> None:
    old = compiled.default(pcs(topologyConstraint={"packDomain": "rack"}))
    new = compiled.default(pcs(topologyConstraint={"packDomain": "rack"}, terminationDelay="1h"))
    assert compiled.validate(new, old) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pcs(), pcs(cliqueStartupType="CliqueStartupTypeInOrder")),
        (
            pcs(cliques=[MINIMAL | {"spec": MINIMAL["spec"] | {"minAvailable": 1}}]),  # type: ignore[operator]
            pcs(cliques=[MINIMAL | {"spec": MINIMAL["spec"] | {"minAvailable": 2}}]),  # type: ignore[operator]
        ),
    ],
)
def test_the_server_enforces_immutable_fields(
    compiled: Schema, old: dict[str, Any], new: dict[str, Any]
) -> None:
    errors = compiled.validate(compiled.default(new), compiled.default(old))
    assert ["this field cannot be changed" in str(e) for e in errors] == [True]
    assert compiled.validate(compiled.default(old), compiled.default(old)) == []
