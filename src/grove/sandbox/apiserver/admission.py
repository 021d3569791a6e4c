"""Webhooks between decoding and validation. The embedded cluster refuses to register what it cannot call."""

from typing import Literal

from grove.sandbox.apiserver.state import Call
from grove.sandbox.apiserver.storage import Object

Operation = Literal["CREATE", "UPDATE", "DELETE"]


async def admit(call: Call, operation: Operation, obj: Object, old: Object | None) -> Object:
    return obj
