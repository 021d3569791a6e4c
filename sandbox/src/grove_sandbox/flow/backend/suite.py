"""What a gang must live through under any scheduler: the whole operator with one backend, on the embedded cluster.

    class TestMineInACluster(BackendFlow):
        factory = Mine
        definitions = [...]      # the scheduler's CRDs
        policy = MyScheduler     # a simulated scheduler, if there is one

The backend under test runs beside `Bystander`, whose gangs must never be disturbed. Two observers check every write of
every test: no gate opens early, and no gate opens before the scheduler's objects exist.
"""

import pytest

from grove_sandbox.flow.backend.isolation import IsolationTests
from grove_sandbox.flow.backend.lifecycle import LifecycleTests
from grove_sandbox.flow.backend.repair import RepairTests
from grove_sandbox.flow.backend.scheduling import SchedulingTests
from grove_sandbox.flow.backend.steady_state import SteadyStateTests


@pytest.mark.asyncio
@pytest.mark.looptime
class BackendFlow(LifecycleTests, RepairTests, SteadyStateTests, IsolationTests, SchedulingTests):
    """Subclass it as `class TestMineInACluster(BackendFlow)` and set the class attributes of `BackendSetup`."""
