"""What a scheduler promises to gangs, as its backend declares it: for people who choose one.

A backend may say more in its own page; here stands what can be compared. Each promise of a backend of ours was shown
by a real run, or a test fails: see docs/schedulers/results.json.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Promise(StrEnum):
    GANG = "all or nothing over all groups"
    MINIMUM = "minimum below replicas"
    FREE_ROOM = "a gang that waits holds no room"
    AGAIN = "a gang that lost all its pods is placed as one again"
    TOPOLOGY_REQUIRED = "topology, required"
    TOPOLOGY_PREFERRED = "topology, preferred"
    QUEUES = "queues"
    PREEMPTION = "preemption"
    RESERVATION = "reuse of a reservation"


@dataclass(frozen=True)
class Offer:
    """What one scheduler promises, or one form of it: `key` names it in the results of real runs.

    `kept` says how far each promise goes, `yes` if there is no more to say. A promise that is not in it is not made;
    `instead` says what happens then, where that is more than nothing.
    """

    key: str
    title: str
    kept: Mapping[Promise, str]
    instead: Mapping[Promise, str] = field(default_factory=dict)

    @property
    def not_promised(self) -> list[str]:
        """What is not promised, and what happens then if there is more to say."""
        missing = [p for p in Promise if p not in self.kept]
        return [f"{p}: {self.instead[p]}" if p in self.instead else p.value for p in missing]
