"""The embedded API server without a socket: routes a request to its verb and returns the response.

`ApiServer` implements `grove.runtime.client.transport.Transport`, so a client can call it in process.
`grove_sandbox.http` serves it on a port, for kubectl. It runs on the caller's event loop and takes all times from it
or from `now`, so it works in virtual time.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from grove.runtime.client.transport import Request, Response, Stream

from grove_sandbox.apiserver.controllers import bootstrap
from grove_sandbox.apiserver.controllers.garbage_collector import GarbageCollector
from grove_sandbox.apiserver.controllers.namespaces import NamespaceController
from grove_sandbox.apiserver.controllers.pod_group_protection import PodGroupProtection
from grove_sandbox.apiserver.custom.crd_controller import CustomResourceController
from grove_sandbox.apiserver.discovery import discovery
from grove_sandbox.apiserver.errors import StatusError, method_not_allowed, no_such_path
from grove_sandbox.apiserver.kinds.builtin import builtin_types
from grove_sandbox.apiserver.patching.patches import patch
from grove_sandbox.apiserver.requests import options, paths
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.responses.encoding import negotiate, respond
from grove_sandbox.apiserver.schema.definitions import Dialect
from grove_sandbox.apiserver.state import ApiCall, ServerState, WebhookCaller
from grove_sandbox.apiserver.storage import HISTORY, Object, Stored, StoredChange, Table
from grove_sandbox.apiserver.verbs import reads, reviews, subresources
from grove_sandbox.apiserver.verbs.deletes import delete, delete_collection
from grove_sandbox.apiserver.verbs.watches import WatchStream
from grove_sandbox.apiserver.verbs.writes import create, update

NOT_FOUND = Response(404, {"content-type": "text/plain; charset=utf-8"}, b"404 page not found\n")
DEFAULT_DIALECT: Dialect = "1.37"


@dataclass(frozen=True)
class Write:
    """A stored change of one object, as observers get it."""

    type: str  # ADDED, MODIFIED or DELETED
    resource: ServedResource
    now: Object
    before: Object | None

    @property
    def key(self) -> tuple[str, str]:
        meta = self.now["metadata"]
        return meta.get("namespace", ""), meta["name"]


class ApiServer:
    """`now` is the wall clock. `seed` makes generated names and uids reproducible.

    `history` is the number of changes per resource that a watch can resume over; older ones answer 410. `dialect` is
    the Kubernetes release to imitate. `call_webhook` sends admission reviews; without it webhooks are refused.
    """

    def __init__(
        self,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        seed: int = 0,
        history: int = HISTORY,
        dialect: Dialect = DEFAULT_DIALECT,
        call_webhook: WebhookCaller | None = None,
    ) -> None:
        self.state = ServerState(now, seed, history, dialect)
        self.state.call_webhook = call_webhook
        self.observer_errors: list[BaseException] = []
        self._observers: list[Callable[[Write], None]] = []
        for resource_type in (*builtin_types(dialect), *reviews.REVIEWS):
            self.state.registry.add(resource_type)
        self._namespaces = NamespaceController(self.state)
        self._collector = GarbageCollector(self.state)
        self._protection = PodGroupProtection(self.state)
        self._custom = CustomResourceController(self.state)
        self.state.store.listeners.append(self._observe)
        bootstrap.create_initial_objects(self.state)

    async def send(self, request: Request) -> Response:
        try:
            return await self._handle(request)
        except StatusError as error:
            return error.respond()

    async def stream(self, request: Request) -> Stream:
        try:
            call = self._parse(request)
            if call is not None and is_watch(request, call):
                return WatchStream(call, negotiate(call))
        except StatusError as error:
            return SingleResponseStream(error.respond())
        return SingleResponseStream(await self.send(request))

    async def close(self) -> None:
        """Ends all watches."""
        for table in self.state.store.tables.values():
            table.close()

    def on_write(self, observer: Callable[[Write], None]) -> None:
        """Calls `observer` synchronously after every write by any client.

        An exception of the observer is raised to that client and kept in `observer_errors`.
        """
        self._observers.append(observer)

    def compact(self) -> None:
        """Drops the history: resuming a watch from an earlier version answers 410."""
        for table in self.state.store.tables.values():
            table.compacted = self.state.store.version
            table.compact()

    async def _handle(self, request: Request) -> Response:
        call = self._parse(request)
        if call is None:
            found = discovery.answer(self.state, request)
            return found or self._unknown(request)
        options.check(request.method, request.query)
        if call.type in reviews.REVIEWS:
            return reviews.answer(call, request.method)
        if call.subresource and call.subresource != "status":
            return await subresources.answer(call, request.method)
        method = request.method
        if call.subresource == "status" and not call.type.status:
            return NOT_FOUND
        if method == "GET":
            encoder = negotiate(call)
            if call.name:
                return respond(call, encoder.one(reads.get(call)))
            return respond(call, reads.list_objects(call, encoder))
        if method == "POST" and not call.name:
            encoder = negotiate(call)
            stored, status = await create(call)
        elif method == "PUT" and call.name:
            encoder = negotiate(call)
            stored, status = await update(call)
        elif method == "PATCH" and call.name:
            encoder = negotiate(call)
            stored, status = await patch(call)
        elif method == "DELETE" and not call.subresource:
            return await self._delete(call)
        else:
            raise method_not_allowed()
        return respond(call, encoder.one(stored), status)

    async def _delete(self, call: ApiCall) -> Response:
        encoder = negotiate(call)
        if call.name:
            left, status = await delete(call)
            return respond(call, encoder.one(left) if isinstance(left, Stored) else left, status)
        version = self.state.store.version
        deleted = await delete_collection(call)
        return respond(call, encoder.many(deleted, {"resourceVersion": str(version)}))

    def _parse(self, request: Request) -> ApiCall | None:
        target = paths.parse(request.path)
        if target is None:
            return None
        resource_type = self.state.registry.get(target.group, target.version, target.plural)
        if resource_type is None or (target.namespace and not resource_type.namespaced):
            return None
        if resource_type.namespaced and not target.namespace and (target.name or request.method == "POST"):
            return None
        headers = {name.lower(): value for name, value in request.headers.items()}
        return ApiCall(
            self.state,
            resource_type,
            target.namespace,
            target.name,
            target.subresource,
            request.query,
            headers,
            request.body,
        )

    def _unknown(self, request: Request) -> Response:
        """404 as of a real server: a Status for an unknown resource in a builtin version, otherwise plain text."""
        target = paths.parse(request.path)
        types = [t for t in self.state.registry if target and t.group == target.group]
        if target and any(t.version == target.version and not t.custom for t in types):
            raise no_such_path()
        return NOT_FOUND

    def _observe(self, table: Table, change: StoredChange) -> None:
        if not self._observers:
            return
        resource_type = self.state.registry.served(table.resource)
        if resource_type is None:
            return
        kind = {"kind": resource_type.kind, "apiVersion": resource_type.api_version}
        before = {**kind, **change.before.obj} if change.before else None
        write = Write(change.type, resource_type, {**kind, **change.now.obj}, before)
        for observer in self._observers:
            try:
                observer(write)
            except BaseException as error:
                self.observer_errors.append(error)
                raise


def is_watch(request: Request, call: ApiCall) -> bool:
    wanted = request.query.get("watch", "") in ("1", "true")
    return request.method == "GET" and wanted and not call.name and not call.subresource


class SingleResponseStream:
    """A complete response in the form of a stream, for a request that turned out to be no watch."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._body = response.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    async def close(self) -> None:
        return
