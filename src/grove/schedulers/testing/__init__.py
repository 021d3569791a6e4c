"""The backend author's kit: a backend is fit for Grove when a subclass of `BackendConformance` passes.

    class TestMine(BackendConformance):
        factory = Mine
        served = served_by(definitions)

This half is pure: no cluster, no event loop. The other half, `grove.testing.BackendFlow`, runs the whole operator with
the backend on the embedded cluster; it lives higher up since backends know nothing of operators and clusters. Both need
pytest (`pip install grove-operator[testing]`), and nothing else in Grove imports them.
"""

import pytest

pytest.register_assert_rewrite("grove.schedulers.testing.suite")

from grove.schedulers.testing.samples import SAMPLES, Sample, clique, pod_clique_set  # noqa: E402
from grove.schedulers.testing.served import served_by  # noqa: E402
from grove.schedulers.testing.suite import BackendConformance  # noqa: E402

__all__ = ["SAMPLES", "BackendConformance", "Sample", "clique", "pod_clique_set", "served_by"]
