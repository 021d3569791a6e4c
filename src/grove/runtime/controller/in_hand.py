"""What the running task works on, and which changes are its own doing."""

from collections.abc import Hashable
from contextvars import ContextVar, Token
from types import TracebackType

# The name of its controller, and the key. Cheap to set; log lines name it.
IN_HAND: ContextVar[tuple[str, Hashable] | None] = ContextVar("IN_HAND", default=None)

_foreseen: ContextVar[bool] = ContextVar("foreseen", default=False)


class foreseen:  # noqa: N801  # a function to its callers; as a generator it would cost several times as much
    """Changes of caches within are just what the reconcile in hand has asked for: they do not wake it again.

    Only for writes whose answer can hold nothing else: an object that is created, or changed on the very version that
    was read. The answer to any other write may be the only news of what others wrote meanwhile.
    """

    __slots__ = ("_before",)
    _before: Token[bool]

    def __enter__(self) -> None:
        self._before = _foreseen.set(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _foreseen.reset(self._before)


def is_foreseen(controller: str, key: Hashable) -> bool:
    return _foreseen.get() and IN_HAND.get() == (controller, key)
