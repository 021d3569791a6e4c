"""Counts the requests that a real API server answered, from its audit log.

    counter = RequestCounter(cluster)
    ...
    assert counter.count(client="operator", verb="create", resource="pods") == 8

The log is written before an answer is sent: once a client has its answer, the request counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import orjson

from grove_testbed.access import IDENTITIES
from grove_testbed.cluster import Cluster

_WHO = {user: who for who, (user, _) in IDENTITIES.items()}


@dataclass(frozen=True, order=True)
class AuditedRequest:
    """``client`` is a name from ``IDENTITIES``; ``resource`` has its subresource: ``pods/status``.

    The verb of a dry run says so, since nothing is written: ``dry-run create``.
    """

    client: str
    verb: str
    resource: str
    code: int


class RequestCounter:
    """Counts from now on, or from the last ``reset``."""

    def __init__(self, cluster: Cluster) -> None:
        self._log = cluster.logs / "audit.log"
        self._start = 0
        self.reset()

    def reset(self) -> None:
        self._start = self._log.stat().st_size

    def requests(self) -> Counter[AuditedRequest]:
        counted: Counter[AuditedRequest] = Counter()
        with self._log.open("rb") as log:
            log.seek(self._start)
            for line in log:
                event = orjson.loads(line)
                # A watch counts when it begins, anything else when it is answered.
                if event["stage"] == ("ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"):
                    counted[_request(event)] += 1
        return counted

    def count(self, *, client: str = "", verb: str = "", resource: str = "") -> int:
        """How many requests match; what is left empty matches everything."""
        return sum(
            count
            for request, count in self.requests().items()
            if client in ("", request.client)
            and verb in ("", request.verb)
            and resource in ("", request.resource)
        )


def _request(event: dict[str, Any]) -> AuditedRequest:
    target = event.get("objectRef", {})
    resource = "/".join(part for part in (target.get("resource"), target.get("subresource")) if part)
    user, uri = event["user"]["username"], event["requestURI"]
    return AuditedRequest(
        _WHO.get(user, user),
        f"dry-run {event['verb']}" if "dryRun=All" in uri else event["verb"],
        resource or uri.partition("?")[0],
        event["responseStatus"]["code"],
    )
