"""Matches labels against LabelSelectors and the requirements of node affinity."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def selector_matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether labels match a LabelSelector. An empty selector matches everything."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(expression_matches(e, labels) for e in selector.get("matchExpressions") or ())


def expression_matches(expression: Json, labels: Mapping[str, str]) -> bool:
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    has = key in labels
    match operator:
        case "In":
            return has and labels[key] in values
        case "NotIn":
            return not has or labels[key] not in values
        case "Exists":
            return has
        case "DoesNotExist":
            return not has
        case "Gt" | "Lt":
            try:
                given, bound = int(labels[key]), int(values[0])
            except (KeyError, ValueError, IndexError):
                return False
            return given > bound if operator == "Gt" else given < bound
    raise ValueError(f"unknown operator {operator!r} in a label selector")
