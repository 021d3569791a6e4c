"""What a scheduler guarantees to gangs, as its backend declares it, for people who choose a scheduler.

Here is only what can be compared between schedulers; the page of a scheduler in docs/schedulers says more. Every
guarantee that a backend of Grove declares has been shown by a test with the real scheduler: `make e2e RECORD=1` writes
the results to docs/schedulers/results.json, and a unit test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Guarantee(StrEnum):
    """The value is the text in the table of docs/choosing-a-scheduler.md, the name is the one in results.json."""

    ALL_OR_NOTHING = "all or nothing over all groups"
    MINIMUM_BELOW_REPLICAS = "minimum below replicas"
    WAITING_HOLDS_NO_ROOM = "a gang that waits holds no room"
    RESCHEDULED_AS_GANG = "a gang that lost all its pods is placed as one again"
    TOPOLOGY_REQUIRED = "topology, required"
    TOPOLOGY_PREFERRED = "topology, preferred"
    QUEUES = "queues"
    PREEMPTION = "preemption"
    RESERVATION_REUSE = "reuse of a reservation"


@dataclass(frozen=True)
class SchedulerVariant:
    """What one scheduler guarantees, or one of its gang APIs if it has several.

    `key` identifies the variant in results.json, `title` is its column in the table. `given` says how far each
    guarantee goes, `yes` if there is no limit to mention. A guarantee that is missing there is not given; `otherwise`
    may say what happens instead.
    """

    key: str
    title: str
    given: Mapping[Guarantee, str]
    otherwise: Mapping[Guarantee, str] = field(default_factory=dict)

    @property
    def not_given(self) -> list[str]:
        """The guarantees that are not given, with what happens instead where that is known."""
        missing = [g for g in Guarantee if g not in self.given]
        return [f"{g}: {self.otherwise[g]}" if g in self.otherwise else g.value for g in missing]
