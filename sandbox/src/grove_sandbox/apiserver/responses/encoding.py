"""Encodes responses in the form that the client accepts: the object itself, a `Table`, or metadata only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from grove.runtime.client.transport import Response

from grove_sandbox.apiserver.errors import JSON_HEADERS, not_acceptable
from grove_sandbox.apiserver.responses.kubectl_table import partial, table
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored

Form = Literal["object", "table", "partial"]


@dataclass(frozen=True)
class ResponseEncoder:
    """Encodes objects for one request. Full objects reuse the bytes of the store."""

    call: ApiCall
    form: Form
    include: str

    def one(self, stored: Stored) -> bytes:
        call = self.call
        if self.form == "table":
            return orjson.dumps(self._table([stored], {"resourceVersion": str(stored.version)}))
        if self.form == "partial":
            return orjson.dumps(partial(stored.obj))
        if call.type.conversion:
            return orjson.dumps(call.typed(call.type.conversion.to_served(stored.obj)))
        return call.type.prefix + stored.tail

    def many(self, items: Iterable[Stored], metadata: dict[str, Any]) -> bytes:
        call = self.call
        if self.form == "table":
            return orjson.dumps(self._table(items, metadata))
        kind, version = call.type.kind_of_list, call.type.api_version
        if self.form == "partial":
            kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        head = f'{{"kind":"{kind}","apiVersion":"{version}","metadata":'.encode() + orjson.dumps(metadata)
        if self.form == "partial" or call.type.custom or call.type.conversion:
            encoded = [self.one(stored) for stored in items]
        else:
            encoded = [b"{" + stored.tail for stored in items]  # items of a builtin list have no kind
        return head + b',"items":[' + b",".join(encoded) + b"]}"

    def event(self, kind: str, stored: Stored, *, headers: bool) -> bytes:
        if self.form == "table":
            meta = {"resourceVersion": str(stored.version)}
            body = orjson.dumps(self._table([stored], meta, headers=headers))
        else:
            body = self.one(stored)
        return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"

    def bookmark(self, version: int, annotations: Mapping[str, str]) -> bytes:
        meta: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        obj: Object = {
            "kind": self.call.type.kind,
            "apiVersion": self.call.type.api_version,
            "metadata": meta,
        }
        if self.form == "partial":
            obj = partial(obj)
        elif self.form == "table":
            obj = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "columnDefinitions": None,
                "rows": [{"cells": [], "object": partial(obj)}],
            }
        return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _table(self, items: Iterable[Stored], metadata: dict[str, Any], *, headers: bool = True) -> Object:
        call = self.call
        objects = (call.typed(stored.obj) for stored in items)
        return table(
            call.type.columns,
            objects,
            call.state.now(),
            metadata=metadata,
            include=self.include,
            headers=headers,
        )


def negotiate(call: ApiCall) -> ResponseEncoder:
    """The first form of the Accept header that this server supports. Raises 406 if there is none."""
    include = call.query.get("includeObject") or "Metadata"
    accept = call.headers.get("accept", "")
    if not accept or accept == "application/json":
        return ResponseEncoder(call, "object", include)
    for wish in accept.split(","):
        media, *parameters = [part.strip() for part in wish.split(";")]
        settings = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in ("application/json", "*/*", "application/*"):
            continue
        match settings.get("as"):
            case None:
                return ResponseEncoder(call, "object", include)
            case "Table" if settings.get("v", "v1") == "v1":
                return ResponseEncoder(call, "table", include)
            case "PartialObjectMetadata" | "PartialObjectMetadataList" if settings.get("v", "v1") == "v1":
                return ResponseEncoder(call, "partial", include)
    raise not_acceptable()


def respond(call: ApiCall, body: bytes | Object, status: int = 200) -> Response:
    headers: Mapping[str, str] = JSON_HEADERS
    if call.warnings:
        quoted = [warning.replace("\\", "\\\\").replace('"', '\\"') for warning in call.warnings]
        headers = {**headers, "warning": ", ".join(f'299 - "{warning}"' for warning in quoted)}
    return Response(status, headers, body if isinstance(body, bytes) else orjson.dumps(body))
