"""Structured logs: one line per entry, on stderr, with the controller and the key of the object in hand."""

import logging
import sys
from typing import Any, Literal

import structlog

from grove.runtime.controller.in_hand import IN_HAND


def configure(level: str = "info", form: Literal["json", "text"] = "json") -> None:
    """Call once, first. What libraries log through the standard library comes out in the same form."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        _say_what_is_in_hand,
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


def _say_what_is_in_hand(_: Any, __: str, entry: dict[str, Any]) -> dict[str, Any]:
    if (in_hand := IN_HAND.get()) is not None:
        entry.setdefault("controller", in_hand[0])
        entry.setdefault("key", str(in_hand[1]))
    return entry
