"""Tests with a whole operator on the embedded cluster, in virtual time: for Grove itself and for authors of backends.

`running` gives a cluster with an operator in it; every write passes `NoGateOpensEarly`. `BackendFlow` is the second
half of the backend author's kit: what a gang must live through under any scheduler. (The first half, without a cluster,
is `grove.schedulers.testing`.) Needs pytest, pytest-asyncio and looptime: `pip install grove-operator[testing]`.
"""

import pytest

pytest.register_assert_rewrite("grove.testing.flow", "grove.testing.gates")

from grove.testing.cluster import Grove, RefusedError, cluster_with_crds, operator, running  # noqa: E402
from grove.testing.flow import BackendFlow  # noqa: E402
from grove.testing.gates import NoGateOpensEarly  # noqa: E402

__all__ = [
    "BackendFlow",
    "Grove",
    "NoGateOpensEarly",
    "RefusedError",
    "cluster_with_crds",
    "operator",
    "running",
]
