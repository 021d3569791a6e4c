"""A plain HTTP client for the contract suite.

It is not the operator's client on purpose: the suite tests servers, so a bug of our client must not hide a bug of a
server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

# Long enough for a slow machine, short enough for a test whose event never arrives.
PATIENCE = 30.0


@dataclass(frozen=True)
class Answer:
    code: int
    headers: dict[str, str]
    body: Any

    @property
    def rv(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    def status(self) -> Json:
        """The Status in the body. Fails if the body is something else."""
        assert isinstance(self.body, dict), self
        assert self.body["kind"] == "Status", self.body
        return self.body

    def causes(self) -> list[tuple[str, str]]:
        """Field and reason of every cause, in order."""
        return [(cause["field"], cause["reason"]) for cause in self.status()["details"]["causes"]]


class Api:
    """One server, a namespace for this case, and one connection pool."""

    def __init__(self, session: aiohttp.ClientSession, url: str, namespace: str, k8s: str) -> None:
        self.session = session
        self.url = url
        self.namespace = namespace
        self.k8s = k8s

    def path(self, resource: str, name: str = "", subresource: str = "", namespace: str = "") -> str:
        """``/api/v1/namespaces/<ours>/<resource>/<name>/<subresource>``; resource may be ``group/version/resource``."""
        prefix, _, plural = resource.rpartition("/")
        root = f"/apis/{prefix}" if prefix else "/api/v1"
        parts = [root, "namespaces", namespace or self.namespace, plural, name, subresource]
        return "/".join(part for part in parts if part)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        **query: Any,
    ) -> Answer:
        headers = {"Accept": accept}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = body if isinstance(body, str) else json.dumps(body)
        async with self.session.request(
            method, self.url + path, params=query, headers=headers, data=data
        ) as response:
            raw = await response.read()
            # A real server labels its OpenAPI index text/plain.
            is_json = response.content_type.endswith("json") or raw.startswith(b"{")
            parsed = json.loads(raw) if is_json else raw.decode()
            return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, parsed)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.request("GET", path, **options)

    async def create(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.request("POST", path, body, **options)

    async def update(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.request("PUT", path, body, **options)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **options: Any) -> Answer:
        return await self.request("PATCH", path, body, content_type=kind, **options)

    async def delete(self, path: str, body: Any = None, **options: Any) -> Answer:
        return await self.request("DELETE", path, body, **options)

    async def created(self, path: str, body: Any) -> Json:
        """Creates an object and returns it as stored. Fails unless the server answers 201."""
        answer = await self.create(path, body)
        assert answer.code == 201, answer
        result: Json = answer.body
        return result

    @asynccontextmanager
    async def watch(self, path: str, **query: Any) -> AsyncIterator[Watch]:
        accept = query.pop("accept", "application/json")
        async with self.session.get(
            self.url + path, params={"watch": "true", **query}, headers={"Accept": accept}
        ) as response:
            try:
                yield Watch(response)
            finally:
                # An orderly TLS shutdown would outlive the event loop of the test.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()

    async def eventually(self, path: str, holds: Callable[[Answer], bool], **options: Any) -> Answer:
        """Reads until ``holds(answer)``, for what controllers of a real cluster do asynchronously."""
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self.get(path, **options)
                if holds(answer):
                    return answer
                await asyncio.sleep(0.05)

    async def gone(self, path: str) -> None:
        await self.eventually(path, lambda answer: answer.code == 404)


class Watch:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    @property
    def code(self) -> int:
        return self.response.status

    async def next(self, patience: float = PATIENCE) -> Json:
        """The next event. TimeoutError if none arrives, EOFError if the server ended the watch."""
        async with asyncio.timeout(patience):
            line = await self.response.content.readline()
        if not line:
            raise EOFError("the server ended the watch")
        event: Json = json.loads(line)
        return event

    async def take(self, count: int) -> list[tuple[str, str]]:
        """Type and object name of the next ``count`` events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    async def rest(self) -> list[Json]:
        """All events until the server ends the watch."""
        events = []
        while True:
            try:
                events.append(await self.next())
            except EOFError:
                return events
