"""What a backend's author sets, and what the tests share."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.schedulers.backend import Backend
from grove.schedulers.registry import Factory
from grove.schedulers.types import Json, Refusal, Served

from grove_sandbox.conformance.outputs import all_outputs
from grove_sandbox.conformance.samples import SAMPLES, gangs_of

UNCONSTRAINED_SAMPLES = [s for s in SAMPLES if not s.constrained]

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[s.name for s in SAMPLES])
every_unconstrained_sample = pytest.mark.parametrize(
    "sample", UNCONSTRAINED_SAMPLES, ids=[s.name for s in UNCONSTRAINED_SAMPLES]
)


class ConformanceSetup:
    factory: ClassVar[Factory]
    """The target of the entry point: a class, or a function wrapped in `staticmethod`."""

    served: ClassVar[Served]
    """What a cluster with the scheduler serves, best built by `served_by` from its CRDs."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """The `config` of a profile that switches on what the backend can do."""

    queue_tag: ClassVar[tuple[str, str] | None] = None
    """How a set names its queue: `("labels", key)` or `("annotations", key)`; None if the scheduler has no queues."""

    queues: ClassVar[tuple[str, str]] = ("team-a", "team-b")
    """Two queues that exist in `served`."""

    def backend(self) -> Backend:
        """A new instance."""
        return type(self).factory(dict(self.settings))

    def gangs(self, pcs: PodCliqueSet, *, named: bool = False) -> list[PodGang]:
        """The gangs of a set; `named` after they name their pods."""
        return gangs_of(self.backend(), pcs, self.served, named=named)

    def accepted_gangs(self, pcs: PodCliqueSet) -> Iterator[PodGang]:
        """The gangs of a set that the backend does not refuse."""
        backend = self.backend()
        for gang in self.gangs(pcs):
            if "refused" not in self.outputs(backend, gang):
                yield gang

    def outputs(self, backend: Backend, gang: PodGang) -> Json:
        """What the backend returns for a gang; `refused` has the message of a Refusal."""
        try:
            return all_outputs(backend, gang, self.served)
        except Refusal as e:
            return {"refused": str(e), "objects": [], "pods": {}}

    def outputs_of_set(self, pcs: PodCliqueSet, backend: Backend | None = None) -> list[Json]:
        """The outputs for each gang of a set, by `backend` or by a new instance."""
        backend = backend or self.backend()
        return [self.outputs(backend, g) for g in gangs_of(backend, pcs, self.served)]

    def overrides(self, method: str) -> bool:
        """Whether the backend has a method of its own in place of the default."""
        return getattr(type(self.backend()), method) is not getattr(Backend, method)
