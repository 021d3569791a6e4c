"""From a request body to an object of the resource's kind, in the stored version."""

from grove_sandbox.apiserver.errors import bad_request, invalid, invalid_object
from grove_sandbox.apiserver.requests import bodies
from grove_sandbox.apiserver.requests.duplicate_fields import duplicate_fields
from grove_sandbox.apiserver.resources.strategy import undecodable
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored


def read_body(call: ApiCall, kind: str = "") -> Object:
    """The parsed body, which must be an object of `kind`, by default the kind of the resource."""
    body = bodies.parse(call)
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is not an object")
    if not kind:
        _check_kind(call, body)
    elif body.get("kind", kind) != kind:
        raise bad_request(f"the kind in the data ({body['kind']}) does not match the expected kind ({kind})")
    if call.query.get("fieldValidation") == "Strict" and call.body[:1] == b"{":
        _refuse_duplicates(call)
    return body


def _check_kind(call: ApiCall, body: Object) -> None:
    expected, version = call.type.kind, call.type.api_version
    kind, given = body.get("kind"), body.get("apiVersion")
    if call.type.custom and (not kind or not given):
        missing = "Kind" if not kind else "apiVersion"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {expected}): "
            f"Object '{missing}' is missing in '{call.body.decode(errors='replace')}'"
        )
    if given and given != version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({version})"
        )
    if kind and kind != expected:
        if call.type.custom:
            name = (body.get("metadata") or {}).get("name", "")
            error = invalid("kind", kind, f"must be {expected}")
            raise invalid_object(call.type.group, expected, name, [error])
        raise bad_request(f'{kind} in version "{call.type.version}" cannot be handled as a {expected}')


def _refuse_duplicates(call: ApiCall) -> None:
    """With fieldValidation=Strict a duplicate field is an error. Otherwise the last value wins."""
    found = duplicate_fields(call.body)
    if found:
        raise undecodable(
            call, "strict decoding error: " + ", ".join(f'duplicate field "{p}"' for p in found)
        )


def decode(call: ApiCall, body: Object, old: Object | None = None) -> Object:
    """Checks types, fills in defaults, drops unknown fields, converts to the stored version.

    Unknown fields are ignored, reported as warnings or refused, as the query parameter `fieldValidation` says.
    """
    body.setdefault("kind", call.type.kind)
    body.setdefault("apiVersion", call.type.api_version)
    obj, unknown = call.type.strategy.decode(body, call, old)
    if unknown:
        found = [f'unknown field "{path}"' for path in unknown]
        directive = call.query.get("fieldValidation") or "Warn"
        if directive == "Strict":
            raise undecodable(call, "strict decoding error: " + ", ".join(found))
        if directive == "Warn":
            call.warnings += found
    if call.type.conversion:
        obj = call.type.conversion.to_stored(obj)
    return obj


def redecode(call: ApiCall, changed: Object | None, before: Object) -> Object:
    """Decodes an object again after mutating webhooks have changed it."""
    if changed is None or changed is before:
        return before
    obj, _ = call.type.strategy.decode(call.typed(changed), call, before)
    obj["metadata"] = dict(obj["metadata"])
    return obj


def served(call: ApiCall, stored: Stored) -> Object:
    """The stored object in the version of the request, with kind and apiVersion."""
    obj = call.type.conversion.to_served(stored.obj) if call.type.conversion else stored.obj
    return call.typed(obj)
