"""The errors of a request, as classes to catch.

`ApiError` and its subclasses: the server refused; the error holds its `Status`. `TransportError`: there was no answer,
so a write may or may not have been applied. Callers derive their own external errors from `ExternalError`.
"""
# ruff: noqa: N818 (the subclasses are named as Kubernetes names the reasons)

from collections.abc import Mapping

import msgspec

from grove.runtime.client.transport import Request, Response


class StatusCause(msgspec.Struct, frozen=True):
    """One field that the server rejected."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """The `Status` object with which an API server answers a request that failed or returns no object."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class ExternalError(Exception):
    """Something outside of this program prevents progress. The message says everything: no traceback is logged."""


class RequestError(ExternalError):
    """A request failed."""


class TransportError(RequestError):
    """There was no answer. If `sent`, the request may have reached the server, and a write may have been applied."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class ApiError(RequestError):
    """The server refused."""

    def __init__(self, status: Status, what: str = "") -> None:
        message = status.message or status.reason or "the server gives no reason"
        super().__init__(f"{what}: {status.code} {message}" if what else f"{status.code} {message}")
        self.status = status
        self.what = what

    @property
    def retry_after(self) -> float | None:
        """The seconds that the server asks the client to wait."""
        details = self.status.details
        return float(details.retry_after_seconds) if details and details.retry_after_seconds > 0 else None


class BadRequest(ApiError):
    """400: the server does not understand the request."""


class Unauthorized(ApiError):
    """401: the server rejects the credentials, also after they were renewed."""


class Forbidden(ApiError):
    """403: the credentials do not allow the request."""


class NamespaceTerminating(Forbidden):
    """403: the namespace is terminating, so nothing can be created in it."""


class NotFound(ApiError):
    """404: no such object, or no such resource (a CRD that is not installed)."""


class Vanished(NotFound):
    """404: an object that was read was deleted before it could be changed. As with a conflict, decide again."""


class MethodNotAllowed(ApiError):
    """405: the resource does not support the verb."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a precondition does not hold. Read again, decide again."""


class AlreadyExists(ApiError):
    """409: an object of that name exists. After an ambiguous failure it may be the one just created."""


class Gone(ApiError):
    """410: the resourceVersion or continue token expired. List again."""


class Invalid(ApiError):
    """422: the object is invalid; `status.details.causes` names the fields."""


class TooManyRequests(ApiError):
    """429: the server is overloaded or, for an eviction, a disruption budget forbids it now."""


class ServerError(ApiError):
    """5xx: the server failed; a write may have been applied."""


_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}

_status = msgspec.json.Decoder(Status)


def error_from_status(status: Status, what: str = "") -> ApiError:
    if status.reason == "AlreadyExists":
        return AlreadyExists(status, what)
    if status.code >= 500:
        return ServerError(status, what)
    causes = status.details.causes if status.details is not None else None
    if status.code == 403 and any(c.reason == "NamespaceTerminating" for c in causes or ()):
        return NamespaceTerminating(status, what)
    return _BY_CODE.get(status.code, ApiError)(status, what)


def error_from(request: Request, response: Response) -> ApiError:
    """The error for an answer with a status of 400 or more. A proxy may answer without any JSON."""
    try:
        status = _status.decode(response.body)
    except msgspec.DecodeError:
        status = Status(message=response.body[:500].decode(errors="replace").strip())
    details = status.details or StatusDetails()
    retry_after = response.headers.get("retry-after", "")
    if retry_after.isascii() and retry_after.isdigit():
        details = msgspec.structs.replace(details, retry_after_seconds=int(retry_after))
    status = msgspec.structs.replace(status, code=response.status, details=details)
    return error_from_status(status, f"{request.method} {request.path}")
