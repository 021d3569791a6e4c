"""The enabled backends, and the selection of one for a set.

A profile in the operator's configuration enables the installed backend that serves its name. Without profiles the
backends of this distribution are enabled. A backend that cannot be used is in `failures`, and the others work.

Three sources name the backend of a set, in this order: the annotation `grove.io/scheduler-backend`, the schedulerName
of its pods, the default profile. If no enabled backend matches, the set is rejected with the list of enabled ones. If
several match, the one whose profile comes first is used, and the set reports the ambiguity.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from grove.api import labels
from grove.api.config import Schedulers
from grove.api.topology import ClusterTopologyBinding
from grove.plan.gangs.membership import GangMembers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podgangs import GangScheduling
from grove.schedulers.backend import Backend
from grove.schedulers.installed import (
    BackendFailure,
    BackendUnavailableError,
    ConfigurationError,
    Factory,
    given,
    installed,
    start_backend,
)

__all__ = ["ConfigurationError", "Factory", "Registry", "Selection", "SelectionError"]


class SelectionError(Exception):
    """No enabled backend matches a set."""


@dataclass(frozen=True)
class Selection:
    """The backend of a set, and the schedulerName of its pods.

    `ambiguity` says which other backends match too, and what to do; empty if there is none.
    """

    backend: Backend
    scheduler_name: str
    ambiguity: str = ""

    def scheduling(
        self, layout: SetLayout, members: GangMembers, topology: ClusterTopologyBinding | None
    ) -> GangScheduling:
        """What the backend decides about a gang of the set; `topology` is the one that the set names, if it exists."""
        bindings = topology.spec.scheduler_topology_bindings if topology is not None else []
        references = {b.scheduler_name: b.topology_reference for b in bindings}
        cliques = list(members.cliques.values())
        return GangScheduling(
            self.scheduler_name,
            self.backend.name,
            topology,
            references.get(self.backend.scheduler_name, ""),
            self.backend.gang_annotations(layout.pcs, cliques),
            self.backend.default_priority_class(cliques),
        )


class Registry:
    """The enabled backends, in the order of the profiles."""

    def __init__(self, schedulers: Schedulers, factories: Mapping[str, Factory] | None = None) -> None:
        """Raises ConfigurationError. `factories` take the place of all installed backends.

        Every backend is initialized here, before anybody can call it.
        """
        self._default = schedulers.default_profile_name
        self._by_name: dict[str, Backend] = {}
        self._separate: set[str] = set()
        self.failures: list[BackendFailure] = []
        available = installed() if factories is None else given(factories)
        settings = {p.name: msgspec.json.decode(p.config) if p.config else {} for p in schedulers.profiles}
        if factories is None or schedulers.profiles:
            profiles = list(schedulers.enabled)
        else:
            profiles = [f({}).scheduler_name for f in factories.values()]
        for profile in profiles:
            try:
                backend = start_backend(profile, settings.get(profile, {}), available)
            except BackendUnavailableError as e:
                self.failures.append(e.failure)
                continue
            if backend.name in self._by_name:
                raise ConfigurationError(
                    f"two profiles enable the backend {backend.name!r}: remove one of them"
                )
            self._by_name[backend.name] = backend
            if profile in schedulers.separate:
                self._separate.add(backend.name)

    @property
    def backends(self) -> list[Backend]:
        return list(self._by_name.values())

    @property
    def local(self) -> list[Backend]:
        """The backends that run in the operator's process, not in one of their own."""
        return [b for b in self.backends if b.name not in self._separate]

    def get(self, name: str) -> Backend | None:
        """The backend for a value of the label `grove.io/scheduler-backend`; None if it is not enabled."""
        return self._by_name.get(name)

    def why_not_enabled(self, name: str) -> str:
        """Why there is no backend of this name, and what to do. Only for a name for which `get` returns None."""
        failure = next((f for f in self.failures if name in (f.backend, f.profile)), None)
        if failure is not None:
            return (
                f"{failure}; repair or upgrade the package, or disable the profile, and restart the operator"
            )
        return (
            f"the backend {name!r} is not enabled in the operator's configuration (scheduler.profiles); enabled are: "
            f"{', '.join(self._by_name)}"
        )

    def has_failed(self, name: str) -> bool:
        """Whether the backend of this name is enabled by a profile and cannot be used."""
        return any(name in (f.backend, f.profile) for f in self.failures)

    def select(self, layout: SetLayout) -> Selection:
        """The backend of a set. Raises SelectionError."""
        annotation = layout.pcs.metadata.annotations.get(labels.SCHEDULER_BACKEND, "")
        if annotation:
            backend = self._by_name.get(annotation)
            if backend is None:
                raise SelectionError(
                    f"the annotation {labels.SCHEDULER_BACKEND}: {self.why_not_enabled(annotation)}"
                )
            return Selection(backend, layout.scheduler_name or backend.scheduler_name)
        wanted = layout.scheduler_name or self._default
        matching = [b for b in self._by_name.values() if b.matches(wanted)]
        if not matching:
            if self.has_failed(wanted):
                raise SelectionError(self.why_not_enabled(wanted))
            raise SelectionError(
                f"no enabled backend serves schedulerName {wanted!r}; enabled are: "
                + ", ".join(f"{b.name} ({b.scheduler_name})" for b in self._by_name.values())
            )
        return Selection(matching[0], wanted, self.ambiguity(wanted))

    def serves(self, scheduler_name: str) -> bool:
        """Whether any enabled backend matches, or would if it had not failed: `select` then says why it did."""
        return any(b.matches(scheduler_name) for b in self._by_name.values()) or self.has_failed(
            scheduler_name
        )

    def ambiguity(self, scheduler_name: str) -> str:
        """Why a schedulerName is ambiguous, and what to do; empty if at most one backend matches."""
        first, *others = [b.name for b in self._by_name.values() if b.matches(scheduler_name)] or [""]
        if not others:
            return ""
        return (
            f"schedulerName {scheduler_name!r} is served by the backends {', '.join([first, *others])}; {first} is "
            f"used, since its profile comes first; name another in the annotation {labels.SCHEDULER_BACKEND} of a set, "
            "or reorder the profiles of the operator's configuration, or remove one"
        )

    def ambiguities(self) -> list[str]:
        """The ambiguity of every schedulerName that a backend or the configuration names."""
        names = dict.fromkeys([*(b.scheduler_name for b in self._by_name.values()), self._default])
        return [text for name in names if (text := self.ambiguity(name))]
