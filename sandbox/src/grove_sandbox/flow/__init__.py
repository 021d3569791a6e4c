"""Tests with a whole operator on the embedded cluster, in virtual time: for Grove itself and for authors of backends.

==================  ====================================================================================
`cluster`           `running`: a cluster with an operator in it, whose writes are all observed
`gate_observer`     checks on every write that no gate opens early
`object_observer`   checks on every write that the scheduler's objects exist before gates open
`bystander`         a second backend, whose gangs no test may disturb
`backend/`          `BackendFlow`: the tests that every backend must pass
==================  ====================================================================================

`BackendFlow` is the second half of the kit for authors of backends. The first half, `grove_sandbox.conformance`, needs
no cluster. Both need pytest, pytest-asyncio and looptime: `pip install grove-operator[testing]`.
"""

import pytest

pytest.register_assert_rewrite(
    "grove_sandbox.flow.backend", "grove_sandbox.flow.gate_observer", "grove_sandbox.flow.object_observer"
)

from grove_sandbox.flow.backend.suite import BackendFlow  # noqa: E402
from grove_sandbox.flow.cluster import GroveCluster, RefusedError, cluster_with_crds, operator, running  # noqa: E402
from grove_sandbox.flow.gate_observer import NoGateOpensEarly  # noqa: E402

__all__ = [
    "BackendFlow",
    "GroveCluster",
    "NoGateOpensEarly",
    "RefusedError",
    "cluster_with_crds",
    "operator",
    "running",
]
