"""The backend author's kit: a backend is fit for Grove when a subclass of `BackendConformance` passes.

    class TestMine(BackendConformance):
        factory = Mine
        served = served_by(definitions)

This half is pure: no cluster, no event loop. The other half, `grove_sandbox.flow.BackendFlow`, runs the whole operator
with the backend on the embedded cluster. Both need pytest: `pip install 'grove-operator[testing]'`.
"""

import pytest

pytest.register_assert_rewrite("grove_sandbox.conformance.suite")

from grove_sandbox.conformance.samples import SAMPLES, Sample, clique, pod_clique_set  # noqa: E402
from grove_sandbox.conformance.served import served_by  # noqa: E402
from grove_sandbox.conformance.suite import BackendConformance  # noqa: E402

__all__ = ["SAMPLES", "BackendConformance", "Sample", "clique", "pod_clique_set", "served_by"]
