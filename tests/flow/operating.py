"""The operator on the embedded cluster, for flow tests: `grove.testing`, and the examples to run on it."""

from pathlib import Path
from typing import Any

from grove.api import yaml
from grove.testing import Grove, cluster_with_crds, operator, running

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Json:
    found: Json = yaml.load_one((EXAMPLES / f"{name}.yaml").read_text()).value
    return found


__all__ = ["Grove", "Json", "cluster_with_crds", "example", "operator", "running"]
