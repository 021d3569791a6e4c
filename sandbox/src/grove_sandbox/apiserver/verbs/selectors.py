"""Label and field selectors: parsed once per request into a predicate over stored objects."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from grove_sandbox.apiserver.errors import bad_request
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.storage import Stored

Matcher = Callable[[Stored], bool]
LabelTest = Callable[[Mapping[str, str]], bool]

_SET = re.compile(r"\s*([^\s!=<>,()]+)\s+(in|notin)\s*\(([^)]*)\)\s*")
_COMPARE = re.compile(r"\s*([^\s!=<>,()]+)\s*(==|=|!=|>|<)\s*([^\s=,()]*)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s!=<>,()]+)\s*")


def matcher(resource_type: ServedResource, query: Mapping[str, str]) -> Matcher | None:
    """The label and field selector of a request as one predicate. None if every object matches."""
    labels = parse_labels(query.get("labelSelector", ""))
    fields = _parse_fields(resource_type, query.get("fieldSelector", ""))
    if not labels and not fields:
        return None

    def matches(stored: Stored) -> bool:
        return all(test(stored.labels) for test in labels) and all(test(stored) for test in fields)

    return matches


def parse_labels(text: str) -> list[LabelTest]:
    tests: list[LabelTest] = []
    position = 0
    while position < len(text):
        for form, build in ((_SET, _set_test), (_COMPARE, _compare_test), (_EXISTS, _exists_test)):
            match = form.match(text, position)
            if match and (match.end() == len(text) or text[match.end()] == ","):
                tests.append(build(match))
                position = match.end() + 1
                break
        else:
            raise bad_request(f"unable to parse requirement: found {text[position:]!r} in {text!r}")
    return tests


def _set_test(match: re.Match[str]) -> LabelTest:
    key, operator = _key(match[1]), match[2]
    values = frozenset(value.strip() for value in match[3].split(","))
    for value in values:
        _value(value)
    if operator == "in":
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _compare_test(match: re.Match[str]) -> LabelTest:
    key, operator, value = _key(match[1]), match[2], match[3]
    if operator in (">", "<"):
        if not value.lstrip("-").isdigit():
            raise bad_request(
                f"values[0]: Invalid value: {value!r}: for 'Gt', 'Lt' operators, the value must be an integer"
            )
        bound, sign = int(value), 1 if operator == ">" else -1

        def compare(labels: Mapping[str, str]) -> bool:
            present = labels.get(key, "")
            return present.lstrip("-").isdigit() and sign * int(present) > sign * bound

        return compare
    _value(value)
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


def _exists_test(match: re.Match[str]) -> LabelTest:
    key = _key(match[2])
    if match[1]:
        return lambda labels: key not in labels
    return lambda labels: key in labels


def _key(key: str) -> str:
    problems = names.qualified_name(key)
    if problems:
        raise bad_request(f'key: Invalid value: "{key}": {"; ".join(problems)}')
    return key


def _value(value: str) -> None:
    problems = names.label_value(value)
    if problems:
        raise bad_request(f'values[0]: Invalid value: "{value}": {"; ".join(problems)}')


def _parse_fields(resource_type: ServedResource, text: str) -> list[Matcher]:
    return [_field_test(resource_type, term) for term in text.split(",") if term]


def _field_test(resource_type: ServedResource, term: str) -> Matcher:
    match = re.fullmatch(r"([^!=]+)(!=|==|=)(.*)", term)
    if not match:
        raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
    field, operator, value = match.groups()
    want = operator != "!="
    if field == "metadata.name":
        return lambda stored: (stored.key[1] == value) is want
    if field == "metadata.namespace":
        return lambda stored: (stored.key[0] == value) is want
    read = resource_type.fields.get(field)
    if read is None:
        if resource_type.fields or resource_type.custom:
            raise bad_request(f"field label not supported: {field}")
        known = 'only "metadata.name", "metadata.namespace"'
        raise bad_request(f'"{field}" is not a known field selector: {known}')
    return lambda stored: (read(stored.obj) == value) is want


def field_reader(path: str, default: str = "") -> Callable[[dict[str, Any]], str]:
    """A reader of a path such as `spec.nodeName`, as the string that a field selector compares."""
    steps = path.split(".")

    def read(obj: dict[str, Any]) -> str:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return default
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read
