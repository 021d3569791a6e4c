"""Which changes can change the result of a reconcile, and of which key.

A trigger is a subscription with a reason. The functions below are the usual mappings and conditions.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import KubeObject, Metadata, Obj, ObjectKey, key_of

K = TypeVar("K", bound=Hashable)


def every_change(change: Change[Any]) -> bool:
    return True


def came_or_went(change: Change[Any]) -> bool:
    return change.old is None or change.new is None


def itself(obj: KubeObject) -> list[ObjectKey]:
    return [key_of(obj)]


def owner(kind: str) -> "Callable[[OwnedObject], list[ObjectKey]]":
    """The controller of an object (the owner that made it), if that is of this kind."""

    def keys(obj: OwnedObject) -> list[ObjectKey]:
        namespace = obj.metadata.namespace or ""
        owners = obj.metadata.owner_references
        return [ObjectKey(namespace, o.name) for o in owners if o.controller and o.kind == kind]

    return keys


@dataclass(frozen=True)
class Trigger(Generic[Obj, K]):
    """Changes of the objects of one informer.

    `keys` maps an object to the keys to look at again. It is asked about the state before and the state after a
    change, so that an object that moves from one owner to another wakes both. `when` leaves out changes that cannot
    matter. `why` says, in a line for the reader, why the others can.
    """

    informer: Informer[Obj]
    keys: Callable[[Obj], Iterable[K]]
    why: str
    when: Callable[[Change[Obj]], bool] = every_change

    def concerned(self, change: Change[Obj]) -> list[K]:
        """The keys, can the change matter to them or not: each once, in an order that does not depend on chance."""
        old, new = change.old, change.new
        before = list(self.keys(old)) if old is not None else []
        after = list(self.keys(new)) if new is not None else []
        found = after if before == after else before + after
        return found if len(found) < 2 else list(dict.fromkeys(found))


class OwnerLike(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def controller(self) -> bool | None: ...


class OwnedMetadata(Metadata, Protocol):
    @property
    def owner_references(self) -> Sequence[OwnerLike]: ...


class OwnedObject(Protocol):
    @property
    def metadata(self) -> OwnedMetadata: ...
