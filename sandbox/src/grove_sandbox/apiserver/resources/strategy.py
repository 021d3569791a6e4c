"""The hooks by which one kind differs from the others during a write.

Order of a write: `decode`, mutating webhooks, `prepare_*` (sets what a client may not set), `validate_*`, validating
webhooks, store. The base class is the behaviour of a plain builtin kind.

A hook may change the top level, `metadata` and `spec` of the object that it gets, which are copies. It must not change
anything deeper: that may be shared with a stored object.
"""

from typing import TYPE_CHECKING, Any

from grove_sandbox.apiserver.errors import FieldViolation, bad_request
from grove_sandbox.apiserver.resources import metadata, names
from grove_sandbox.apiserver.schema.definitions import Definitions
from grove_sandbox.apiserver.schema.shapes import MismatchError, Shape
from grove_sandbox.apiserver.storage import Object

if TYPE_CHECKING:
    from grove_sandbox.apiserver.state import ApiCall

_RESTORED_ON_STATUS_WRITES = (
    "annotations", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation", "labels",
    "ownerReferences", "selfLink",
)  # fmt: skip


class Strategy:
    creates_on_update = False  # PUT creates an object that does not exist
    unconditional_update = True  # a PUT may leave out resourceVersion
    returns_deleted = False  # DELETE responds with the object, not with a Status
    has_generation = False
    adds_finalizers: tuple[str, ...] = ()  # added when deletion begins

    def __init__(self, shape: Shape, name_rule: metadata.NameRule = names.subdomain) -> None:
        self.shape = shape
        self.name_rule = name_rule

    def decode(self, obj: Object, call: "ApiCall", old: Object | None = None) -> tuple[Object, list[str]]:
        """The object with defaults and without unknown fields, and the paths of the unknown fields.

        Parts that are identical with `old`, which was decoded before, are not decoded again.
        """
        unknown: list[str] = []
        try:
            decoded: Object = self.shape.conform(obj, unknown, old)
        except MismatchError as mismatch:
            raise undecodable(call, str(mismatch)) from None
        return decoded, unknown

    def openapi(self, definitions: Definitions) -> dict[str, Any]:
        """The schema of a kind without an OpenAPI definition."""
        return {"type": "object"}

    def prepare_create(self, obj: Object, call: "ApiCall") -> None:
        if call.type.status:
            obj["status"] = self.initial_status(obj, call)
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def initial_status(self, obj: Object, call: "ApiCall") -> Object:
        return {}

    def validate_create(self, obj: Object, call: "ApiCall") -> list[FieldViolation]:
        errors = metadata.validate(obj["metadata"], self.name_rule, namespaced=call.type.namespaced)
        return errors + self.validate(obj, call)

    def validate(self, obj: Object, call: "ApiCall") -> list[FieldViolation]:
        """Rules for new and for updated objects."""
        return []

    def prepare_update(self, new: Object, old: Object, call: "ApiCall") -> None:
        if call.type.status:
            keep(new, old, "status")
        if self.has_generation and self.changes_generation(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def changes_generation(self, new: Object, old: Object) -> bool:
        """Whether an update increments `metadata.generation`."""
        return bool(new.get("spec") != old.get("spec"))

    def validate_update(self, new: Object, old: Object, call: "ApiCall") -> list[FieldViolation]:
        return metadata.validate_update(new, old) + self.validate(new, call)

    def prepare_status(self, new: Object, old: Object, call: "ApiCall") -> None:
        """For the status subresource: restores every field other than status."""
        for field in old.keys() | new.keys():
            if field not in ("status", "metadata", "kind", "apiVersion"):
                keep(new, old, field)
        for field in _RESTORED_ON_STATUS_WRITES:
            keep(new["metadata"], old["metadata"], field)

    def validate_status(self, new: Object, old: Object, call: "ApiCall") -> list[FieldViolation]:
        return metadata.validate_update(new, old)

    def grace_period(self, obj: Object, requested: int | None) -> int | None:
        """Seconds between the DELETE request and the removal. None for kinds without a grace period."""
        return None

    def check_delete(self, name: str, call: "ApiCall") -> None:
        """Raises StatusError if the object may not be deleted."""

    def held(self, obj: Object) -> bool:
        """Whether something other than `metadata.finalizers` keeps an object that is being deleted."""
        return False

    def mark_deleting(self, obj: Object) -> None:
        """Called when the object gets its deletionTimestamp and is not yet removed."""


def keep(new: Object, old: Object, field: str) -> None:
    """Restores a field of `new` to its value in `old`, or removes it if `old` does not have it."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def undecodable(call: "ApiCall", why: str) -> Exception:
    kind, version = call.type.kind, call.type.version
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
