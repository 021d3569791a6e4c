"""Records which guarantees of schedulers the real tests showed: `--record` writes docs/schedulers/results.json.

A test, or a scenario that a test plays, names the guarantees that it shows: `@shows(Guarantee.QUEUES)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec
import pytest

from grove.generate.scheduler_table import RESULTS, RecordedRun, results, variants
from grove.schedulers.guarantees import Guarantee

Properties = list[tuple[str, str]]
Test = TypeVar("Test", bound=Callable[..., Any])

# Components of every control plane: their versions say nothing about a scheduler.
COMMON = ("etcd", "kube-controller-manager")


def shows(*guarantees: Guarantee) -> Callable[[Test], Test]:
    def mark(test: Test) -> Test:
        test.shows = guarantees  # type: ignore[attr-defined]
        return test

    return mark


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help=f"write what real tests showed to {RESULTS}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if isinstance(item, pytest.Function) and item.get_closest_marker("real"):
        given = item.callspec.params if hasattr(item, "callspec") else {}
        key = getattr(item.cls, "scheduler", None) or given.get("dialect")
        tests = (item.function, given.get("scenario"))
        found = {g.name for test in tests for g in getattr(test, "shows", ())}
        # Properties travel with the report, from a worker of pytest-xdist too.
        report.user_properties += [("variant", key)] if key else []
        report.user_properties += [("shows", name) for name in sorted(found)]
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--record"):
        return
    known = results(config.rootpath) | shown_in(terminalreporter.stats)
    found = {v.key: known[v.key] for _, v in variants() if v.key in known}
    text = msgspec.json.format(msgspec.json.encode(found), indent=2)
    (config.rootpath / RESULTS).write_bytes(text + b"\n")


def shown_in(stats: dict[str, list[Any]]) -> dict[str, RecordedRun]:
    """By variant, without the variants of which a test failed."""
    declared = {v.key: {g.name for g in v.given} for _, v in variants()}
    passed: dict[str, list[Properties]] = defaultdict(list)
    failed: set[str] = set()
    for report in stats.get("passed", []):
        for key in _values(report.user_properties, "variant") if report.when == "call" else ():
            passed[key].append(report.user_properties)
    for report in (*stats.get("failed", []), *stats.get("error", [])):
        failed.update(_values(getattr(report, "user_properties", []), "variant"))
    return {
        key: RecordedRun(
            versions=sorted(
                {v for p in tests for v in _values(p, "component") if v.split()[0] not in COMMON}
            ),
            passed=len(tests),
            guarantees=sorted({v for p in tests for v in _values(p, "shows")} & declared[key]),
        )
        for key, tests in passed.items()
        if key in declared and key not in failed
    }


def _values(properties: Properties, name: str) -> list[str]:
    return [v for n, v in properties if n == name]
