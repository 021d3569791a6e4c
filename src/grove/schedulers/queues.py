"""The queue that a set asks for: the set names one, or its cliques do, all of them the same.

Schedulers silently ignore a gang whose queue does not exist, or put it into another queue. Therefore Grove refuses such
a gang until the queue exists.
"""

from collections.abc import Callable, Iterator, Mapping

from grove.api.conditions import Reason
from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.problem import Problem, invalid
from grove.schedulers.types import ObjectKind, Refusal, Served
from grove.schema.errors import Path

QueueLookup = Callable[[Mapping[str, str], Mapping[str, str]], str]
"""How one scheduler names queues: from labels and annotations to the queue, empty if they name none."""

_CLIQUES: Path = ("spec", "template", "cliques")


def queue_of(pcs: PodCliqueSet, lookup: QueueLookup) -> str:
    """The queue that the set or else its first clique with a queue names; empty if none does."""
    return next((queue for _, queue in _named_queues(pcs, lookup)), "")


def conflicting_queues(pcs: PodCliqueSet, lookup: QueueLookup) -> Iterator[Problem]:
    """Cliques that name another queue than the set or an earlier clique: all pods of a gang are in one queue."""
    first, *others = [*_named_queues(pcs, lookup)] or [((), "")]
    for path, queue in others:
        if queue != first[1]:
            where = "the set" if first[0] == ("metadata",) else f"clique {_clique_name(pcs, first[0])!r}"
            yield invalid(
                path,
                queue,
                f"{where} names the queue {first[1]!r}, and all pods of a gang are in one queue",
                "name one queue, best on the PodCliqueSet",
            )


def check_queue_exists(queue: str, what: str, kind: ObjectKind, served: Served, named_by: str) -> None:
    """Raises Refusal if the queue does not exist.

    Where the kind is not served, or Grove has no permission to read it, every queue counts as existing. `what` and
    `named_by` are words for the message: the scheduler's word for a queue, and where a set names it.
    """
    queues = served.objects.get(kind)
    if queues is not None and queue not in queues:
        raise Refusal(
            f"there is no {what} {queue!r}",
            f"create it (kind {kind.kind}, {kind.api_version}), or name another in the {named_by} of the PodCliqueSet",
            Reason.QUEUE_MISSING,
        )


def _named_queues(pcs: PodCliqueSet, lookup: QueueLookup) -> Iterator[tuple[Path, str]]:
    if queue := lookup(pcs.metadata.labels, pcs.metadata.annotations):
        yield ("metadata",), queue
    for i, clique in enumerate(pcs.spec.template.cliques):
        if queue := lookup(clique.labels, clique.annotations):
            yield (*_CLIQUES, i), queue


def _clique_name(pcs: PodCliqueSet, path: Path) -> str:
    return pcs.spec.template.cliques[int(path[-1])].name
