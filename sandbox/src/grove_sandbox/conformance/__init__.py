"""The pure half of the test kit for backends: no cluster, no event loop.

    class TestMine(BackendConformance):
        factory = Mine
        served = served_by(definitions)

================  ======================================================================
`suite`           `BackendConformance`: the tests that every backend must pass
`setup`           the class attributes that a subclass sets, and what its tests share
`identity`        tests of names, settings and imports
`translation`     tests of `translate`
`pods`            tests of `prepare_pod` and of the release of pods
`user_intent`     tests that nothing that a gang asks for is lost silently
`optional`        tests of the other optional methods
`samples`         the sets whose gangs every backend gets
`served`          `served_by`: what a cluster with certain CRDs serves
`outputs`         everything that a backend returns for a gang, as JSON
`purity`          finds imports that a pure backend does not need
================  ======================================================================

The other half, `grove_sandbox.flow.BackendFlow`, runs the whole operator with the backend on the embedded cluster. Both
need pytest: `pip install 'grove-operator[testing]'`.
"""

import pytest

pytest.register_assert_rewrite(
    "grove_sandbox.conformance.identity",
    "grove_sandbox.conformance.optional",
    "grove_sandbox.conformance.pods",
    "grove_sandbox.conformance.translation",
    "grove_sandbox.conformance.user_intent",
)

from grove_sandbox.conformance.samples import SAMPLES, Sample, clique, pod_clique_set  # noqa: E402
from grove_sandbox.conformance.served import served_by  # noqa: E402
from grove_sandbox.conformance.suite import BackendConformance  # noqa: E402

__all__ = ["SAMPLES", "BackendConformance", "Sample", "clique", "pod_clique_set", "served_by"]
