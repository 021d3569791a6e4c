"""Structured logs: one line per entry, on stderr, with the controller and the key that is being reconciled."""

import logging
import sys
from typing import Any, Literal

import structlog

from grove.runtime.telemetry.current_reconcile import CURRENT_RECONCILE


def configure(level: str = "info", form: Literal["json", "text"] = "json") -> None:
    """Call once, before anything logs. Entries of libraries (standard `logging`) get the same form."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        _add_current_reconcile,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    final: list[Any] = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    if form == "json":
        final = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[*shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(number, logging.WARNING), force=True)


def _add_current_reconcile(_: Any, __: str, entry: dict[str, Any]) -> dict[str, Any]:
    if (current := CURRENT_RECONCILE.get()) is not None:
        controller, key = current
        entry.setdefault("controller", controller)
        entry.setdefault("key", str(key))
    return entry
