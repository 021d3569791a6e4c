"""Helpers that call the embedded API server in process."""

from typing import Any

import orjson
from grove_sandbox.apiserver import ApiServer

from grove.runtime.client.transport import Request, Stream

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"


class Calls:
    def __init__(self, server: ApiServer) -> None:
        self.server = server

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **query: str
    ) -> tuple[int, Json]:
        data = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        response = await self.server.send(Request(method, path, query, {"content-type": content_type}, data))
        return response.status, orjson.loads(response.body)

    async def create(self, path: str, obj: Json) -> Json:
        status, answer = await self.call("POST", path, obj)
        assert status == 201, answer
        return answer

    async def get(self, path: str) -> Json:
        status, answer = await self.call("GET", path)
        assert status == 200, answer
        return answer

    async def patch(self, path: str, patch: Any, content_type: str = MERGE) -> Json:
        status, answer = await self.call("PATCH", path, patch, content_type)
        assert status == 200, answer
        return answer

    async def delete(self, path: str, **options: Any) -> Json:
        status, answer = await self.call("DELETE", path, options or None)
        assert status < 300, answer
        return answer

    async def exists(self, path: str) -> bool:
        return (await self.call("GET", path))[0] == 200

    async def watch(self, path: str, **query: str) -> Stream:
        return await self.server.stream(Request("GET", path, {"watch": "true", **query}))


async def lines(stream: Stream, count: int) -> list[tuple[str, str]]:
    """Type and name of the next events. Ends the watch."""
    found: list[tuple[str, str]] = []
    async for chunk in stream.chunks():
        for line in chunk.splitlines():
            event = orjson.loads(line)
            about = event["object"].get("metadata", {}).get("name") or event["object"].get("reason", "")
            found.append((event["type"], about))
        if len(found) >= count:
            break
    await stream.close()
    return found


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "app:1"}], **spec},
    }
