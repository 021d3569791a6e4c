"""Which of the tests marked ``real`` run, and which of them on the same worker when several run side by side.

A test that is about one scheduler says so: ``@pytest.mark.scheduler("kai")``; ``--scheduler kai`` runs just those.
"""

from __future__ import annotations

import pytest

from grove_testbed.schedulers import SCHEDULERS

# Its port is fixed: one at a time on a machine.
ALONE = "yunikorn"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--scheduler", choices=SCHEDULERS, help="of the tests marked real, run only those of this scheduler"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "scheduler(name): a real test that is about this scheduler")


def scheduler_of(item: pytest.Item) -> str:
    """The scheduler that a test is about, or nothing."""
    mark = item.get_closest_marker("scheduler")
    return str(mark.args[0]) if mark else ""


# First, so that pytest-xdist finds the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if wanted := config.getoption("--scheduler"):
        others = [i for i in items if i.get_closest_marker("real") and scheduler_of(i) != wanted]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    for item in items:
        if item.get_closest_marker("real") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    # Those of schedulers take longest; begun first, they leave the short ones to fill the gaps at the end.
    items.sort(key=lambda item: not scheduler_of(item))


def _group(item: pytest.Item) -> str:
    """Tests of one module, or class, and scheduler share a cluster."""
    scheduler = scheduler_of(item)
    where = item.parent.nodeid if item.parent else item.nodeid
    return scheduler if scheduler == ALONE else f"{where} {scheduler}".strip()
