"""What a cluster serves of a backend's kinds: which fields they have, and which of them the server keeps.

A question that fails is no answer: it is asked again soon, and until then the backend waits. Clusters are upgraded
under a running operator, so what was answered is asked again now and then too; nothing waits for that.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec
import orjson
import structlog

from grove.controllers.shared.status_writer import describe
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.client import Client
from grove.runtime.client.discovery import resources
from grove.runtime.client.errors import (
    ApiError,
    NotFound,
    RequestError,
    ServerError,
    TooManyRequests,
    TransportError,
)
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, Probe, Served

log = structlog.get_logger(__name__)

Json = dict[str, Any]

# Deep enough for any field that a backend writes; schemas may be recursive.
_DEPTH = 8


ASK_AGAIN_AFTER = 300.0
FIRST_RETRY, LONGEST_RETRY = 0.5, 30.0


@dataclass(frozen=True)
class Known:
    """What the cluster answered for one backend; `kept` and `dropped` are names of its probes."""

    fields: Mapping[ObjectKind, frozenset[str]]
    kept: frozenset[str]
    dropped: frozenset[str]


class Discovery:
    """What is known for each backend. One whose questions fail holds up no other."""

    def __init__(self, client: Client, backends: Iterable[Backend]) -> None:
        self._client = client
        self._backends = list(backends)
        self._known: dict[str, Known] = {}
        self._trouble: dict[str, str] = {}
        self._news = asyncio.Event()

    def of(self, backend: Backend) -> Known | None:
        """The last answer; None before the first."""
        return self._known.get(backend.name)

    def trouble(self, backend: Backend) -> str:
        """Why the last question was not answered; empty when it was."""
        return self._trouble.get(backend.name, "")

    def knows(self, kind: ObjectKind) -> bool:
        """Whether the kind is known to be served."""
        return any(kind in known.fields for known in self._known.values())

    def ask(self) -> None:
        """There is news: asks at once, and wakes the gangs whatever the answer."""
        self._news.set()

    async def run(self, wake_all: Callable[[], None]) -> NoReturn:
        """Asks now and then, and calls `wake_all` when an answer is new. Until cancelled."""
        waits = Backoff(FIRST_RETRY, LONGEST_RETRY)
        while True:
            news = self._news.is_set()
            self._news.clear()
            changed = [await self._ask(backend) for backend in self._backends]
            if news or any(changed):
                wake_all()
            if self._trouble:
                wait = waits.next()
            else:
                waits.reset()
                wait = ASK_AGAIN_AFTER
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()

    async def _ask(self, backend: Backend) -> bool:
        """Whether the answer, or the trouble with it, is new."""
        name, before = backend.name, (self.of(backend), self.trouble(backend))
        try:
            self._known[name] = await self._answer(backend)
            self._trouble.pop(name, None)
        except RequestError as e:
            self._trouble[name] = describe(e)
        known, trouble = self.of(backend), self.trouble(backend)
        if (known, trouble) == before:
            return False
        if trouble:
            log.warning("cannot learn what the cluster serves, will ask again", backend=name, error=trouble)
        elif known is not None and known != before[0]:
            kinds = [f"{k.kind} ({k.api_version})" for k in known.fields]
            log.info("the cluster serves", backend=name, kinds=kinds, kept=sorted(known.kept))
            self._log_variant(backend, known)
        return True

    def _log_variant(self, backend: Backend, known: Known) -> None:
        variant = backend.detected_variant(Served(known.fields, known.kept, known.dropped))
        if variant is not None:
            log.info(
                "detected the scheduler's gang API",
                backend=backend.name,
                dialect=variant.key,
                scheduler=variant.title,
                not_guaranteed=variant.not_given,
            )

    async def _answer(self, backend: Backend) -> Known:
        listed = {
            gv: await resources(self._client, *gv) for gv in {(k.group, k.version): 0 for k in backend.kinds}
        }
        served = [k for k in backend.kinds if k.plural in listed[k.group, k.version]]
        fields = {k: await fields_of(self._client, k) for k in served}
        answers = {p.name: await is_kept(self._client, p) for p in backend.probes if _can_ask(p, served)}
        return Known(
            fields,
            frozenset([name for name, answer in answers.items() if answer]),
            frozenset([name for name, answer in answers.items() if answer is False]),
        )


async def fields_of(client: Client, kind: ObjectKind) -> frozenset[str]:
    """The paths of all fields of a kind, from the server's OpenAPI document; none where it publishes none.

    Raises RequestError.
    """
    path = f"/openapi/v3/apis/{kind.api_version}" if kind.group else f"/openapi/v3/api/{kind.version}"
    try:
        answer = await client.send(
            Call(Request("GET", path, {}, {"accept": "application/json"}), "get", "openapi")
        )
        schemas: Json = orjson.loads(answer.body).get("components", {}).get("schemas", {})
    except NotFound:
        return frozenset()
    except orjson.JSONDecodeError as e:
        raise TransportError(f"GET {path}: not an answer of an API server: {e}") from e
    root = next((s for s in schemas.values() if _is(s, kind)), None)
    return frozenset(_paths(root, schemas, "", _DEPTH)) if root is not None else frozenset()


async def is_kept(client: Client, probe: Probe) -> bool | None:
    """Whether a dry run keeps the probe's field; None when the server refuses it and so does not say.

    Raises RequestError for a server that fails, or cannot be reached.
    """
    kind = probe.kind
    body = {"apiVersion": kind.api_version, "kind": kind.kind} | probe.body
    where = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    path = f"{where}/namespaces/default/{kind.plural}" if kind.namespaced else f"{where}/{kind.plural}"
    request = Request(
        "POST", path, {"dryRun": "All"}, {"content-type": "application/json"}, msgspec.json.encode(body)
    )
    try:
        answer = await client.send(Call(request, "create", kind.plural))
    except (ServerError, TooManyRequests):
        raise
    except ApiError as e:
        log.debug("the server refused a probe", probe=probe.name, error=str(e))
        return None
    return bool(_at(orjson.loads(answer.body), probe.path) == _at(probe.body, probe.path))


def _can_ask(probe: Probe, served: Sequence[ObjectKind]) -> bool:
    """The core kinds are served everywhere; a kind that is not served keeps nothing."""
    return not probe.kind.group or probe.kind in served


def _is(schema: Json, kind: ObjectKind) -> bool:
    names = schema.get("x-kubernetes-group-version-kind", [])
    return {"group": kind.group, "version": kind.version, "kind": kind.kind} in names


def _paths(schema: Mapping[str, Any], schemas: Json, prefix: str, depth: int) -> list[str]:
    schema = _resolved(schema, schemas)
    if depth == 0:
        return []
    found: list[str] = []
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        found += [path, *_paths(field, schemas, path, depth - 1)]
    items = schema.get("items")
    return found + _paths(items, schemas, prefix, depth - 1) if items else found


def _resolved(schema: Mapping[str, Any], schemas: Json) -> Mapping[str, Any]:
    """Follows `$ref`, also where it stands in an `allOf` beside a description."""
    for part in (schema, *schema.get("allOf", [])):
        if "$ref" in part:
            return schemas.get(part["$ref"].rpartition("/")[2], {})  # type: ignore[no-any-return]
    return schema


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
