"""The operator on the embedded cluster, for flow tests: `grove_sandbox.flow`, and the examples to run on it."""

import asyncio
from pathlib import Path
from typing import Any

from grove_sandbox.flow import GroveCluster, cluster_with_crds, operator, running

from grove.api.serialization import yaml

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Json:
    found: Json = yaml.load_one((EXAMPLES / f"{name}.yaml").read_text()).value
    return found


async def quiet() -> None:
    """Waits until nobody but the caller could go on at once. No time passes, so no timer fires."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110 (there is no event for the end of all events)
        await asyncio.sleep(0)


__all__ = ["GroveCluster", "Json", "cluster_with_crds", "example", "operator", "quiet", "running"]
