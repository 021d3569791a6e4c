"""Which changes can change the result of a reconcile, and of which key.

A trigger is a subscription with a reason. Nothing else wakes a controller, except that a reconcile may requeue its own
key. There are two kinds:

- `Trigger`: a change of an object in an informer's cache;
- `SignalTrigger`: something that is not an object, such as the set of kinds that the cluster serves. The component that
  notices it fires a `Signal`.

Both run synchronously between two events, so the functions given to them must not block.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import KubeObject, Metadata, Obj, ObjectKey, key_of

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def every_change(change: Change[Any]) -> bool:
    return True


def added_or_deleted(change: Change[Any]) -> bool:
    return change.old is None or change.new is None


def itself(obj: KubeObject) -> list[ObjectKey]:
    return [key_of(obj)]


def owner(kind: str) -> "Callable[[OwnedObject], list[ObjectKey]]":
    """Maps an object to its controller, the owner reference with `controller: true`, if that is of this kind."""

    def keys(obj: OwnedObject) -> list[ObjectKey]:
        namespace = obj.metadata.namespace or ""
        owners = obj.metadata.owner_references
        return [ObjectKey(namespace, o.name) for o in owners if o.controller and o.kind == kind]

    return keys


@dataclass(frozen=True)
class Trigger(Generic[Obj, K]):
    """Enqueues keys when an object of an informer changes.

    `keys` maps an object to the keys to reconcile. It is called with the state before and the state after a change, so
    an object that moves from one owner to another enqueues both. `when` is the predicate: changes that it rejects
    cannot matter. `why` tells the reader what an accepted change can unblock. The controller starts only when the
    informer has its initial list, unless the trigger is `optional`: for kinds that the cluster may not serve.
    """

    informer: Informer[Obj]
    keys: Callable[[Obj], Iterable[K]]
    why: str
    when: Callable[[Change[Obj]], bool] = every_change
    optional: bool = False

    def concerned(self, change: Change[Obj]) -> list[K]:
        """The keys of a change, whether or not `when` accepts it: each once, in a deterministic order."""
        states = (change.old, change.new)
        return list(dict.fromkeys(key for state in states if state is not None for key in self.keys(state)))


@dataclass(frozen=True)
class Signal(Generic[V]):
    """Tells its subscribers that something beside the objects of informers has changed, and what."""

    _subscribers: list[Callable[[V], None]] = field(default_factory=list)

    def subscribe(self, subscriber: Callable[[V], None]) -> None:
        self._subscribers.append(subscriber)

    def fire(self, value: V) -> None:
        """Calls the subscribers synchronously. They must not block: they only enqueue keys."""
        for subscriber in self._subscribers:
            subscriber(value)


@dataclass(frozen=True)
class SignalTrigger(Generic[V, K]):
    """Enqueues keys when a signal fires. `keys` maps the value of the signal to the keys to reconcile.

    With `after_seconds`, the keys become due that much later, for changes that are only worth reporting.
    """

    signal: Signal[V]
    keys: Callable[[V], Iterable[K]]
    why: str
    after_seconds: float = 0.0


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
