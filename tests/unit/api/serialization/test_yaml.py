"""Manifests mean what kubectl takes them to mean."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api.serialization import yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01", "2026-01-01"),
        ("12:30", "12:30"),
        ("012", 10),
        ("0o12", 10),
        ("0x1F", 31),
        ("1.0", 1),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("1_000", 1000),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("'yes'", "yes"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("-7", -7),
    ],
)
def test_a_plain_scalar_is_what_json_would_have(text: str, value: Any) -> None:
    found = yaml.load_one(f"a: {text}").value["a"]
    assert (type(found), found) == (type(value), value)


def test_keys_are_strings() -> None:
    assert yaml.load_one("{8080: a, yes: b, null: c}").value == {"8080": "a", "true": "b", "null": "c"}


def test_merges_are_applied_and_overridden() -> None:
    assert yaml.load_one("one: &x {a: 1, b: 2}\ntwo: {<<: *x, b: 3}").value["two"] == {"b": 3, "a": 1}


def test_every_value_has_its_line() -> None:
    document = yaml.load_one("a:\n  - b: 1\n    c: 2\n\n  - d\n")
    assert document.line_of(("a", 0, "c")) == 3
    assert document.line_of(("a", 1)) == 5
    assert document.line_of(("a", 0, "missing")) == 2
    assert document.line_of(("nothing",)) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\na: 2", 2, "appears twice"),
        ("a: [1,\n  2", 3, "did not find expected"),
        ("a: &x [*x]", 1, "refers to itself"),
        ("? [1]\n: 2", 1, "a key must be a string"),
        ("a: 1\nb: \x07", 2, "control characters"),
        ("a: {<<: 1}", 1, "merges objects"),
    ],
)
def test_yaml_errors_have_a_line(text: str, line: int, message: str) -> None:
    with pytest.raises(yaml.YamlError, match=message) as e:
        yaml.load_all(text)
    assert e.value.line == line


def test_a_document_that_expands_to_billions_of_values_is_refused() -> None:
    text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
    text += "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    with pytest.raises(yaml.YamlError, match="too large"):
        yaml.load_all(text)


def test_empty_documents_are_skipped() -> None:
    assert [d.value for d in yaml.load_all("---\n# nothing\n---\na: 1\n---\n")] == [{"a": 1}]


def test_a_long_string_is_written_over_several_lines() -> None:
    assert yaml.dump({"a": "one\ntwo\n"}) == "a: |\n  one\n  two\n"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(min_size=1), json_values, max_size=4))
def test_dumped_yaml_is_loaded_unchanged(value: dict[str, Any]) -> None:
    found = yaml.load_all(yaml.dump(value))
    assert [d.value for d in found] == [value]
