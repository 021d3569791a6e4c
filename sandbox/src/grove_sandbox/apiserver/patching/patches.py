"""PATCH: picks one of the four patch types by content type and turns the patch into a `Modifier`."""

from collections.abc import Callable
from typing import Any

import orjson

from grove_sandbox.apiserver.errors import bad_request, unsupported_media_type
from grove_sandbox.apiserver.patching.json_patch import apply_json_patch, apply_merge_patch
from grove_sandbox.apiserver.patching.server_side_apply import apply
from grove_sandbox.apiserver.patching.strategic_merge import StrategicMerge
from grove_sandbox.apiserver.schema import definitions
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored
from grove_sandbox.apiserver.verbs.writes import modify

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


async def patch(call: ApiCall) -> tuple[Stored, int]:
    if _media_type(call) == APPLY:
        return await apply(call)
    return await modify(call, patcher(call))


def patcher(call: ApiCall) -> Callable[[Object], Object]:
    media_type = _media_type(call)
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY]
    if not call.type.custom:
        accepted.insert(2, STRATEGIC_PATCH)
    if media_type not in accepted or media_type == APPLY:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(accepted)
        )
    try:
        body: Any = orjson.loads(call.body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if media_type == JSON_PATCH:
        return lambda obj: apply_json_patch(obj, body)
    if not isinstance(body, dict):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}"
        )
    if media_type == MERGE_PATCH:
        return lambda obj: apply_merge_patch(obj, body)
    merge = StrategicMerge(call.state.definitions)
    name = definitions.name_of(call.state.dialect, call.type.group, call.type.version, call.type.kind)
    return lambda obj: merge.apply(name, obj, body)


def _media_type(call: ApiCall) -> str:
    return call.headers.get("content-type", "").partition(";")[0].strip()
