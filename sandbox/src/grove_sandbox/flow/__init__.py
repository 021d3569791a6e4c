"""Tests with a whole operator on the embedded cluster, in virtual time: for Grove itself and for authors of backends.

`running` gives a cluster with an operator in it; every write passes `NoGateOpensEarly`. `BackendFlow` is the second
half of the backend author's kit: what a gang must live through under any scheduler. (The first half, without a cluster,
is `grove_sandbox.conformance`.) Needs pytest, pytest-asyncio and looptime: `pip install grove-operator[testing]`.
"""

import pytest

pytest.register_assert_rewrite("grove_sandbox.flow.backend_flow", "grove_sandbox.flow.gate_observer")

from grove_sandbox.flow.backend_flow import BackendFlow  # noqa: E402
from grove_sandbox.flow.cluster import Grove, RefusedError, cluster_with_crds, operator, running  # noqa: E402
from grove_sandbox.flow.gate_observer import NoGateOpensEarly  # noqa: E402

__all__ = [
    "BackendFlow",
    "Grove",
    "NoGateOpensEarly",
    "RefusedError",
    "cluster_with_crds",
    "operator",
    "running",
]
