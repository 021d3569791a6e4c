"""What all verbs work on: the store, the registry, the clock and the dice; and one call upon them."""

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from grove_sandbox.apiserver.resources.resource_types import ResourceRegistry, ServedResource
from grove_sandbox.apiserver.schema.definitions import Dialect, load
from grove_sandbox.apiserver.storage import Object, Store, Stored, Table
from grove_sandbox.timestamps import rfc3339

# Where to, the review, and for how many seconds to wait; raises OSError, TimeoutError or ValueError.
WebhookCaller = Callable[[Object, bytes, float], Awaitable[bytes]]
USER: Object = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class ServerState:
    def __init__(self, now: Callable[[], datetime], seed: int, history: int, dialect: Dialect) -> None:
        self.dialect = dialect
        self.definitions = load(dialect)
        self.store = Store(history)
        self.registry = ResourceRegistry()
        self.now = now
        self.call_webhook: WebhookCaller | None = None
        self._dice = random.Random(seed)

    def timestamp(self) -> str:
        return rfc3339(self.now())

    def new_uid(self) -> str:
        return str(uuid.UUID(int=self._dice.getrandbits(128), version=4))

    def name_suffix(self) -> str:
        return "".join(self._dice.choice(NAME_ALPHABET) for _ in range(5))

    def later(self, work: Callable[[], None]) -> None:
        """Run `work` after the present request, as a controller would that watches."""
        asyncio.get_running_loop().call_soon(work)

    def table(self, resource_type: ServedResource) -> Table:
        return self.store.table(resource_type.storage)

    def find(self, group: str, version: str, plural: str, name: str, namespace: str = "") -> Stored | None:
        """An object of a builtin resource by its name, for rules that look at other objects."""
        resource_type = self.registry.get(group, version, plural)
        return self.table(resource_type).get((namespace, name)) if resource_type else None


@dataclass(slots=True)
class ApiCall:
    """One request, understood: what it is about, and the warnings its answer will carry."""

    state: ServerState
    type: ServedResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    warnings: list[str] = field(default_factory=list)

    @property
    def table(self) -> Table:
        return self.state.table(self.type)

    @property
    def dry_run(self) -> bool:
        return bool(self.query.get("dryRun"))

    @property
    def scope(self) -> str | None:
        """The namespace of a collection; None for all of them or for cluster-scoped resources."""
        return self.namespace or None

    def typed(self, obj: Object) -> Object:
        """A stored object as a client sees it, as a new top level."""
        return {"kind": self.type.kind, "apiVersion": self.type.api_version, **obj}
