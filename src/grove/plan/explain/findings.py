"""What an answer consists of. Structs, so that an answer is also its JSON."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from grove.api.reasons import Actor, RunReason, Step

# How much of what others said is repeated.
QUOTES = 3
QUOTED = 600


class Said(msgspec.Struct, frozen=True):
    """The words of another program, as they are."""

    by: str
    text: str


class Finding(msgspec.Struct, frozen=True):
    """`about` is the object, as kind/name; `message` is about this very case.

    Where it is about `pods`, so many, the message is about one of them.
    """

    reason: RunReason
    about: str
    message: str
    said: tuple[Said, ...] = ()
    pods: int = 0

    @property
    def rank(self) -> tuple[int, int, int]:
        """Sorts the one that is told first to the front."""
        return _RANKS[self.reason]


class CliqueCounts(msgspec.Struct, frozen=True, rename="camel"):
    """Of one PodClique. One that does not exist yet has none but what is wanted of it."""

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
    """`reason` and the fields below it, up to `remedy`, are those of the first of the `findings`.

    `state` is Degraded when all that is needed at least runs, and more is asked for.
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
    said: tuple[Said, ...]
    backend: str
    scheduler: str
    chosen_by: str
    dialect: str
    """Of the scheduler's API, which its gangs are written in; of several, all. Empty where there is only one."""
    findings: tuple[Finding, ...]
    cliques: tuple[CliqueCounts, ...]

    @property
    def running(self) -> bool:
        return self.reason.fine


def worst(findings: Iterable[Finding]) -> Finding:
    """The one to be told first. There must be one; the first wins among equals."""
    return min(findings, key=lambda f: f.rank)


def in_words(finding: Finding) -> str:
    """All that a finding says, in one sentence."""
    if finding.reason.fine:
        return finding.reason.meaning
    example = f"{finding.pods} pods, e.g. " if finding.pods > 1 else ""
    said = "".join(f"; {s.by}: {s.text}" for s in finding.said)
    return f"{finding.about}: {example}{finding.message}{said}"


def merged(findings: Sequence[Finding], about: str) -> list[Finding]:
    """Findings about parts of one object, as findings about that object, where they say the same of all."""
    found: list[Finding] = []
    for reason in dict.fromkeys(f.reason for f in findings):
        same = [f for f in findings if f.reason is reason]
        if len(same) > 1 and (all(f.pods for f in same) or len({f.message for f in same}) == 1):
            said = quotes(s for f in same for s in f.said)
            same = [Finding(reason, about, same[0].message, said, sum(f.pods for f in same))]
        found += same
    return found


def quotes(found: Iterable[Said]) -> tuple[Said, ...]:
    """Each once, and not too many."""
    kept = list(dict.fromkeys(Said(s.by, s.text.strip()[:QUOTED]) for s in found if s.text.strip()))
    return tuple(kept[:QUOTES])


def counted(pods: int) -> str:
    return f"{pods} pod" if pods == 1 else f"{pods} pods"


def listed(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


_STEPS = list(Step)
_RANKS = {r: (-r.weight, _STEPS.index(r.step), n) for n, r in enumerate(RunReason)}
