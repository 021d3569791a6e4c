"""The testbed's part in a pytest run: which real tests run, and the table at the end. No cluster is started."""

from __future__ import annotations

import pytest
from grove_testbed.selection import group_of

pytest_plugins = ["pytester"]

# A run whose clusters have components but no processes.
CONFTEST = """
from pathlib import Path
import pytest
from grove_testbed.cluster import Cluster
from grove_testbed.components import component

def pytest_configure(config):
    config.addinivalue_line("markers", "real: needs a cluster")

@pytest.fixture
def kai_cluster(k8s):
    programs = [component("etcd"), component("kube-apiserver", k8s), component("kai-scheduler")]
    return Cluster(k8s, Path(), 1, 2, {}, components=programs)
"""
TESTS = """
import pytest

pytestmark = pytest.mark.real

@pytest.mark.scheduler("kai")
class TestKai:
    def test_good(self, kai_cluster): pass
    def test_bad(self, kai_cluster): assert False
    def test_new(self, kai_cluster): pytest.skip("only in 1.99")

@pytest.mark.scheduler("volcano")
def test_of_another():
    pytest.skip("vc-scheduler is not built")

def test_of_none(): pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    return pytester


def table(result: pytest.RunResult) -> list[list[str]]:
    """The last section, as words."""
    start = next(i for i, line in enumerate(result.outlines) if "real components" in line)
    assert not any("short test summary" in line for line in result.outlines[start:])
    return [line.split() for line in result.outlines[start + 1 : -1]]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_table_counts_by_component_and_gives_the_reasons_of_skips(
    run: pytest.Pytester, workers: str
) -> None:
    result = run.runpytest_inprocess("-n", workers, "--dist=loadgroup", "--k8s=1.37")
    assert table(result) == [
        ["component", "version", "passed", "failed", "skipped"],
        ["etcd", "v3.6.16", "2", "1", "2"],
        ["kai-scheduler", "v0.12.0", "1", "1", "1"],
        ["kube-apiserver", "v1.37.1", "2", "1", "2"],
        ["vc-controller-manager", "v1.14.1", "0", "0", "1"],
        ["vc-scheduler", "v1.14.1", "0", "0", "1"],
        ["skipped", "1:", "only", "in", "1.99"],
        ["skipped", "1:", "vc-scheduler", "is", "not", "built"],
    ]


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/real/test_kai_gangs.py::TestKai::test_x", "tests/real/test_kai_gangs.py::TestKai"),
        ("tests/real/test_kube_gangs.py::test_x[Flat-a-b]", "tests/real/test_kube_gangs.py Flat"),
        ("tests/real/test_schedulers.py::test_x[volcano]", "tests/real/test_schedulers.py volcano"),
        ("tests/real/test_schedulers.py::test_x[yunikorn]", "yunikorn"),
        ("tests/real/test_yunikorn_gangs.py::TestYuniKorn::test_x", "yunikorn"),
    ],
)
def test_tests_that_share_a_cluster_are_a_group(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


SHARING = """
import os, pytest

pytestmark = pytest.mark.real

@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("cluster", ["a", "b"])
def test_it(cluster, case):
    with open(f"{cluster}.workers", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_a_group_stays_on_one_worker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHARING)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.runpytest_inprocess("-n", "2", "--dist=loadgroup").assert_outcomes(passed=8)
    for cluster in "ab":
        assert len(set((pytester.path / f"{cluster}.workers").read_text().split())) == 1


def test_one_schedulers_tests_run_alone(run: pytest.Pytester) -> None:
    result = run.runpytest_inprocess("--scheduler=kai")
    result.assert_outcomes(passed=1, failed=1, skipped=1, deselected=2)


def test_a_module_that_cannot_be_imported_is_an_error_of_its_own(run: pytest.Pytester) -> None:
    run.makepyfile(test_broken="import nowhere")
    result = run.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
