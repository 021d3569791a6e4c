"""Watch: a position in the history of a table.

The stream yields whole lines; a watch that has fallen behind gets several at once. It ends after `timeoutSeconds`, or
with an ERROR line (410) if the history no longer reaches back to its position.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping

import orjson

from grove_sandbox.apiserver.errors import (
    JSON_HEADERS,
    StatusError,
    expired,
    forbidden_field,
)
from grove_sandbox.apiserver.responses.encoding import ResponseEncoder
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Stored, StoredChange
from grove_sandbox.apiserver.verbs.reads import refusal, too_large, version_number
from grove_sandbox.apiserver.verbs.selectors import Matcher, matcher

INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}
BOOKMARK_INTERVAL_SECONDS = 60.0
DEFAULT_TIMEOUT_SECONDS = 2700.0  # a real server draws 30 to 60 minutes


class WatchStream:
    """Implements `grove.runtime.client.transport.Stream`."""

    def __init__(self, call: ApiCall, encoder: ResponseEncoder) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = JSON_HEADERS
        self._call, self._encoder = call, encoder
        self._matches = matcher(call.type, call.query)
        self._table = call.table
        self._wake = asyncio.Event()
        self._closed = False
        self._headers_due = True  # a Table has column definitions only in its first event
        self._bookmarks = call.query.get("allowWatchBookmarks") == "true"
        version, self._initial = _start_position(call)
        current = call.state.store.version
        self._position = self._table.end if self._initial else self._table.position_after(version)
        self._snapshot = list(self._table.scan(call.scope)) if self._initial else []
        self._snapshot_version = current
        self._error: StatusError | None = None
        if not self._initial and version < self._table.compacted:
            self._error = expired(f"too old resource version: {version} ({self._table.compacted})")

    async def chunks(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        timeout = float(self._call.query.get("timeoutSeconds") or 0) or DEFAULT_TIMEOUT_SECONDS
        deadline = loop.time() + timeout
        next_bookmark = loop.time() + BOOKMARK_INTERVAL_SECONDS
        self._table.subscribe(self._wake)
        try:
            if self._initial:
                first = self._first_lines()
                if first:
                    yield first
            while not self._closed:
                self._wake.clear()
                lines = self._next_lines()
                if lines:
                    yield lines
                    continue  # changes may have arrived while the reader was busy
                if self._closed or self._table.closed:
                    return
                until = min(deadline, next_bookmark if self._bookmarks else deadline)
                try:
                    async with asyncio.timeout_at(until):
                        await self._wake.wait()
                    continue
                except TimeoutError:
                    pass
                lines = self._next_lines()  # a bookmark must not overtake changes
                if self._bookmarks and not self._closed:
                    lines += self._encoder.bookmark(self._call.state.store.version, {})
                if lines:
                    yield lines
                if until == deadline:  # do not ask the clock: a timer may fire early by a rounding error
                    return
                next_bookmark = loop.time() + BOOKMARK_INTERVAL_SECONDS
        finally:
            self._table.unsubscribe(self._wake)

    async def close(self) -> None:
        self._closed = True
        self._wake.set()

    def _first_lines(self) -> bytes:
        lines = [
            self._line("ADDED", stored)
            for stored in self._snapshot
            if self._matches is None or self._matches(stored)
        ]
        self._snapshot = []
        if self._initial == "bookmarked":
            lines.append(self._encoder.bookmark(self._snapshot_version, INITIAL_EVENTS_END))
        return b"".join(lines)

    def _next_lines(self) -> bytes:
        table = self._table
        if self._error is None and self._position < table.first:
            self._error = expired(f"too old resource version: the history begins at {table.compacted}")
        if self._error:
            self._closed = True
            return orjson.dumps({"type": "ERROR", "object": self._error.status()}) + b"\n"
        changes = table.since(self._position)
        self._position = table.end
        scope, matches = self._call.scope, self._matches
        lines = []
        for change in changes:
            if scope is not None and change.key[0] != scope:
                continue
            seen = (change.type, change.now) if matches is None else _event_for(change, matches)
            if seen:
                lines.append(self._line(*seen))
        return b"".join(lines)

    def _line(self, kind: str, stored: Stored) -> bytes:
        headers, self._headers_due = self._headers_due, False
        return self._encoder.event(kind, stored, headers=headers)


def _event_for(change: StoredChange, matches: Matcher) -> tuple[str, Stored] | None:
    """The event that a watch with a selector gets: an object can start or stop to match."""
    before = change.before is not None and matches(change.before)
    now = change.type != "DELETED" and matches(change.now)
    if now:
        return ("MODIFIED" if before else "ADDED"), change.now
    if not before or change.before is None:
        return None
    if change.type == "DELETED":
        return "DELETED", change.now
    # It no longer matches: the watch gets the last matching state, at the version of this change.
    last = change.before.obj
    meta = {**last["metadata"], "resourceVersion": str(change.version)}
    return "DELETED", Stored(change.key, {**last, "metadata": meta}, change.version)


def _start_position(call: ApiCall) -> tuple[int, str]:
    """The version to start after, and how existing objects are sent first: "" (not), "plain" or "bookmarked"."""
    query = call.query
    initial, match = query.get("sendInitialEvents"), query.get("resourceVersionMatch", "")
    version = version_number(query.get("resourceVersion", ""))
    if initial is not None and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise refusal(forbidden_field("resourceVersionMatch", detail))
    if initial is None and match:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise refusal(forbidden_field("resourceVersionMatch", detail))
    current = call.state.store.version
    if initial == "true":
        if version > current:
            raise too_large(version, current)
        return current, "bookmarked" if query.get("allowWatchBookmarks") == "true" else "plain"
    if not version:
        return current, "plain" if initial is None else ""
    return version, ""
