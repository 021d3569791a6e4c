"""What one kind does differently from the others, along the way every write takes.

A write runs: decode, admission, `prepare_*` (the server takes over what a client may not set), `validate_*`,
store. The base class is the behaviour of a plain builtin kind; others override what differs.
Every method may change the top level, `metadata` and `spec` of the object it is given, which are copies,
but no value it shares with a stored object.
"""

from typing import TYPE_CHECKING, Any

from grove_sandbox.apiserver.errors import FieldViolation, bad_request
from grove_sandbox.apiserver.resources import metadata, names
from grove_sandbox.apiserver.schema.definitions import Definitions
from grove_sandbox.apiserver.schema.shapes import MismatchError, Shape
from grove_sandbox.apiserver.storage import Object

if TYPE_CHECKING:
    from grove_sandbox.apiserver.state import ApiCall

_STATUS_RESETS = (
    "annotations", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation", "labels",
    "ownerReferences", "selfLink",
)  # fmt: skip


class Strategy:
    creates_on_update = False  # a PUT to a name that is free makes the object
    unconditional_update = True  # a PUT may leave out resourceVersion
    returns_deleted = False  # DELETE answers with the object instead of a Status
    has_generation = False
    adds_finalizers: tuple[str, ...] = ()  # put on when deletion begins

    def __init__(self, shape: Shape, name_rule: metadata.NameRule = names.subdomain) -> None:
        self.shape = shape
        self.name_rule = name_rule

    def decode(self, obj: Object, call: "ApiCall", old: Object | None = None) -> tuple[Object, list[str]]:
        """The object with its defaults and without unknown fields, whose paths come second.

        Parts it shares with `old`, a decoded object, need no second look.
        """
        unknown: list[str] = []
        try:
            decoded: Object = self.shape.conform(obj, unknown, old)
        except MismatchError as mismatch:
            raise undecodable(call, str(mismatch)) from None
        return decoded, unknown

    def openapi(self, definitions: Definitions) -> dict[str, Any]:
        """The schema of a kind that has none among the definitions."""
        return {"type": "object"}

    def prepare_create(self, obj: Object, call: "ApiCall") -> None:
        if call.type.status:
            obj["status"] = self.first_status(obj, call)
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def first_status(self, obj: Object, call: "ApiCall") -> Object:
        return {}

    def validate_create(self, obj: Object, call: "ApiCall") -> list[FieldViolation]:
        errors = metadata.validate(obj["metadata"], self.name_rule, namespaced=call.type.namespaced)
        return errors + self.validate(obj, call)

    def validate(self, obj: Object, call: "ApiCall") -> list[FieldViolation]:
        """Rules that hold for a new object and for a changed one alike."""
        return []

    def prepare_update(self, new: Object, old: Object, call: "ApiCall") -> None:
        if call.type.status:
            keep(new, old, "status")
        if self.has_generation and self.differs(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def differs(self, new: Object, old: Object) -> bool:
        """Whether the change is one its controller must act upon."""
        return bool(new.get("spec") != old.get("spec"))

    def validate_update(self, new: Object, old: Object, call: "ApiCall") -> list[FieldViolation]:
        return metadata.validate_update(new, old) + self.validate(new, call)

    def prepare_status(self, new: Object, old: Object, call: "ApiCall") -> None:
        """A write to the status subresource: nothing but status may change."""
        for field in old.keys() | new.keys():
            if field not in ("status", "metadata", "kind", "apiVersion"):
                keep(new, old, field)
        for field in _STATUS_RESETS:
            keep(new["metadata"], old["metadata"], field)

    def validate_status(self, new: Object, old: Object, call: "ApiCall") -> list[FieldViolation]:
        return metadata.validate_update(new, old)

    def grace_period(self, obj: Object, requested: int | None) -> int | None:
        """Seconds between the wish to delete and the deletion; None where deletion is at once."""
        return None

    def check_delete(self, name: str, call: "ApiCall") -> None:
        """Raise a refusal if this object must stay."""

    def held(self, obj: Object) -> bool:
        """Whether something beside finalizers keeps the object when it is deleted."""
        return False

    def mark_deleting(self, obj: Object) -> None:
        """The object has just got its deletion timestamp and will stay for a while."""


def keep(new: Object, old: Object, field: str) -> None:
    """Give `new` the value `old` has, also when it has none."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def undecodable(call: "ApiCall", why: str) -> Exception:
    kind, version = call.type.kind, call.type.version
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
