"""Whatever arrives, validation answers; it never raises."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api import PodCliqueSet
from grove.api.defaults import with_defaults
from grove.api.serialization import codec, yaml
from grove.api.serialization.manifests import Source, check
from grove.api.validation import validate
from tests.unit.api.sets import clique, pcs_json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
objects = st.dictionaries(st.text(), json_values, max_size=5)

FULL = pcs_json(
    clique("a", autoScalingConfig={"maxReplicas": 3}, topologyConstraint={"pack": {"required": "host"}}),
    clique("b", startsAfter=["a"], resourceSharing=[{"name": "gpu", "scope": "PerReplica"}]),
    cliqueStartupType="CliqueStartupTypeExplicit",
    terminationDelay="1h",
    topologyConstraint={"topologyName": "dc", "pack": {"required": "rack"}},
    podCliqueScalingGroups=[
        {"name": "g", "cliqueNames": ["b"], "replicas": 2, "scaleConfig": {"maxReplicas": 3}}
    ],
    resourceClaimTemplates=[{"name": "gpu", "templateSpec": {"spec": {"devices": {"requests": [{}]}}}}],
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for k, v in inner for p in places(v, (*path, k)))]


def put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = put(value[path[0]], path[1:], new)
    return value


changed_sets = st.lists(st.tuples(st.sampled_from(places(FULL)), json_values), min_size=1, max_size=3)


def changed(changes: list[tuple[tuple[str | int, ...], Any]]) -> Any:
    value = FULL
    for path, new in changes:
        try:
            value = put(value, path, new)
        except (KeyError, IndexError, TypeError):  # an earlier change took this place away
            continue
    return value


@settings(max_examples=300)
@given(objects | changed_sets.map(changed))
def test_no_manifest_crashes_validation(value: Any) -> None:
    report = check([Source("f", yaml.dump(value))])
    assert report.errors == sum(not f.warning for f in report.findings)
    assert all(f.line >= 1 and f.message for f in report.findings)


@settings(max_examples=300)
@given(changed_sets.map(changed), changed_sets.map(changed))
def test_no_update_crashes_validation(new: Any, old: Any) -> None:
    try:
        after, before = (codec.decode(json.dumps(v), PodCliqueSet) for v in (new, old))
    except codec.DecodeError:
        return
    validate(after, before)


@given(changed_sets.map(changed))
def test_defaults_are_filled_in_once(value: Any) -> None:
    try:
        found = codec.decode(json.dumps(value), PodCliqueSet)
    except codec.DecodeError:
        return
    once = with_defaults(found)
    assert with_defaults(once).to_json() == once.to_json()


def test_the_base_set_of_these_tests_is_valid() -> None:
    assert check([Source("f", yaml.dump(FULL))]).findings == []
