"""Fixtures for every pytest run in this environment, and a table of what they ran on.

``--k8s 1.36`` (or the variable K8S) says which Kubernetes the tests marked ``real`` use. They are skipped,
with the reason, when its programs are not built.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from grove_testbed.build import NotBuiltError
from grove_testbed.cluster import Cluster
from grove_testbed.components import DEFAULT_K8S

USED = pytest.StashKey[list[Cluster]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--k8s",
        default=os.environ.get("K8S") or DEFAULT_K8S,
        help=f"Kubernetes minor version of the tests marked real (default: $K8S, else {DEFAULT_K8S})",
    )


@pytest.fixture(scope="session")
def k8s(pytestconfig: pytest.Config) -> str:
    """The Kubernetes minor version under test."""
    version: str = pytestconfig.getoption("--k8s")
    return version


@pytest.fixture(scope="session")
def cluster(k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A control plane with controllers and kube-scheduler, shared by the tests of a run."""
    yield from started(request, k8s, scheduler="kube")


def started(request: pytest.FixtureRequest, k8s: str, **options: Any) -> Iterator[Cluster]:
    """The body of a cluster fixture; the options are those of ``Cluster.start``.

    Skips if something is not built; keeps the logs if a test of the run failed.
    """
    failed_before = request.session.testsfailed
    try:
        with Cluster.start(k8s, **options) as cluster:
            yield cluster
            cluster.keep_logs = request.session.testsfailed > failed_before
            if cluster.keep_logs:
                print(f"logs of Kubernetes {k8s}: {cluster.logs}")  # noqa: T201 pytest shows it
    except NotBuiltError as missing:
        pytest.skip(str(missing))


def note_use(request: pytest.FixtureRequest, cluster: Cluster) -> None:
    """For a fixture that fetches its cluster by name: the test at hand counts in the table."""
    request.node.stash.setdefault(USED, []).append(cluster)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.get_closest_marker("real") and (report.when == "call" or report.outcome != "passed"):
        arguments = getattr(item, "funcargs", {}).values()
        clusters = [*item.stash.get(USED, []), *(a for a in arguments if isinstance(a, Cluster))]
        titles = {component.title for cluster in clusters for component in cluster.components}
        report.user_properties += [("component", title) for title in sorted(titles)]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Every component that was run, with what its tests came to; what was skipped, with the reason."""
    counts: Counter[tuple[str, str]] = Counter()
    skips: Counter[str] = Counter()
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            titles = [value for name, value in report.user_properties if name == "component"]
            counts.update((title, outcome) for title in titles)
            if outcome == "skipped" and "is not built" in str(report.longrepr):
                skips[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1
    if not counts and not skips:
        return
    terminalreporter.section("real components")
    for title in sorted({title for title, _ in counts}):
        failed = counts[title, "failed"] + counts[title, "error"]
        terminalreporter.line(f"{title:38} {counts[title, 'passed']:5} passed {failed:4} failed")
    for reason, count in sorted(skips.items()):
        terminalreporter.line(f"skipped {count} tests: {reason}")
