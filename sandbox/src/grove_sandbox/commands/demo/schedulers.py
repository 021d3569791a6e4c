"""The simulated schedulers that the demo can show."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DemoScheduler:
    """`simulated` is its name in the catalog of simulated schedulers, `name` the `schedulerName` of its pods.

    `prerequisites` are path and body of objects that the scheduler needs before it schedules anything.
    """

    simulated: str
    name: str
    prerequisites: tuple[tuple[str, dict[str, Any]], ...] = ()


_UNLIMITED = {kind: {"limit": -1, "quota": -1} for kind in ("cpu", "memory", "gpu")}


def _kai_queue(name: str, **spec: Any) -> tuple[str, dict[str, Any]]:
    queue = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}}
    return "/apis/scheduling.run.ai/v2/queues", queue | {"spec": {"resources": _UNLIMITED, **spec}}


SCHEDULERS = {
    "default": DemoScheduler("kube-1.37", "default-scheduler"),
    "kai": DemoScheduler(
        "kai", "kai-scheduler", (_kai_queue("all"), _kai_queue("default-queue", parentQueue="all"))
    ),
    "koordinator": DemoScheduler("koordinator", "koord-scheduler"),
    "volcano": DemoScheduler("volcano", "volcano"),
    "yunikorn": DemoScheduler("yunikorn", "yunikorn"),
}
