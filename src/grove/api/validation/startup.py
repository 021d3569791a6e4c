"""Rules for the start order: with CliqueStartupTypeExplicit, `startsAfter` must be a graph without cycles."""

from collections import Counter
from collections.abc import Iterator

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.cliques import PATH
from grove.api.validation.problem import Problem, duplicate, invalid, warning
from grove.schema.errors import Path


def check_startup(pcs: PodCliqueSet) -> Iterator[Problem]:
    template = pcs.spec.template
    if template.clique_startup_type != "CliqueStartupTypeExplicit":
        for i, clique in enumerate(template.cliques):
            if clique.spec.starts_after:
                yield warning(
                    _path(i),
                    clique.spec.starts_after,
                    f"has no effect: cliqueStartupType is {template.clique_startup_type}",
                    "set cliqueStartupType to CliqueStartupTypeExplicit, or remove startsAfter",
                )
        return
    known = {c.name for c in template.cliques}
    graph = {c.name: [d for d in c.spec.starts_after if d in known and d != c.name] for c in template.cliques}
    for i, clique in enumerate(template.cliques):
        yield from _check_entries(i, clique.name, clique.spec.starts_after, known)
    for cycle in cycles(graph):
        first = next(i for i, c in enumerate(template.cliques) if c.name == cycle[0])
        yield invalid(
            _path(first),
            template.cliques[first].spec.starts_after,
            f"the cliques wait for each other, so none can start: {' -> '.join([*cycle, cycle[0]])}",
            "remove one of these dependencies",
        )


def cycles(graph: dict[str, list[str]]) -> list[list[str]]:
    """One cycle of each group of nodes that form cycles. A cycle begins with its first node in the graph's order."""
    found: list[list[str]] = []
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        on_path: set[str] = set()
        # (node, next edge to follow): depth first, without recursion, since a user may chain hundreds of cliques.
        stack = [(start, 0)] if start not in done else []
        while stack:
            node, edge = stack.pop()
            if edge == 0:
                path.append(node)
                on_path.add(node)
            following = graph[node]
            while edge < len(following) and following[edge] in done:
                edge += 1
            if edge == len(following):
                done.add(node)
                on_path.discard(path.pop())
                continue
            stack.append((node, edge + 1))
            if following[edge] in on_path:
                cycle = path[path.index(following[edge]) :]
                if not any(set(cycle) & set(c) for c in found):
                    first = min(range(len(cycle)), key=lambda k: list(graph).index(cycle[k]))
                    found.append(cycle[first:] + cycle[:first])
            else:
                stack.append((following[edge], 0))
    return found


def _path(i: int) -> Path:
    return (*PATH, i, "spec", "startsAfter")


def _check_entries(i: int, name: str, entries: list[str], known: set[str]) -> Iterator[Problem]:
    counts = Counter(entries)
    for k, entry in enumerate(entries):
        here = (*_path(i), k)
        if not entry.strip():
            yield invalid(here, entry, "is blank", "name a clique, or remove the entry")
        elif entry == name:
            yield invalid(here, entry, "a clique cannot start after itself", "remove the entry")
        elif entry not in known:
            yield invalid(
                here, entry, "there is no such clique", f"the cliques are {', '.join(sorted(known))}"
            )
        elif counts[entry] > 1 and entry in entries[:k]:
            yield duplicate(here, entry, "is listed twice", "remove one of the entries")
