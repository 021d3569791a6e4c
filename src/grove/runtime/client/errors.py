"""What can go wrong with a request, as classes to catch.

`ApiError` and its subclasses: the server answered and said no; its `Status` is kept. `TransportError`: no
answer came, so a write may or may not have been applied. Callers derive from `Hindrance` for obstacles of their own.
"""
# ruff: noqa: N818 (the subclasses are named as Kubernetes names the reasons)

from collections.abc import Mapping

import msgspec

from grove.runtime.client.transport import Request, Response


class StatusCause(msgspec.Struct, frozen=True):
    """One field that the server did not accept."""

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
    """The `Status` object that an API server answers with when there is no other object to show."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class Hindrance(Exception):
    """Something outside of this program is in its way. Its words say all; no line of code would explain it."""


class RequestError(Hindrance):
    """Whatever kept a request from being done."""


class TransportError(RequestError):
    """No answer came. If `sent`, the request may have reached the server: a write may have been applied."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class ApiError(RequestError):
    """The server refused."""

    def __init__(self, status: Status, what: str = "") -> None:
        said = status.message or status.reason or "no reason given"
        super().__init__(f"{what}: {status.code} {said}" if what else f"{status.code} {said}")
        self.status = status
        self.what = what

    @property
    def retry_after(self) -> float | None:
        """How many seconds the server asked to wait."""
        details = self.status.details
        return float(details.retry_after_seconds) if details and details.retry_after_seconds > 0 else None


class BadRequest(ApiError):
    """400: the request makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the server does not know who is asking, also after the credentials were read again."""


class Forbidden(ApiError):
    """403: the server knows who is asking, and does not let them."""


class NamespaceGoing(Forbidden):
    """403: nothing new can be made in a namespace that is being deleted, as will be all that is in it."""


class NotFound(ApiError):
    """404: no such object, or no such resource (a CRD that is not installed)."""


class Vanished(NotFound):
    """404: an object that was read went away before it could be changed. As with a conflict, decide again."""


class MethodNotAllowed(ApiError):
    """405: this resource has no such verb."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a precondition does not hold. Read again, decide again."""


class AlreadyExists(ApiError):
    """409: an object of that name exists; after an ambiguous failure perhaps the one just written."""


class Gone(ApiError):
    """410: the asked version or continue token is too old. List again."""


class Invalid(ApiError):
    """422: the object breaks a rule; `status.details.causes` says which fields."""


class TooManyRequests(ApiError):
    """429: the server is busy, or (eviction) a disruption budget forbids it now."""


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
        return NamespaceGoing(status, what)
    return _BY_CODE.get(status.code, ApiError)(status, what)


def error_from(request: Request, response: Response) -> ApiError:
    """The error that an answer with a status of 400 or more stands for; proxies may answer no JSON at all."""
    try:
        status = _status.decode(response.body)
    except msgspec.DecodeError:
        status = Status(message=response.body[:500].decode(errors="replace").strip())
    details = status.details or StatusDetails()
    asked = response.headers.get("retry-after", "")
    if asked.isdigit():
        details = msgspec.structs.replace(details, retry_after_seconds=int(asked))
    status = msgspec.structs.replace(status, code=response.status, details=details)
    return error_from_status(status, f"{request.method} {request.path}")
