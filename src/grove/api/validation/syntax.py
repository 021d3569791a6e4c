"""The spelling rules of Kubernetes: names, labels, annotations, environment variables."""

import re
from collections.abc import Mapping

from grove.api.validation.problem import Problem, invalid
from grove.schema.errors import Key, Path

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[ -<>-~]+")

_MAX_ANNOTATIONS = 256 * 1024


def is_dns_subdomain(text: str) -> bool:
    return len(text) <= 253 and _DNS_SUBDOMAIN.fullmatch(text) is not None


def is_dns_label(text: str) -> bool:
    return len(text) <= 63 and _DNS_LABEL.fullmatch(text) is not None


def is_env_name(text: str) -> bool:
    """Any printable ASCII but `=`, as Kubernetes 1.34 and later have it."""
    return _ENV_NAME.fullmatch(text) is not None


def check_name(path: Path, name: str) -> list[Problem]:
    if is_dns_subdomain(name):
        return []
    return [
        invalid(
            path,
            name,
            "a name consists of lower case letters, digits, '-' and '.', and starts and ends with a letter or digit",
            f"rename it, for example to {suggest_name(name)!r}",
        )
    ]


def suggest_name(name: str) -> str:
    """The nearest valid name, for error messages."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "worker"


def check_labels(path: Path, labels: Mapping[str, str]) -> list[Problem]:
    problems = [p for key in labels for p in _check_key(path, key, "label")]
    for key, value in labels.items():
        if value and (len(value) > 63 or not _QUALIFIED.fullmatch(value)):
            problems.append(
                invalid(
                    (*path, Key(key)),
                    value,
                    "a label value has at most 63 letters, digits, '-', '_' and '.', and starts and ends with a "
                    "letter or digit",
                    "shorten or respell it, or use an annotation",
                )
            )
    return problems


def check_annotations(path: Path, annotations: Mapping[str, str]) -> list[Problem]:
    problems = [p for key in annotations for p in _check_key(path, key.lower(), "annotation")]
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    if size > _MAX_ANNOTATIONS:
        problems.append(
            invalid(
                path, f"{size} bytes", "annotations may take 256 KiB in all", "keep large data in a ConfigMap"
            )
        )
    return problems


def _check_key(path: Path, key: str, what: str) -> list[Problem]:
    prefix, slash, name = key.rpartition("/")
    prefix_is_good = not slash or (is_dns_subdomain(prefix) and "/" not in prefix)
    if prefix_is_good and len(name) <= 63 and _QUALIFIED.fullmatch(name):
        return []
    return [
        invalid(
            (*path, Key(key)),
            key,
            f"{what} keys look like name or example.com/name, the name with at most 63 letters, digits, '-', '_', '.'",
            f"respell the {what} key",
        )
    ]
