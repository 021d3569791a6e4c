"""Validates names, label keys and label values. Each function returns the messages of a real API server."""

import re
from functools import lru_cache

from grove.schema.name_syntax import DNS_1035_LABEL, DNS_LABEL, DNS_SUBDOMAIN, LABEL_VALUE, QUALIFIED_NAME

_LABEL = re.compile(DNS_LABEL)
_DNS1035 = re.compile(DNS_1035_LABEL)
_SUBDOMAIN = re.compile(DNS_SUBDOMAIN)
_QUALIFIED = re.compile(QUALIFIED_NAME)
_LABEL_VALUE = re.compile(LABEL_VALUE)

_SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{DNS_SUBDOMAIN}')"
)
_LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{DNS_LABEL}')"
)
_DNS1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    f"validation is '{DNS_1035_LABEL}')"
)
_QUALIFIED_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{QUALIFIED_NAME}')"
)
_LABEL_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '{LABEL_VALUE}')"
)


@lru_cache(8192)
def subdomain(name: str) -> list[str]:
    problems = ["must be no more than 253 bytes"] if len(name) > 253 else []
    return problems if _SUBDOMAIN.fullmatch(name) else [*problems, _SUBDOMAIN_MESSAGE]


@lru_cache(8192)
def label(name: str) -> list[str]:
    problems = ["must be no more than 63 bytes"] if len(name) > 63 else []
    return problems if _LABEL.fullmatch(name) else [*problems, _LABEL_MESSAGE]


@lru_cache(8192)
def service_name(name: str) -> list[str]:
    problems = ["must be no more than 63 bytes"] if len(name) > 63 else []
    return problems if _DNS1035.fullmatch(name) else [*problems, _DNS1035_MESSAGE]


def path_segment(name: str) -> list[str]:
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in name]


@lru_cache(8192)
def qualified_name(key: str) -> list[str]:
    """A label or annotation key, a finalizer, a condition type: `[prefix/]name`."""
    prefix, slash, name = key.rpartition("/")
    problems = []
    if slash:
        if "/" in prefix:
            return [
                "a qualified name " + _QUALIFIED_MESSAGE.removeprefix("name part ") + " with an optional DNS "
                "subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ]
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in subdomain(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _QUALIFIED.fullmatch(name):
        problems.append(_QUALIFIED_MESSAGE)
    return problems


@lru_cache(8192)
def label_value(value: str) -> list[str]:
    problems = ["must be no more than 63 bytes"] if len(value) > 63 else []
    return problems if _LABEL_VALUE.fullmatch(value) else [*problems, _LABEL_VALUE_MESSAGE]
