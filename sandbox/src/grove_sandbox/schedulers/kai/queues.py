"""KAI's queues: a tree whose leaves accept jobs. Each queue has a limit, and a quota for jobs that cannot be preempted.

An unset limit is zero; -1 means no limit. Units: cpu in thousandths, memory in 10^6 bytes, gpu in devices.
"""

from collections.abc import Iterator, Mapping, Sequence

from grove_sandbox.schedulers.amounts import Amounts, add
from grove_sandbox.schedulers.objects import PolicyObject

_UNITS = {"cpu": ("cpu", 1), "memory": ("memory", 1_000_000), "gpu": ("nvidia.com/gpu", 1)}


class Queues:
    def __init__(self, queues: Sequence[PolicyObject]) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._parents = {str(queue.spec.get("parentQueue") or "") for queue in queues}
        self._used: dict[str, Amounts] = {}
        self._used_for_good: dict[str, Amounts] = {}

    def missing(self, name: str) -> str:
        """Why no job can run in the queue. Empty if jobs can."""
        if name not in self._queues or any(above not in self._queues for above in self._ancestry(name)):
            return f"Queue '{name}' does not exist"
        if name in self._parents:
            return f"Queue '{name}' is not a leaf queue"
        return ""

    def obstacle(self, name: str, need: Mapping[str, int], *, preemptible: bool) -> tuple[str, str]:
        for queue_name in self._ancestry(name):
            resources = self._queues[queue_name].spec.get("resources") or {}
            for resource, (key, unit) in _UNITS.items():
                rule = resources.get(resource) or {}
                wanted = need.get(key, 0)
                if not wanted:
                    continue
                limit = rule.get("limit", 0)
                if limit != -1 and self._used.get(queue_name, {}).get(key, 0) + wanted > limit * unit:
                    return (
                        "OverLimit",
                        f"Workload requested more {resource} than the limit of queue {queue_name}",
                    )
                quota = rule.get("quota", 0)
                held = self._used_for_good.get(queue_name, {}).get(key, 0)
                if not preemptible and quota != -1 and held + wanted > quota * unit:
                    text = f"Non-preemptible workload is over the {resource} quota of queue {queue_name}"
                    return "NonPreemptibleOverQuota", text
        return "", ""

    def charge(self, name: str, amount: Amounts, *, preemptible: bool) -> None:
        for queue_name in self._ancestry(name):
            self._used[queue_name] = add(self._used.get(queue_name, {}), amount)
            if not preemptible:
                self._used_for_good[queue_name] = add(self._used_for_good.get(queue_name, {}), amount)

    def _ancestry(self, name: str) -> Iterator[str]:
        """The queue and its ancestors. A cycle ends at its first repetition."""
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            yield name
            queue = self._queues.get(name)
            name = str(queue.spec.get("parentQueue") or "") if queue else ""
