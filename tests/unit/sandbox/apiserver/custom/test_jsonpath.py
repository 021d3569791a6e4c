"""The JSONPath of printer columns."""

from typing import Any

import pytest
from grove_sandbox.apiserver.custom.jsonpath import compile_path


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("{.spec.replicas}", [3]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[0].type", ["Other"]),
        (".status.conditions[*].type", ["Other", "Ready"]),
        (r".metadata.labels.app\.io/name", ["x"]),
        (".spec.missing.deeper", []),
    ],
)
def test_a_printer_column_finds_its_value(path: str, found: list[Any]) -> None:
    conditions = [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]
    obj = {
        "metadata": {"labels": {"app.io/name": "x"}},
        "spec": {"replicas": 3},
        "status": {"conditions": conditions},
    }
    assert compile_path(path)(obj) == found


def test_an_unsupported_path_is_an_error() -> None:
    with pytest.raises(ValueError, match="unsupported JSONPath"):
        compile_path(".a[?(@.b < 3)]")
