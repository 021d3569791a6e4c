"""Tries every order in which the steps of running processes can happen.

Every step waits until it is chosen (`tests.flow.steps` defines the steps). When all tasks wait, one of the steps that
wait is chosen; for each of the others the test process is forked, and the copy chooses that one instead, follows it to
the end, and reports. So no step is repeated or undone. A state that was reached before is not followed again.

What is not a choice:
- A reconcile that finds nothing to do runs immediately. Whatever gives it something to do later must trigger it, and a
  missing trigger is found: the order in which the reconcile ran too early is the one that is tried. With `thorough`
  this is a choice like any other.
- An answer enters the cache when its request is carried out. A reconcile that starts between the two would see what a
  reconcile sees that starts before the request.
- Time stands still until no task can go on: timers are for repair and reports.
"""

import asyncio
import gc
import hashlib
import os
import pickle
import select
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.flow.operating import quiet

# Longer than any timer of the controllers.
SETTLE_SECONDS = 30.0
# Many more than any order has that ends.
MAX_STEPS = 300


class Steps(Protocol):
    """What can happen."""

    @property
    def choices(self) -> list[str]:
        """The waiting steps, in a deterministic order."""

    def begin(self) -> None: ...

    def end(self) -> None:
        """Lets all steps happen, also later ones."""

    def take(self, step: str) -> None: ...

    async def is_idle(self, step: str) -> bool:
        """Whether the step starts a reconcile that finds nothing to do."""

    def state(self) -> Any:
        """Something whose `repr` is the same in two states exactly if the same can happen from there on."""


@dataclass
class Found:
    """The result of all orders. `ends` are the pictures at their ends, each with the steps of one order that led there.

    An objection ends the search; it says what is wrong, and after which steps.
    """

    states: int = 0
    ends: dict[str, list[str]] = field(default_factory=dict)
    objection: str = ""


class Explorer:
    """`is_up` is called when no task can go on, and says whether that is the end; if not, time passes. `picture` shows
    what the end looks like. Both may raise, to object to the order."""

    def __init__(
        self, steps: Steps, *, is_up: Callable[[], bool], picture: Callable[[], str], thorough: bool = False
    ) -> None:
        self._steps, self._is_up, self._picture, self._thorough = steps, is_up, picture, thorough
        self._found = Found()
        self._known: set[bytes] = set()
        self._new: list[bytes] = []
        self._order: list[str] = []
        self._report_to: int | None = None  # None in the first process
        self._lives, self._lifeline = os.pipe()

    async def every_order(self) -> Found:
        """From here on. Returns in one of them; the others have been followed by copies of the process."""
        gc.freeze()  # The memory of frozen objects stays shared with the copies.
        try:
            self._steps.begin()
            await self._follow()
        except Exception as e:
            self._found.objection = f"{e}\nafter\n" + "\n".join(self._order)
        finally:
            if self._report_to is not None:
                self._end_copy()
            os.close(self._lifeline)  # if the test was ended, as by a timeout, so are its copies
            os.close(self._lives)
            gc.unfreeze()
            self._steps.end()
        self._found.states = len(self._known)
        return self._found

    async def _follow(self) -> None:
        while await self._somebody_waits():
            assert len(self._order) < MAX_STEPS, f"no end after {MAX_STEPS} steps"
            if self._is_known() or self._is_over():
                return
            step, *others = self._steps.choices
            for other in others:
                if self._copy():
                    step = other
                    break
                if self._found.objection:
                    return
            self._take(step)
        self._steps.end()
        await asyncio.sleep(SETTLE_SECONDS)
        self._found.ends.setdefault(self._picture(), self._order)

    async def _somebody_waits(self) -> bool:
        """Whether a step with something to do waits. Idle reconciles run immediately."""
        patience = 3
        while patience:
            await quiet()
            idle = [s for s in self._steps.choices if not self._thorough and await self._steps.is_idle(s)]
            if idle:
                self._take(idle[0])
            elif self._steps.choices:
                return True
            elif self._is_up():
                return False
            else:
                patience -= 1
                await asyncio.sleep(SETTLE_SECONDS)
        raise AssertionError("no step is left, and it is not the end")

    def _take(self, step: str) -> None:
        self._order.append(step)
        self._steps.take(step)

    def _is_known(self) -> bool:
        text = repr([self._steps.choices, self._steps.state()])
        state = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if state in self._known:
            return True
        self._known.add(state)
        self._new.append(state)
        return False

    def _is_over(self) -> bool:
        """In a copy: whether the first process has closed the lifeline, or died."""
        return self._report_to is not None and bool(select.select([self._lives], [], [], 0)[0])

    def _copy(self) -> bool:
        """Forks. In the copy, returns True at once; else False, when the copy has reported."""
        loop = asyncio.get_running_loop()
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, which a copy does not have and does not need
            copy = os.fork()
        if copy == 0:
            os.close(reader)
            if self._report_to is None:
                os.close(self._lifeline)
            asyncio._set_running_loop(loop)  # asyncio goes by the id of the process
            self._report_to, self._new, self._found = writer, [], Found()
            return True
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            new, found = pickle.loads(pipe.read())
        os.waitpid(copy, 0)
        self._known.update(new)
        self._new += new
        self._found.ends = {**found.ends, **self._found.ends}
        self._found.objection = found.objection
        return False

    def _end_copy(self) -> None:
        assert self._report_to is not None
        try:
            with os.fdopen(self._report_to, "wb") as pipe:
                pipe.write(pickle.dumps((self._new, self._found)))
        finally:
            os._exit(0)
