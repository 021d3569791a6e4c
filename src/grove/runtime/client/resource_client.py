"""The client for one resource, with every verb that the API has for its objects.

Bodies go in as bytes and come out through the caller's `decode`. With a cache, every answer is written through, so
a reader of the cache sees every write that was made here.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import msgspec

from grove.runtime.client import requests
from grove.runtime.client.client import Client
from grove.runtime.client.errors import Gone, NotFound, StatusDetails, TransportError, Vanished
from grove.runtime.client.objects import KubeObject, Obj, ObjectKey, Origin, ResourceType
from grove.runtime.client.requests import Call, DeleteOptions, Preconditions, Propagation
from grove.runtime.client.transport import Response

Obj_contra = TypeVar("Obj_contra", bound=KubeObject, contravariant=True)

# How many objects a list asks for at a time.
PAGE_SIZE = 500

# Decodes one object from bytes that belong to it alone: `msgspec.Raw` fields may keep pointing into them.
Decode = Callable[[bytes], Obj]


class WriteThroughCache(Protocol[Obj_contra]):
    """The cache of an informer, as far as a client writes to it."""

    def observe(self, obj: Obj_contra, origin: Origin) -> None: ...

    def forget(self, uid: str, version: int | None, origin: Origin) -> None: ...


@dataclass(frozen=True, slots=True)
class Listing(Generic[Obj]):
    items: Sequence[Obj]
    resource_version: str


@dataclass(frozen=True, slots=True)
class ScaleSubresource:
    """The scale subresource: how many replicas are wanted, how many exist, and the label selector that finds them."""

    replicas: int
    current: int = 0
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. Each body is a copy of its own, so that no object keeps the whole page in memory."""

    bodies: list[bytes]
    resource_version: str


