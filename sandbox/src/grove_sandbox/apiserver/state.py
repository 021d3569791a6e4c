"""`ServerState`, which all verbs share: store, registry, clock, random numbers. `ApiCall`: one parsed request."""

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

# Called with clientConfig, the encoded AdmissionReview and a timeout in seconds; returns the response body.
# Raises OSError, TimeoutError or ValueError.
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
        self._random = random.Random(seed)

    def timestamp(self) -> str:
        return rfc3339(self.now())

    def new_uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def name_suffix(self) -> str:
        return "".join(self._random.choice(NAME_ALPHABET) for _ in range(5))

    def later(self, work: Callable[[], None]) -> None:
        """Runs `work` after the present request, as a controller that watches would."""
        asyncio.get_running_loop().call_soon(work)

    def table(self, resource_type: ServedResource) -> Table:
        return self.store.table(resource_type.storage)

    def find(self, group: str, version: str, plural: str, name: str, namespace: str = "") -> Stored | None:
        """An object of a builtin resource, for rules that depend on other objects."""
        resource_type = self.registry.get(group, version, plural)
        return self.table(resource_type).get((namespace, name)) if resource_type else None


@dataclass
class ApiCall:
    """One parsed request, and the warnings that its response will carry."""

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
        """The namespace of a collection. None for all namespaces and for cluster-scoped resources."""
        return self.namespace or None

    def typed(self, obj: Object) -> Object:
        """A copy of the top level of a stored object, with kind and apiVersion."""
        return {"kind": self.type.kind, "apiVersion": self.type.api_version, **obj}
