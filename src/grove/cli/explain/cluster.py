"""Reads the objects that an explanation depends on: a set with all its parts, once or after every change."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from grove.api import PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, labels
from grove.api.event_view import Event
from grove.api.pod_view import Pod
from grove.cli.output import CommandError, Exit
from grove.plan.explain import Kind, Observed, Target
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import Forbidden, NotFound
from grove.runtime.client.objects import APIResource, ObjectKey, ResourceType
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.controller.events import EVENTS
from grove.schedulers.installed import installed

PODS = APIResource("", "v1", "pods", "Pod")
WARNINGS = "type=Warning"

# Changes within this window lead to one new answer: a step of the operator usually changes several objects.
CHANGE_WINDOW_SECONDS = 0.1


@dataclass(frozen=True)
class Subject:
    """The object that the user asks about, and the name of the set that it belongs to."""

    target: Target
    namespace: str
    pcs: str


@dataclass(frozen=True)
class _Kind:
    kind: Kind
    resource: ResourceType
    spellings: set[str]
    decode: Callable[[bytes], Any]


# A name without a kind means the first of these kinds that has an object of that name.
KINDS = (
    _Kind(
        "PodCliqueSet",
        PodCliqueSet.resource,
        {"set", *PodCliqueSet.resource.spellings},
        PodCliqueSet.from_json,
    ),
    _Kind("PodGang", PodGang.resource, {"gang", *PodGang.resource.spellings}, PodGang.from_json),
    _Kind(
        "PodCliqueScalingGroup",
        PodCliqueScalingGroup.resource,
        {"group", *PodCliqueScalingGroup.resource.spellings},
        PodCliqueScalingGroup.from_json,
    ),
    _Kind("PodClique", PodClique.resource, {"clique", *PodClique.resource.spellings}, PodClique.from_json),
    _Kind("Pod", PODS, {"pod", "pods", "po"}, msgspec.json.Decoder(Pod).decode),
)


async def find_subject(client: Client, namespace: str, text: str) -> Subject:
    """Raises CommandError if there is no such object, or if it does not belong to a PodCliqueSet."""
    spelling, _, name = text.rpartition("/")
    kinds = [k for k in KINDS if not spelling or spelling.lower() in k.spellings]
    if not kinds:
        known = "pcs, pg, pcsg, pclq or pod"
        raise CommandError(f"there is no kind {spelling!r} to explain", f"write {known}", Exit.USAGE)
    for kind in kinds:
        try:
            found = await ResourceClient(client, kind.resource, kind.decode).get(ObjectKey(namespace, name))
        except NotFound:
            continue
        pcs = name if kind.kind == "PodCliqueSet" else found.metadata.labels.get(labels.PART_OF, "")
        if kind.kind == "Pod" and labels.POD_CLIQUE not in found.metadata.labels:
            raise CommandError(
                f"pod {namespace}/{name} does not belong to a PodCliqueSet",
                f"try: kubectl describe pod {name}",
            )
        return Subject(Target(kind.kind, name), namespace, pcs)
    looked_for = kinds[0].kind if len(kinds) == 1 else "set, gang, scaling group, clique or pod"
    raise CommandError(
        f"there is no {looked_for} {name!r} in the namespace {namespace}",
        "name another with -n NAMESPACE; `kubectl get pcs -A` lists all sets",
    )


async def read(client: Client, subject: Subject) -> Observed:
    """Lists everything once. Leaves out events if the user may not list them."""
    found: dict[str, list[Any]] = {}
    for what, query in _queries(subject).items():
        try:
            listing = await ResourceClient(client, query.resource, query.decode).list(
                subject.namespace, labels=query.labels, fields=query.fields
            )
        except Forbidden as e:
            if query.resource is not EVENTS:
                raise
            sys.stderr.write(f"note: answering without events: {e}\n")
            continue
        found[what] = list(listing.items)
    return _observed(subject, found)


async def watch_subject(client: Client, subject: Subject, on_change: Callable[[Observed], None]) -> None:
    """Calls `on_change` after every change, until the subject is deleted. `on_change` must not block."""
    informers: dict[str, Informer[Any]] = {
        what: Informer(
            client, q.resource, q.decode, namespace=subject.namespace, labels=q.labels, fields=q.fields
        )
        for what, q in _queries(subject).items()
    }
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(i.run()) for i in informers.values()]
        try:
            for what, informer in informers.items():
                if what != "events":
                    await informer.synced.wait()
            await _deliver_changes(subject, informers, on_change)
        finally:
            for task in running:
                task.cancel()


async def _deliver_changes(
    subject: Subject, informers: Mapping[str, Informer[Any]], on_change: Callable[[Observed], None]
) -> None:
    changed = asyncio.Event()
    for informer in informers.values():
        informer.cache.subscribe(lambda change: changed.set())
    while True:
        await changed.wait()
        await asyncio.sleep(CHANGE_WINDOW_SECONDS)
        changed.clear()
        seen = _observed(subject, {what: list(i.cache) for what, i in informers.items()})
        if not _exists(seen):
            return
        on_change(seen)


@dataclass(frozen=True)
class _Query:
    resource: ResourceType
    decode: Callable[[bytes], Any]
    labels: str = ""
    fields: str = ""


def _queries(subject: Subject) -> dict[str, _Query]:
    """By the field of `Observed` that each fills."""
    parts = labels.selector(labels.of_set(subject.pcs))
    sets, gangs, groups, cliques, pods = KINDS
    return {
        "sets": _Query(sets.resource, sets.decode, fields=f"metadata.name={subject.pcs}"),
        "groups": _Query(groups.resource, groups.decode, labels=parts),
        "gangs": _Query(gangs.resource, gangs.decode, labels=parts),
        "cliques": _Query(cliques.resource, cliques.decode, labels=parts),
        "pods": _Query(pods.resource, pods.decode, labels=parts),
        "events": _Query(EVENTS, msgspec.json.Decoder(Event).decode, fields=WARNINGS),
    }


def _observed(subject: Subject, found: Mapping[str, list[Any]]) -> Observed:
    def part(what: str) -> list[Any]:
        return sorted(found.get(what, ()), key=lambda o: o.metadata.name or "")

    pcs = next((s for s in found["sets"] if s.metadata.name == subject.pcs), None)
    return Observed(
        subject.target,
        pcs,
        groups=part("groups"),
        gangs=part("gangs"),
        cliques=part("cliques"),
        pods=part("pods"),
        events=part("events"),
        gates=_gates(),
    )


def _gates() -> dict[str, str]:
    """The scheduling gate of each backend installed here. The operator may have other backends installed.

    A package that cannot be imported here does not keep anybody from asking about other backends.
    """
    found = {}
    for offer in installed():
        with suppress(Exception):
            backend = offer.load()
            found[backend.name] = backend.gate  # type: ignore[attr-defined]
    return found


def _exists(seen: Observed) -> bool:
    name = seen.target.name
    match seen.target.kind:
        case "PodCliqueSet":
            return seen.pcs is not None
        case "PodGang":
            return name in seen.gang_of
        case "PodCliqueScalingGroup":
            return name in seen.group_of
        case "PodClique":
            return name in seen.clique_of
        case "Pod":
            return any(p.metadata.name == name for p in seen.pods)