class ResourceClient(Generic[Obj]):
    """Raises `ApiError` and `TransportError`; `grove.runtime.client.client` says what a failed write may have done."""

    def __init__(
        self,
        client: Client,
        resource: ResourceType,
        decode: Decode[Obj],
        *,
        cache: WriteThroughCache[Obj] | None = None,
    ) -> None:
        self.resource = resource
        self._client = client
        self._decode = decode
        self._cache = cache

    @property
    def manager(self) -> str:
        """The field manager that owns these writes in `metadata.managedFields`."""
        return self._client.field_manager

    async def get(self, key: ObjectKey) -> Obj:
        answer = await self._client.send(requests.get(self.resource, key.namespace, key.name))
        return self._write_through(answer, Origin.WATCH)

    async def peek(self, key: ObjectKey) -> Obj:
        """As `get`, but bypasses the cache: for an object outside its selector, no watch event would ever remove it."""
        call = requests.get(self.resource, key.namespace, key.name)
        return self._decoded((await self._client.send(call)).body)

    async def list(self, namespace: str | None = None, *, labels: str = "", fields: str = "") -> Listing[Obj]:
        """All objects of one namespace, or of all namespaces, at one resourceVersion."""
        try:
            return await self._list(namespace, labels, fields, PAGE_SIZE)
        except Gone:  # the continue token expired between two pages: list without paging
            return await self._list(namespace, labels, fields, 0)

    async def pages(
        self, namespace: str | None = None, *, labels: str = "", fields: str = "", limit: int
    ) -> AsyncIterator[Page]:
        """A list page by page. Raises `Gone` if the continue token expires before the last page."""
        token = ""
        while True:
            call = requests.list_page(
                self.resource, namespace, labels=labels, fields=fields, limit=limit, continue_token=token
            )
            found = _read(_list_answer, await self._send(call), call)
            yield Page([bytes(item) for item in found.items or ()], found.metadata.resource_version)
            token = found.metadata.continue_token
            if not token:
                return

    async def create(self, namespace: str, body: bytes, *, generate_name: bool = False) -> Obj:
        """Creates an object. `namespace` is empty for a cluster-scoped resource.

        Pass `generate_name` if the server completes the name: such a create is not retried after an ambiguous
        failure. A create with a fixed name is retried, and may raise `AlreadyExists` for the object that it created
        itself: `get` the object and compare.
        """
        call = requests.create(
            self.resource,
            namespace,
            body,
            generate_name=generate_name,
            field_manager=self._client.field_manager,
        )
        return self._write_through(await self._client.send(call), Origin.EXPECTED_WRITE)

    async def update(self, key: ObjectKey, body: bytes, *, subresource: str = "") -> Obj:
        """Replaces the object. With `metadata.resourceVersion` in the body, it replaces that version only."""
        manager = self._client.field_manager
        return await self._changed(
            requests.update(
                self.resource, key.namespace, key.name, body, subresource=subresource, field_manager=manager
            )
        )

    async def merge_patch(
        self, key: ObjectKey, patch: bytes, *, subresource: str = "", on_version_read: bool = False
    ) -> Obj:
        """RFC 7386. With `metadata.resourceVersion` in the patch, it applies to that version only, or is a `Conflict`.

        Pass `on_version_read` if the patch names the resourceVersion that the caller has read. The answer then contains
        nothing but this patch, so it does not requeue the key whose reconcile sent it.
        """
        origin = Origin.EXPECTED_WRITE if on_version_read else Origin.OWN_WRITE
        return await self._changed(self._patch(key, patch, requests.MERGE_PATCH, subresource), origin)

    async def json_patch(self, key: ObjectKey, patch: bytes, *, subresource: str = "") -> Obj:
        """RFC 6902. Guard it with `test` operations: a retry may send it twice."""
        return await self._changed(self._patch(key, patch, requests.JSON_PATCH, subresource))

    async def apply(self, key: ObjectKey, body: bytes, *, force: bool = True, subresource: str = "") -> Obj:
        """Server-side apply under the client's field manager: creates the object, or changes what the body names."""
        if not self._client.field_manager:
            raise ValueError("server-side apply needs a client with a field_manager")
        call = self._patch(key, body, requests.APPLY_PATCH, subresource, force=force)
        return self._write_through(await self._client.send(call), Origin.OWN_WRITE)

    async def delete(
        self,
        key: ObjectKey,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Requests the deletion of the object. An object that does not exist any more is no error.

        With `uid` or `resource_version` as preconditions: raises `Conflict` if the object does not match.
        """
        options = _delete_options(propagation, grace_seconds, Preconditions(uid, resource_version))
        call = requests.delete(self.resource, key.namespace, key.name, options)
        try:
            body = await self._send(call)
        except NotFound:
            if uid and self._cache is not None:
                self._cache.forget(uid, None, Origin.OWN_WRITE)
            return
        if self._cache is None:
            return
        status = _read(_delete_answer, body, call)
        if status.kind != "Status":  # finalizers or a grace period: the object is terminating, not gone
            self._cache.observe(self._decoded(body), Origin.OWN_WRITE)
        elif deleted := uid or (status.details.uid if status.details else ""):
            self._cache.forget(deleted, None, Origin.OWN_WRITE)

    async def delete_collection(
        self,
        namespace: str,
        *,
        labels: str = "",
        fields: str = "",
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Deletes all that is selected. The cache learns of it from the watch."""
        options = _delete_options(propagation, grace_seconds)
        await self._send(
            requests.delete_collection(self.resource, namespace, options, labels=labels, fields=fields)
        )

    async def get_scale(self, key: ObjectKey) -> ScaleSubresource:
        call = requests.get(self.resource, key.namespace, key.name, subresource="scale")
        return _scale(_read(_scale_answer, await self._send(call), call))

    async def set_scale(self, key: ObjectKey, replicas: int) -> ScaleSubresource:
        patch = msgspec.json.encode({"spec": {"replicas": replicas}})
        call = self._patch(key, patch, requests.MERGE_PATCH, "scale")
        return _scale(_read(_scale_answer, await self._send(call), call))

    async def post(self, key: ObjectKey, subresource: str, body: bytes) -> None:
        """Posts to a subresource of an object, such as `binding` or `eviction`."""
        await self._send(requests.post_subresource(self.resource, key.namespace, key.name, subresource, body))

    def _patch(
        self, key: ObjectKey, body: bytes, content_type: str, subresource: str, *, force: bool = False
    ) -> Call:
        return requests.patch(
            self.resource,
            key.namespace,
            key.name,
            body,
            content_type,
            subresource=subresource,
            field_manager=self._client.field_manager,
            force=force,
        )

    async def _list(self, namespace: str | None, labels: str, fields: str, limit: int) -> Listing[Obj]:
        items: list[Obj] = []
        version = ""
        async for page in self.pages(namespace, labels=labels, fields=fields, limit=limit):
            items.extend(self._decoded(body) for body in page.bodies)
            version = version or page.resource_version
        return Listing(items, version)

    async def _changed(self, call: Call, origin: Origin = Origin.OWN_WRITE) -> Obj:
        """Sends a change of an object that the caller has read. Raises `Vanished` if it does not exist any more."""
        try:
            answer = await self._client.send(call)
        except NotFound as e:
            if e.status.details is not None and e.status.details.name:
                raise Vanished(e.status, e.what) from e
            raise
        return self._write_through(answer, origin)

    def _write_through(self, answer: Response, origin: Origin) -> Obj:
        obj = self._decoded(answer.body)
        if self._cache is not None:
            self._cache.observe(obj, origin)
        return obj

    def _decoded(self, body: bytes) -> Obj:
        """Raises `TransportError` for a truncated or malformed object: a proxy may have cut the answer."""
        try:
            return self._decode(body)
        except msgspec.DecodeError as e:
            raise TransportError(
                f"{self.resource.plural}: the answer is not a {self.resource.kind}: {e}"
            ) from e

    async def _send(self, call: Call) -> bytes:
        return (await self._client.send(call)).body


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _DeleteAnswer(msgspec.Struct):
    kind: str = ""
    details: StatusDetails | None = None


class _ScaleSpec(msgspec.Struct):
    replicas: int = 0


class _ScaleStatus(msgspec.Struct):
    replicas: int = 0
    selector: str = ""


class _ScaleAnswer(msgspec.Struct):
    spec: _ScaleSpec
    status: _ScaleStatus


_list_answer = msgspec.json.Decoder(_List)
_delete_answer = msgspec.json.Decoder(_DeleteAnswer)
_scale_answer = msgspec.json.Decoder(_ScaleAnswer)

A = TypeVar("A")


def _read(decoder: msgspec.json.Decoder[A], body: bytes, call: Call) -> A:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as e:
        request = call.request
        raise TransportError(f"{request.method} {request.path}: not an answer to a {call.verb}: {e}") from e


def _scale(answer: _ScaleAnswer) -> ScaleSubresource:
    return ScaleSubresource(answer.spec.replicas, answer.status.replicas, answer.status.selector)


def _delete_options(
    propagation: Propagation | None, grace_seconds: int | None, only: Preconditions | None = None
) -> DeleteOptions:
    return DeleteOptions(
        preconditions=only if only and (only.uid or only.resource_version) else None,
        propagation_policy=propagation,
        grace_period_seconds=grace_seconds,
    )
