"""The queue that a set asks for: the set's own, else the one that its cliques name, all of them the same.

Schedulers ignore a gang whose queue does not exist, or put it elsewhere, without a word. So such a gang is refused
until the queue is there.
"""

from collections.abc import Callable, Iterator, Mapping

from grove.api.conditions import Reason
from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.problem import Problem, invalid
from grove.schedulers.types import ObjectKind, Refusal, Served
from grove.schema.errors import Path

Look = Callable[[Mapping[str, str], Mapping[str, str]], str]
"""Finds the queue in labels and annotations, in the way of one scheduler; empty when they name none."""

_CLIQUES: Path = ("spec", "template", "cliques")


def queue_of(pcs: PodCliqueSet, look: Look) -> str:
    """Empty when neither the set nor a clique names one."""
    return next((queue for _, queue in _named(pcs, look)), "")


def disagreements(pcs: PodCliqueSet, look: Look) -> Iterator[Problem]:
    """Cliques that name another queue than the rest: the pods of a gang are in one."""
    first, *others = [*_named(pcs, look)] or [((), "")]
    for path, queue in others:
        if queue != first[1]:
            where = "the set" if first[0] == ("metadata",) else f"clique {_clique(pcs, first[0])!r}"
            yield invalid(
                path,
                queue,
                f"{where} names the queue {first[1]!r}, and all pods of a gang are in one queue",
                "name one queue, best on the PodCliqueSet",
            )


def check_exists(queue: str, what: str, kind: ObjectKind, served: Served, named_by: str) -> None:
    """Raises Refusal. Where the kind is not served, or Grove may not read it, every queue counts as one that exists."""
    known = served.objects.get(kind)
    if known is not None and queue not in known:
        raise Refusal(
            f"there is no {what} {queue!r}",
            f"create it (kind {kind.kind}, {kind.api_version}), or name another in the {named_by} of the PodCliqueSet",
            Reason.QUEUE_MISSING,
        )


def _named(pcs: PodCliqueSet, look: Look) -> Iterator[tuple[Path, str]]:
    if queue := look(pcs.metadata.labels, pcs.metadata.annotations):
        yield ("metadata",), queue
    for i, clique in enumerate(pcs.spec.template.cliques):
        if queue := look(clique.labels, clique.annotations):
            yield (*_CLIQUES, i), queue


def _clique(pcs: PodCliqueSet, path: Path) -> str:
    return pcs.spec.template.cliques[int(path[-1])].name
