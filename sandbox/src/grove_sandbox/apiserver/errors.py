"""Every error that a client can receive, as a `Status` with the reasons and texts of a real API server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from grove.runtime.client.transport import Response

JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json"}


@dataclass(frozen=True)
class FieldViolation:
    """A violated validation rule: field path, cause, and message."""

    field: str
    cause: str
    body: str

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(field: str, detail: str = "") -> FieldViolation:
    return FieldViolation(field, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def invalid(field: str, value: Any, detail: str) -> FieldViolation:
    return FieldViolation(field, "FieldValueInvalid", f"Invalid value: {show(value)}: {detail}")


def unsupported(field: str, value: Any, allowed: Sequence[str]) -> FieldViolation:
    choices = ", ".join(show(choice) for choice in allowed)
    return FieldViolation(
        field, "FieldValueNotSupported", f"Unsupported value: {show(value)}: supported values: {choices}"
    )


def duplicate(field: str, value: Any) -> FieldViolation:
    return FieldViolation(field, "FieldValueDuplicate", f"Duplicate value: {show(value)}")


def forbidden_field(field: str, detail: str) -> FieldViolation:
    return FieldViolation(field, "FieldValueForbidden", f"Forbidden: {detail}")


def show(value: Any) -> str:
    """A value as a real API server prints it in a message: as JSON."""
    return orjson.dumps(value).decode()


class StatusError(Exception):
    """A request failed. `respond` is the response with a `Status` as its body."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = None if details is None else {key: value for key, value in details.items() if value}
        self.headers = dict(headers or {})
        self.metadata: dict[str, str] = {}

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata}
        body |= {"status": "Failure", "message": self.message}
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body

    def respond(self) -> Response:
        return Response(self.code, {**JSON_HEADERS, **self.headers}, orjson.dumps(self.status()))


@dataclass(frozen=True)
class GroupResource:
    """A resource as messages name it: `pods`, `podgangs.scheduler.grove.io`."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def details(self, name: str = "", **more: Any) -> dict[str, Any]:
        return {"name": name, "group": self.group, "kind": self.resource, **more}


def not_found(resource: GroupResource, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{resource} "{name}" not found', resource.details(name))


def no_such_path() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: GroupResource, name: str, *, deleting: bool = False) -> StatusError:
    message = f'{resource} "{name}" already exists'
    if deleting:
        message = f"object is being deleted: {message}"
    return StatusError(409, "AlreadyExists", message, resource.details(name))


def conflict(resource: GroupResource, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return StatusError(409, "Conflict", message, resource.details(name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(
    resource: GroupResource, name: str, why: str, causes: Sequence[Mapping[str, str]] = ()
) -> StatusError:
    subject = f'{resource} "{name}"' if name else str(resource)
    return StatusError(
        403, "Forbidden", f"{subject} is forbidden: {why}", resource.details(name, causes=causes)
    )


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unsupported_media_type(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def not_acceptable() -> StatusError:
    available = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    return StatusError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {available}")


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def not_implemented(what: str) -> StatusError:
    """501 for a feature of Kubernetes that this server lacks. It must never pretend success."""
    return StatusError(501, "NotImplemented", f"the embedded cluster does not implement {what}")


def too_large(limit: int) -> StatusError:
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message, {})


def invalid_object(group: str, kind: str, name: str, errors: Sequence[FieldViolation]) -> StatusError:
    subject = f"{kind}.{group}" if group else kind
    lines = list(dict.fromkeys(str(error) for error in errors))
    summary = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    causes = [{"reason": e.cause, "message": e.body, "field": e.field} for e in errors]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return StatusError(422, "Invalid", f'{subject} "{name}" is invalid: {summary}', details)
