"""The grammar of names in Kubernetes: DNS labels and subdomains, label keys and values, reasons.

The patterns are the ones that a Kubernetes API server prints in its messages; they are unanchored, so that larger
patterns can be built from them. The functions also check the length. Every other module takes the grammar from here.
"""

import re

DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE = f"({QUALIFIED_NAME})?"
CONDITION_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

DNS_LABEL_MAX_LENGTH = 63
DNS_SUBDOMAIN_MAX_LENGTH = 253
QUALIFIED_NAME_MAX_LENGTH = 63
LABEL_VALUE_MAX_LENGTH = 63

_ENV_NAME = "[ -<>-~]+"


def is_dns_label(text: str) -> bool:
    """RFC 1123: names of namespaces, containers, ports; hostnames."""
    return len(text) <= DNS_LABEL_MAX_LENGTH and _matches(DNS_LABEL, text)


def is_dns_subdomain(text: str) -> bool:
    """RFC 1123: names of most objects."""
    return len(text) <= DNS_SUBDOMAIN_MAX_LENGTH and _matches(DNS_SUBDOMAIN, text)


def is_qualified_name(text: str) -> bool:
    """`name` or `example.com/name`: keys of labels and annotations, scheduling gates, finalizers."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= QUALIFIED_NAME_MAX_LENGTH and _matches(QUALIFIED_NAME, name)


def is_label_value(text: str) -> bool:
    return len(text) <= LABEL_VALUE_MAX_LENGTH and _matches(LABEL_VALUE, text)


def is_condition_reason(text: str) -> bool:
    return _matches(CONDITION_REASON, text)


def is_env_name(text: str) -> bool:
    """Any printable ASCII except `=`, as in Kubernetes 1.34 and later."""
    return _matches(_ENV_NAME, text)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None
