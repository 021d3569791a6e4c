"""What a waiting pod knows of its parents, and whether its wait is over.

    over  <=>  for every awaited parent: its ready pods >= its minimum, all at the same moment

A pod counts for the clique in its label `grove.io/podclique`, and only if that PodClique controls it. A pod that is
being deleted is not ready, whatever its condition says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

POD_CLIQUE = "grove.io/podclique"
POD_GANG = "grove.io/podgang"
FLAG = "--podcliques"


class BadRequirementError(Exception):
    """An argument is not of the form NAME:COUNT, with a count above zero."""


def parse_arguments(arguments: Iterable[str]) -> dict[str, int]:
    """`--podcliques=NAME:COUNT`, any number of times; also as two arguments, and several entries between commas."""
    given = list(arguments)
    entries: list[str] = []
    while given:
        flag, separator, value = given.pop(0).partition("=")
        if flag != FLAG:
            raise BadRequirementError(f"unknown argument {flag!r}: only {FLAG}=NAME:COUNT is understood")
        if not separator:
            if not given:
                raise BadRequirementError(f"{FLAG} needs a value: {FLAG}=NAME:COUNT")
            value = given.pop(0)
        entries += value.split(",")
    return _parse(entries)


def _parse(entries: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        name, _, count = entry.strip().rpartition(":")
        if not name or not count.isascii() or not count.isdigit() or int(count) == 0:
            raise BadRequirementError(f"{entry!r} is not NAME:COUNT with a count above zero")
        found[name] = int(count)
    return found


class Pod:
    """What matters of a pod."""

    __slots__ = ("clique", "name", "ready")

    def __init__(self, name: str, clique: str, ready: bool) -> None:
        self.name = name
        self.clique = clique
        self.ready = ready

    @classmethod
    def of(cls, body: dict[str, object]) -> Pod:
        """From the JSON of a pod. A pod that its PodClique does not control belongs to no clique."""
        meta = _object(body.get("metadata"))
        labelled = str(_object(meta.get("labels")).get(POD_CLIQUE, ""))
        owners = [o for o in _objects(meta.get("ownerReferences")) if o.get("controller")]
        controlled = any(o.get("kind") == "PodClique" and o.get("name") == labelled for o in owners)
        conditions = _objects(_object(body.get("status")).get("conditions"))
        ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
        name = str(meta.get("name", ""))
        return cls(name, labelled if controlled else "", ready and not meta.get("deletionTimestamp"))


class Wait:
    """`awaited` says how many pods of each parent must be ready."""

    def __init__(self, awaited: Mapping[str, int]) -> None:
        self._awaited = dict(awaited)
        self._ready: dict[str, str] | None = None
        """The clique of each ready pod; None before the first list."""

    def replace(self, pods: Iterable[Pod]) -> None:
        """After a list: what is not in it does not exist."""
        self._ready = {p.name: p.clique for p in pods if p.ready}

    def update(self, pod: Pod) -> None:
        self.remove(pod.name)
        if self._ready is not None and pod.ready:
            self._ready[pod.name] = pod.clique

    def remove(self, name: str) -> None:
        if self._ready is not None:
            self._ready.pop(name, None)

    @property
    def is_over(self) -> bool:
        return self._ready is not None and all(self.ready(p) >= n for p, n in self._awaited.items())

    def ready(self, parent: str) -> int:
        return list((self._ready or {}).values()).count(parent)

    def selector(self, gang: str) -> str:
        """The label selector of the pods to look at: those of the parents, not the whole gang."""
        return f"{POD_GANG}={gang},{POD_CLIQUE} in ({','.join(sorted(self._awaited))})"

    def __str__(self) -> str:
        """How far each parent is: "llama-0-decode 1 of 2 ready"."""
        return ", ".join(f"{p} {self.ready(p)} of {n} ready" for p, n in sorted(self._awaited.items()))


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, object]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
