"""Which of the tests marked ``real`` run, and which of them on the same worker when several run side by side.

A test that is about one scheduler says so: ``@pytest.mark.scheduler("kai")``; ``--scheduler kai`` runs just those.
"""

from __future__ import annotations

import re
from typing import Any

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if wanted := config.getoption("--scheduler"):
        others = [i for i in items if i.get_closest_marker("real") and scheduler_of(i) != wanted]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    # Those of schedulers take longest; begun first, they leave the short ones to fill the gaps at the end.
    items.sort(key=lambda item: not scheduler_of(item))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For `--dist loadgroup`: pytest-xdist's own groups are lost with pytest 9.2, which ignores a changed node id."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class BySharedCluster(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return BySharedCluster(config, log)


def group_of(nodeid: str) -> str:
    """Tests of one module or class, with the same first parameter, share a cluster and stay on one worker."""
    if ALONE in nodeid.lower():
        return ALONE
    where, _, parameters = nodeid.partition("[")
    first = re.split(r"[-\]]", parameters)[0]
    return f"{where.rpartition('::')[0]} {first}".strip()
