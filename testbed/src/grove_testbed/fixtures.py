"""Fixtures for every pytest run in this environment.

``--k8s 1.36`` (or the variable K8S) says which Kubernetes the tests marked ``real`` use. They are skipped,
with the reason, when its programs are not built.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from grove_testbed.build import NotBuiltError
from grove_testbed.cluster import Cluster
from grove_testbed.components import DEFAULT_K8S
from grove_testbed.nodes.requirements import MachineError

pytest_plugins = ["grove_testbed.results", "grove_testbed.selection"]


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
    yield from started(request, k8s, scheduler="default")


def started(request: pytest.FixtureRequest, k8s: str, **options: Any) -> Iterator[Cluster]:
    """The body of a cluster fixture; the options are those of ``Cluster.start``.

    Skips if something is not built, or if real nodes are asked for and cannot run here; keeps the logs if a test of
    the run failed. On a machine that says CI=true, what real nodes lack is a failure.
    """
    failed_before = request.session.testsfailed
    try:
        with Cluster.start(k8s, **options) as cluster:
            yield cluster
            cluster.keep_logs = request.session.testsfailed > failed_before
            if cluster.keep_logs:
                print(f"logs of Kubernetes {k8s}: {cluster.logs}")  # noqa: T201 pytest shows it
    except (NotBuiltError, MachineError) as missing:
        if options.get("real_nodes") and os.environ.get("CI") == "true":
            pytest.fail(f"CI=true, so this must run: {missing}", pytrace=False)
        pytest.skip(str(missing))
