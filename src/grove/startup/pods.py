"""One list and one watch of pods, over one connection to the API server.

Every request reads the token anew, because the kubelet replaces it while the pod waits, and every connection reads the
certificates anew. A list comes in pages, so that a large gang does not take much memory.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from grove.startup.waiting import Pod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONNECT_SECONDS = 10
LIST_SECONDS = 60
# The server ends a watch after this time; a connection that is silent for longer is dead.
WATCH_SECONDS, WATCH_SLACK_SECONDS = 600, 30
# A pod has some ten kilobytes of JSON, which take about five times that while they are read.
PAGE_PODS = 25
# A server whose machine is gone does not say so: the kernel asks after 20 s of silence, and gives up after 20 s more.
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


class AnswerError(Exception):
    """The API server refuses a request. `code` is the HTTP status."""

    def __init__(self, code: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.retry_after = retry_after


class ConnectionLostError(Exception):
    """The API server cannot be reached, or stopped answering."""


class PodsClient:
    """The pods of one namespace. `account` is the folder with `token` and `ca.crt`."""

    def __init__(self, host: str, port: int, account: str, namespace: str) -> None:
        self._host = host
        self._port = port
        self._account = account
        self._path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods"
        self._connection: http.client.HTTPSConnection | None = None

    def pages(self, selector: str) -> Iterator[tuple[list[Pod], str]]:
        """One list: the pods of each page, and the resource version to watch from."""
        more = ""
        while True:
            query = {"labelSelector": selector, "limit": str(PAGE_PODS)}
            response = self._get(query | ({"continue": more} if more else {}), LIST_SECONDS)
            try:
                page = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError) as e:
                raise self._lost("the answer broke off", e) from e
            yield [Pod.of(p) for p in page["items"]], page["metadata"]["resourceVersion"]
            more = page["metadata"].get("continue", "")
            if not more:
                return

    def watch(self, selector: str, version: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Events, as type and object, until the server ends the watch. Raises ConnectionLostError if it breaks off."""
        query = {
            "labelSelector": selector,
            "resourceVersion": version,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        response = self._get(query, WATCH_SECONDS + WATCH_SLACK_SECONDS)
        while True:
            try:
                line = response.readline()
                event = json.loads(line) if line.endswith(b"\n") else None
            except (OSError, http.client.HTTPException, ValueError) as e:
                raise self._lost("the watch broke off", e) from e
            if event is None:
                break
            if event["type"] == "ERROR":
                self.close()
                raise AnswerError(event["object"].get("code", 0), event["object"].get("message", ""))
            yield event["type"], event["object"]
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _get(self, query: Mapping[str, str], seconds: float) -> http.client.HTTPResponse:
        """The answer, whose body is unread. Raises AnswerError for any status but 200."""
        try:
            with open(f"{self._account}/token") as file:  # noqa: PTH123 (pathlib is large)
                token = file.read().strip()
            connection = self._connected()
            connection.sock.settimeout(seconds)
            target = f"{self._path}?" + "&".join(f"{k}={quote(v, safe='')}" for k, v in query.items())
            headers = {
                "Authorization": f"Bearer {token}",
                "Accept": "application/json",
                "User-Agent": "grove-initc",
            }
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            if response.status == 200:
                return response
            body = response.read()
        except (OSError, http.client.HTTPException) as e:
            raise self._lost(f"https://{self._host}:{self._port} cannot be reached", e) from e
        retry_after = response.headers.get("Retry-After", "")
        raise AnswerError(response.status, _message(body), int(retry_after) if retry_after.isdigit() else 0)

    def _connected(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            trusted = ssl.create_default_context(cafile=f"{self._account}/ca.crt")
            self._connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=CONNECT_SECONDS, context=trusted
            )
        connection = self._connection
        if connection.sock is None:
            connection.connect()
            for level, option, value in KEEPALIVE:
                connection.sock.setsockopt(level, option, value)  # type: ignore[attr-defined]
        return connection

    def _lost(self, what: str, error: Exception) -> ConnectionLostError:
        self.close()
        return ConnectionLostError(f"{what}: {error or type(error).__name__}")


def _message(body: bytes) -> str:
    """The message of a Status, or the beginning of whatever a proxy answered."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace").strip()
