"""A Grove backend for Flock, a scheduler that does not exist."""

from importlib.resources import files
from typing import Any

import yaml


def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of Flock."""
    return list(yaml.safe_load_all((files(__name__) / "flock.yaml").read_text()))
