"""The grammar of names accepts what Kubernetes accepts."""

import pytest

from grove.schema.name_syntax import (
    is_condition_reason,
    is_dns_label,
    is_dns_subdomain,
    is_env_name,
    is_label_value,
    is_qualified_name,
)

LABELS = ["a", "0", "a-b", "a--b", "x" * 63]
NOT_LABELS = ["", "-a", "a-", "A", "a_b", "a b", "é", "٣", "x" * 64, "a\n"]


@pytest.mark.parametrize("text", LABELS)
def test_dns_labels(text: str) -> None:
    assert is_dns_label(text)
    assert is_dns_subdomain(text)


@pytest.mark.parametrize("text", [*NOT_LABELS, "a.b"])
def test_texts_that_are_not_dns_labels(text: str) -> None:
    assert not is_dns_label(text)


@pytest.mark.parametrize("text", ["a.b", "1.2.3", "x" * 64, "x" * 253])
def test_dns_subdomains(text: str) -> None:
    assert is_dns_subdomain(text)


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a.-b", "A.b", "x" * 254, "a.b\n"])
def test_texts_that_are_not_dns_subdomains(text: str) -> None:
    assert not is_dns_subdomain(text)


@pytest.mark.parametrize(
    "text", ["a", "A", "My_name.x-1", "example.com/name", "grove.io/podgang", "a/" + "x" * 63]
)
def test_qualified_names(text: str) -> None:
    assert is_qualified_name(text)


@pytest.mark.parametrize(
    "text", ["", "/a", "a/", "a/b/c", "Example.com/a", "a b", "-a", "a_", "x" * 64, "a/٣"]
)
def test_texts_that_are_not_qualified_names(text: str) -> None:
    assert not is_qualified_name(text)


def test_a_label_value_is_a_name_without_prefix_or_empty() -> None:
    assert all(map(is_label_value, ["", "a", "A.b_c-9", "x" * 63]))
    assert not any(map(is_label_value, ["a/b", "-a", "a-", "x" * 64, "a b", "٣"]))


def test_a_condition_reason_begins_with_a_letter_and_does_not_end_with_punctuation() -> None:
    assert all(map(is_condition_reason, ["A", "NotReady", "a_", "A:b,c9"]))
    assert not any(map(is_condition_reason, ["", "9a", "a:", "a-b", "a b", "Größe"]))


def test_an_environment_variable_may_have_any_printable_ascii_but_the_equals_sign() -> None:
    assert all(map(is_env_name, ["A", "a b", "1", "a.b-c", "~"]))
    assert not any(map(is_env_name, ["", "a=b", "é", "a\tb"]))
