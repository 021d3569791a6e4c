"""Get and list. All pages of a list show the same resource version, even if objects change meanwhile."""

import base64
import binascii
from collections.abc import Iterable, Mapping

import orjson

from grove_sandbox.apiserver.errors import (
    FieldViolation,
    StatusError,
    bad_request,
    expired,
    forbidden_field,
    invalid_object,
    not_found,
)
from grove_sandbox.apiserver.responses.encoding import ResponseEncoder
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Key, Stored
from grove_sandbox.apiserver.verbs.selectors import matcher

EXPIRED_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)
LATEST = -1  # in a continue token: continue with the present objects


def get(call: ApiCall) -> Stored:
    stored = call.table.get((call.namespace, call.name))
    if stored is None:
        raise not_found(call.type.resource, call.name)
    return stored


def list_objects(call: ApiCall, encoder: ResponseEncoder) -> bytes:
    query, table, store = call.query, call.table, call.state.store
    matches = matcher(call.type, query)
    version, after = _version_and_start(call)
    objects: Iterable[Stored]
    if version == store.version:
        objects = table.scan(call.scope)
    else:
        past = table.at(version)
        objects = (past[key] for key in sorted(past) if call.scope in (None, key[0]))
    limit = _number(query, "limit")
    page: list[Stored] = []
    remaining = 0
    for stored in objects:
        if after is not None and stored.key <= after:
            continue
        if matches is not None and not matches(stored):
            continue
        if limit and len(page) >= limit:
            remaining += 1
            continue
        page.append(stored)
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if remaining:
        metadata["continue"] = _token(version, page[-1].key)
        if matches is None:
            metadata["remainingItemCount"] = remaining
    return encoder.many(page, metadata)


def _version_and_start(call: ApiCall) -> tuple[int, Key | None]:
    """The resource version to list at, and the last key of the previous page."""
    query, store = call.query, call.state.store
    if "sendInitialEvents" in query:
        detail = "sendInitialEvents is forbidden for list"
        raise refusal(forbidden_field("sendInitialEvents", detail))
    token, match = query.get("continue"), query.get("resourceVersionMatch", "")
    given = query.get("resourceVersion", "")
    if token:
        if given not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        version, after = _read_token(token)
        if version == LATEST:
            return store.version, after
        if version < call.table.compacted:
            error = expired(EXPIRED_CONTINUE)
            error.metadata = {"continue": _token(LATEST, after)}
            raise error
        return version, after
    if match and not given:
        detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise refusal(forbidden_field("resourceVersionMatch", detail))
    wanted = version_number(given)
    if wanted > store.version:
        raise too_large(wanted, store.version)
    if match == "Exact":
        if not wanted:
            detail = 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
            raise refusal(forbidden_field("resourceVersionMatch", detail))
        if wanted < call.table.compacted:
            raise expired("The resourceVersion for the provided list is too old.")
        return wanted, None
    return store.version, None


def too_large(wanted: int, current: int) -> StatusError:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return StatusError(504, "Timeout", message, details, {"retry-after": "1"})


def _number(query: Mapping[str, str], field: str) -> int:
    text = query.get(field) or "0"
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def version_number(text: str) -> int:
    try:
        return int(text or 0)
    except ValueError:
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise StatusError(500, "", why) from None


def refusal(*errors: FieldViolation) -> StatusError:
    return invalid_object("meta.k8s.io", "ListOptions", "", errors)


def _token(version: int, key: Key) -> str:
    return base64.urlsafe_b64encode(
        orjson.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": key})
    ).decode()


def _read_token(token: str) -> tuple[int, Key]:
    try:
        content = orjson.loads(base64.urlsafe_b64decode(token))
        namespace, name = content["start"]
        return int(content["rv"]), (namespace, name)
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from None
