"""Keeps track of what the cluster serves of each backend's kinds.

A request that fails is repeated with backoff, and until it succeeds the backend waits. Clusters are upgraded under a
running operator, so the answers are refreshed every few minutes; nothing waits for that. When a definition of such a
kind changes, or a write finds a kind gone, the answers are refreshed at once, and again a little later: an API server
changes its list of kinds only some time after the definition.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

import structlog

from grove.controllers.scheduler_objects.probing import DiscoveryResult, discover_kinds
from grove.controllers.shared.failures import describe
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.client import Client
from grove.runtime.client.errors import RequestError
from grove.runtime.controller.triggers import Signal
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, Served

log = structlog.get_logger(__name__)

REFRESH_SECONDS = 300.0
FIRST_RETRY_SECONDS = 0.5
MAX_RETRY_SECONDS = 30.0
SETTLE_SECONDS = 2.0


class Discovery:
    """The results per backend. A backend whose requests fail does not delay the others."""

    def __init__(self, client: Client, backends: Iterable[Backend]) -> None:
        self._client = client
        self._backends = list(backends)
        self._results: dict[str, DiscoveryResult] = {}
        self._errors: dict[str, str] = {}
        self._asked = asyncio.Event()
        self._must_fire = False

    def result(self, backend: Backend) -> DiscoveryResult | None:
        """The last result; None before the first."""
        return self._results.get(backend.name)

    def error(self, backend: Backend) -> str:
        """Why the last request failed; empty if it succeeded."""
        return self._errors.get(backend.name, "")

    def knows(self, kind: ObjectKind) -> bool:
        """Whether the kind is known to be served."""
        return any(kind in result.fields for result in self._results.values())

    def ask_now(self) -> None:
        """A new kind is served: asks at once, and then fires `changed` whatever the result."""
        self._must_fire = True
        self._asked.set()

    def check_now(self) -> None:
        """A kind may have appeared or gone: asks at once, and fires `changed` only if a result is new."""
        self._asked.set()

    async def run(self, changed: Signal[None]) -> NoReturn:
        """Asks now and again later, until cancelled. Fires `changed` when a result or an error is new."""
        retries = Backoff(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        while True:
            asked, must_fire = self._asked.is_set(), self._must_fire
            self._asked.clear()
            self._must_fire = False
            new = [await self._refresh(backend) for backend in self._backends]
            if must_fire or any(new):
                changed.fire(None)
            if self._errors:
                wait = retries.next()
            else:
                retries.reset()
                wait = SETTLE_SECONDS if asked else REFRESH_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._asked.wait()

    async def _refresh(self, backend: Backend) -> bool:
        """Returns whether the result or the error is new."""
        name, before = backend.name, (self.result(backend), self.error(backend))
        try:
            self._results[name] = await discover_kinds(self._client, backend)
            self._errors.pop(name, None)
        except RequestError as e:
            self._errors[name] = describe(e)
        result, error = self.result(backend), self.error(backend)
        if (result, error) == before:
            return False
        if error:
            log.warning("cannot learn what the cluster serves, will ask again", backend=name, error=error)
        elif result is not None and result != before[0]:
            kinds = [f"{k.kind} ({k.api_version})" for k in result.fields]
            log.info("the cluster serves", backend=name, kinds=kinds, kept=sorted(result.kept))
            _log_variant(backend, result)
        return True


def _log_variant(backend: Backend, result: DiscoveryResult) -> None:
    variant = backend.detected_variant(Served(result.fields, result.kept, result.dropped))
    if variant is not None:
        log.info(
            "detected the scheduler's gang API",
            backend=backend.name,
            dialect=variant.key,
            scheduler=variant.title,
            not_guaranteed=variant.not_given,
        )
