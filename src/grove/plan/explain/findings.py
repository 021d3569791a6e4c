"""The parts of an answer. They are structs: `grove explain -o json` prints them as they are."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from grove.api.reasons import Actor, RunReason, Step

# How much an answer repeats of the messages of other programs.
MAX_QUOTES = 3
MAX_QUOTED_CHARACTERS = 600


class Quote(msgspec.Struct, frozen=True):
    """A message of another program, word for word."""

    by: str
    text: str


class Finding(msgspec.Struct, frozen=True):
    """`about` is the object, as kind/name. `message` describes this case, where `reason` describes all of its kind.

    `pods` is the number of pods that the finding is about, if it is about pods; the message then describes one of them.
    """

    reason: RunReason
    about: str
    message: str
    said: tuple[Quote, ...] = ()
    pods: int = 0

    @property
    def rank(self) -> tuple[int, int, int]:
        """The sort key: the most important finding has the lowest rank."""
        return _RANKS[self.reason]


class CliqueCounts(msgspec.Struct, frozen=True, rename="camel"):
    """The pods of one PodClique. For one that does not exist yet, only `wanted` and `minimum` are above 0."""

    name: str
    gang: str
    wanted: int
    minimum: int
    created: int
    gated: int
    scheduled: int
    ready: int
    reason: RunReason


class Explanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`reason` and the fields below it, up to `remedy`, describe the first of the `findings`.

    `state` is Degraded if every clique that the base gangs need has its minimum ready, but not everything is.
    """

    kind: str
    namespace: str
    name: str
    state: Literal["Running", "Degraded", "NotRunning"]
    reason: RunReason
    about: str
    message: str
    pods: int
    meaning: str
    step: Step
    next: Actor
    remedy: str
    said: tuple[Quote, ...]
    backend: str
    scheduler: str
    chosen_by: str
    dialect: str
    """The dialects of the scheduler's API in which the gangs are written. Empty if the scheduler has only one."""
    findings: tuple[Finding, ...]
    cliques: tuple[CliqueCounts, ...]

    @property
    def running(self) -> bool:
        return self.reason.fine


def worst(findings: Iterable[Finding]) -> Finding:
    """The most important finding; the first one among equals. There must be at least one."""
    return min(findings, key=lambda f: f.rank)


def in_words(finding: Finding) -> str:
    """A finding in one sentence."""
    if finding.reason.fine:
        return finding.reason.meaning
    example = f"{finding.pods} pods, e.g. " if finding.pods > 1 else ""
    said = "".join(f"; {s.by}: {s.text}" for s in finding.said)
    return f"{finding.about}: {example}{finding.message}{said}"


def merged(findings: Sequence[Finding], about: str) -> list[Finding]:
    """Findings about parts of one object. Those that say the same of several parts become one about the object."""
    found: list[Finding] = []
    for reason in dict.fromkeys(f.reason for f in findings):
        same = [f for f in findings if f.reason is reason]
        if len(same) > 1 and (all(f.pods for f in same) or len({f.message for f in same}) == 1):
            said = quotes(s for f in same for s in f.said)
            same = [Finding(reason, about, same[0].message, said, sum(f.pods for f in same))]
        found += same
    return found


def quotes(found: Iterable[Quote]) -> tuple[Quote, ...]:
    """Without duplicates and empty ones, shortened, and at most `MAX_QUOTES`."""
    kept = list(
        dict.fromkeys(Quote(s.by, s.text.strip()[:MAX_QUOTED_CHARACTERS]) for s in found if s.text.strip())
    )
    return tuple(kept[:MAX_QUOTES])


def counted(pods: int) -> str:
    return f"{pods} pod" if pods == 1 else f"{pods} pods"


def listed(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


_STEPS = list(Step)
_RANKS = {r: (-r.weight, _STEPS.index(r.step), n) for n, r in enumerate(RunReason)}
