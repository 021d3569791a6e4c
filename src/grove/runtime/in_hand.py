"""What the running task works on, and which changes are its own doing."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The name of its controller, and the key. Cheap to set; log lines name it.
IN_HAND: ContextVar[tuple[str, Hashable] | None] = ContextVar("IN_HAND", default=None)

_foreseen: ContextVar[bool] = ContextVar("foreseen", default=False)


@contextmanager
def foreseen() -> Iterator[None]:
    """Changes of caches within are just what the reconcile in hand has asked for: they do not wake it again.

    Only for writes whose answer can hold nothing else: an object that is created, or changed on the very version that
    was read. The answer to any other write may be the only news of what others wrote meanwhile.
    """
    token = _foreseen.set(True)
    try:
        yield
    finally:
        _foreseen.reset(token)


def is_foreseen(controller: str, key: Hashable) -> bool:
    return _foreseen.get() and IN_HAND.get() == (controller, key)
