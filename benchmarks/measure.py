"""How benchmarks measure and report: CPU per object, and ratios of contenders measured side by side in one run.

The machine is shared and noisy. So the contenders run in turn, several times, and the best run of each counts. No
budget is an absolute time.
"""

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """A ratio that must not be exceeded."""

    what: str
    found: float
    most: float

    @property
    def kept(self) -> bool:
        return self.found <= self.most

    def __str__(self) -> str:
        verdict = "ok" if self.kept else "TOO MUCH"
        return f"{self.what}: {self.found:.2f} (budget {self.most:.2f}) {verdict}"


def cpu_per_object(
    contenders: dict[str, Callable[[], object]], count: int, rounds: int = 7
) -> dict[str, float]:
    """Microseconds of CPU per object for each contender. A contender processes `count` objects per call."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            gc.collect()
            start = time.process_time_ns()
            kept = work()
            best[name] = min(best[name], (time.process_time_ns() - start) / 1000 / count)
            del kept
    return best


def report(title: str, found: dict[str, float]) -> None:
    print(title)
    for name, microseconds in found.items():
        print(f"  {name:<40} {microseconds:8.2f} us CPU per object")


def finish(budgets: list[Budget]) -> None:
    """Prints the budgets and exits, with code 1 if one is exceeded."""
    for budget in budgets:
        print(budget)
    sys.exit(0 if all(b.kept for b in budgets) else 1)
