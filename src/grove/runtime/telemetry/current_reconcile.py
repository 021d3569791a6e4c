"""Which reconcile the running task belongs to.

A controller sets it before each reconcile, and tasks that the reconcile starts inherit it. Log lines name it, and the
controller uses it to recognise the changes that a reconcile has made itself.
"""

from collections.abc import Hashable
from contextvars import ContextVar

# The name of the controller, and the key that it reconciles.
CURRENT_RECONCILE: ContextVar[tuple[str, Hashable] | None] = ContextVar("CURRENT_RECONCILE", default=None)
