"""Why a set, gang, clique or pod does not run: one answer, from all that can be seen of it.

    findings    of the set, of each gang, of each clique: what is not as it should be (`parts`, `gates`, `pods`)
    answer      the finding with the greatest weight, at the earliest step; with it what it waits for, and the counts

    explain(Observed(target, ...))    the whole answer
    top_reason(Observed(target, ...)) its first finding alone, as for a condition

`top_reason` may be asked about one replica of a set at a time, with only the objects of that replica; `set_reason` puts
the answers together.
"""

from grove.plan.explain.answer import explain, set_reason, top_reason
from grove.plan.explain.findings import CliqueCounts, Explanation, Finding, Said, in_words, worst
from grove.plan.explain.observed import Kind, Observed, Target

__all__ = [
    "CliqueCounts",
    "Explanation",
    "Finding",
    "Kind",
    "Observed",
    "Said",
    "Target",
    "explain",
    "in_words",
    "set_reason",
    "top_reason",
    "worst",
]
