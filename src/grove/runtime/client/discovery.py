"""Discovery: the groups and versions that a server serves, and the resources in each."""

from typing import TypeVar

import msgspec

from grove.runtime.client.client import Client
from grove.runtime.client.errors import NotFound, TransportError
from grove.runtime.client.objects import APIResource
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request


async def group_versions(client: Client) -> dict[str, list[str]]:
    """The versions of every group, the preferred one first. The core group is the empty string."""
    core = await _get(client, "/api", _core)
    found = {"": core.versions}
    for group in (await _get(client, "/apis", _groups)).groups:
        preferred = group.preferred_version.version if group.preferred_version else ""
        found[group.name] = sorted((v.version for v in group.versions), key=lambda v: v != preferred)
    return found


async def resources(client: Client, group: str, version: str) -> dict[str, APIResource]:
    """The resources of a group and version by plural name, without subresources; empty if it is not served."""
    try:
        answer = await _get(client, f"/apis/{group}/{version}" if group else f"/api/{version}", _resources)
    except NotFound:
        return {}
    return {
        r.name: APIResource(group, version, r.name, r.kind, r.namespaced)
        for r in answer.resources
        if "/" not in r.name
    }


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_Version]
    preferred_version: _Version | None = None


class _Core(msgspec.Struct):
    versions: list[str]


class _Groups(msgspec.Struct):
    groups: list[_Group]


class _APIResourceEntry(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool


class _APIResourceList(msgspec.Struct):
    resources: list[_APIResourceEntry]


_core = msgspec.json.Decoder(_Core)
_groups = msgspec.json.Decoder(_Groups)
_resources = msgspec.json.Decoder(_APIResourceList)

A = TypeVar("A")


async def _get(client: Client, path: str, decoder: msgspec.json.Decoder[A]) -> A:
    response = await client.send(Call(Request("GET", path), "get", "discovery"))
    try:
        return decoder.decode(response.body)
    except msgspec.DecodeError as e:
        raise TransportError(f"GET {path}: the answer is not that of an API server: {e}") from e
