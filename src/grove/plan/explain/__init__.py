"""Why a set, gang, clique or pod does not run: one answer, from everything that was observed of it.

explain(Observed(target, ...))       the whole answer
top_reason(Observed(target, ...))    its first finding alone, as for a condition
set_reason(pcs, findings)            `top_reason` of a set, from `top_reason` of each of its replicas

observed    the objects and events that were observed, and the cliques that should exist
findings    the parts of an answer, and which finding comes first
parts       findings about a set, a scaling group, a gang or a clique
gates       findings about pods behind gates
pods        findings about pods whose gates are open
answer      from the findings to one answer: follows what waits for what, until it reaches the cause
"""

from grove.plan.explain.answer import explain, set_reason, top_reason
from grove.plan.explain.findings import CliqueCounts, Explanation, Finding, Quote, in_words, worst
from grove.plan.explain.observed import Kind, Observed, Target

__all__ = [
    "CliqueCounts",
    "Explanation",
    "Finding",
    "Kind",
    "Observed",
    "Quote",
    "Target",
    "explain",
    "in_words",
    "set_reason",
    "top_reason",
    "worst",
]
