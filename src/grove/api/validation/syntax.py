"""Checks names, labels and annotations against the grammar of `grove.schema.name_syntax`, with a remedy for users."""

import re
from collections.abc import Mapping

from grove.api.validation.problem import Problem, invalid
from grove.schema.errors import Key, Path
from grove.schema.name_syntax import is_dns_subdomain, is_label_value, is_qualified_name

_MAX_ANNOTATIONS_BYTES = 256 * 1024


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
        if not is_label_value(value):
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
    if size > _MAX_ANNOTATIONS_BYTES:
        problems.append(
            invalid(
                path, f"{size} bytes", "annotations may take 256 KiB in all", "keep large data in a ConfigMap"
            )
        )
    return problems


def _check_key(path: Path, key: str, what: str) -> list[Problem]:
    if is_qualified_name(key):
        return []
    return [
        invalid(
            (*path, Key(key)),
            key,
            f"{what} keys look like name or example.com/name, the name with at most 63 letters, digits, '-', '_', '.'",
            f"respell the {what} key",
        )
    ]
