"""The table at the end of a run: every component that real tests ran on, with what they came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from grove_testbed.cluster import Cluster
from grove_testbed.components import Component, component_for
from grove_testbed.schedulers import SCHEDULERS
from grove_testbed.selection import scheduler_of

USED = pytest.StashKey[list[Cluster]]()
OUTCOMES = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}


def note_use(request: pytest.FixtureRequest, cluster: Cluster) -> None:
    """For a test that gets its cluster other than as an argument: it counts in the table."""
    request.node.stash.setdefault(USED, []).append(cluster)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.get_closest_marker("real") and (report.when == "call" or report.outcome != "passed"):
        found = {f"{c.name} {c.version}" for c in _components(item)}
        # Properties travel with the report, from a worker of pytest-xdist too.
        report.user_properties += [("component", title) for title in sorted(found)]
    return report


def _components(item: pytest.Item) -> list[Component]:
    """Those of the clusters that a test was given; without any, because it was skipped say, those it is about."""
    arguments = getattr(item, "funcargs", {}).values()
    clusters = [*item.stash.get(USED, []), *(a for a in arguments if isinstance(a, Cluster))]
    if clusters:
        return [component for cluster in clusters for component in cluster.components]
    scheduler = scheduler_of(item)
    programs = ["etcd", "kube-apiserver", *(SCHEDULERS[scheduler].programs if scheduler else [])]
    return [component_for(program, item.config.getoption("--k8s")) for program in programs]


# Around all others: what it says comes last.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Generator[None, None, None]:
    yield
    counts: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    for category, outcome in OUTCOMES.items():
        for report in terminalreporter.stats.get(category, []):
            # A module that could not be imported has none.
            properties = getattr(report, "user_properties", [])
            titles = [value for name, value in properties if name == "component"]
            counts.update((title, outcome) for title in titles)
            if titles and outcome == "skipped":
                reasons[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1
    if counts:
        terminalreporter.section("real components")
        terminalreporter.line(_row("component", "version", "passed", "failed", "skipped"))
    for title in sorted({title for title, _ in counts}):
        results = [str(counts[title, outcome]) for outcome in ("passed", "failed", "skipped")]
        terminalreporter.line(_row(*title.split(), *results))
    for reason, count in sorted(reasons.items()):
        terminalreporter.line(f"skipped {count}: {reason}")


def _row(name: str, version: str, *results: str) -> str:
    return f"{name:25} {version:10}" + "".join(f"{result:>9}" for result in results)
