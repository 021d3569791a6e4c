"""The installed and enabled backends, and the selection of one for a set.

Backends register themselves as entry points of the group `grove.schedulers`: `name = "package.module:factory"`. A
factory takes the settings of its profile, a dict, and returns a backend; it raises msgspec.ValidationError for settings
that it does not accept. A profile in the operator's configuration enables the backend that matches its name. Without
profiles every installed backend is enabled.

Three sources name the backend of a set, in this order: the annotation `grove.io/scheduler-backend`, the schedulerName
of its pods, the default profile. If no enabled backend matches, the set is rejected with the list of enabled ones. If
several match, the one whose profile comes first is used, and the set reports the ambiguity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import msgspec

from grove.api import labels
from grove.api.config import Schedulers
from grove.api.topology import ClusterTopologyBinding
from grove.plan.gangs.membership import GangMembers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podgangs import GangScheduling
from grove.schedulers.backend import Backend

ENTRY_POINT_GROUP = "grove.schedulers"

Factory = Callable[[dict[str, Any]], Backend]


class SelectionError(Exception):
    """No enabled backend matches a set."""


class ConfigurationError(Exception):
    """No installed backend matches a profile, or the backend does not accept its settings."""


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


def installed() -> dict[str, Factory]:
    """The factories of all installed backends, by the name of the entry point."""
    return {e.name: e.load() for e in entry_points(group=ENTRY_POINT_GROUP)}


class Registry:
    """The enabled backends, in the order of the profiles."""

    def __init__(self, schedulers: Schedulers, factories: Mapping[str, Factory] | None = None) -> None:
        """Raises ConfigurationError. `factories` are all installed backends unless given."""
        self._default = schedulers.default_profile_name
        self._by_name: dict[str, Backend] = {}
        self._separate: set[str] = set()
        available = factories if factories is not None else installed()
        settings = {p.name: msgspec.json.decode(p.config) if p.config else {} for p in schedulers.profiles}
        profiles = (
            schedulers.enabled if schedulers.profiles else [f({}).scheduler_name for f in available.values()]
        )
        for profile in profiles:
            backend = _create(profile, settings.get(profile, {}), available)
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
    def gates(self) -> frozenset[str]:
        """The scheduling gates of all enabled backends."""
        return frozenset(b.gate for b in self.backends)

    @property
    def local(self) -> list[Backend]:
        """The backends that run in the operator's process, not in one of their own."""
        return [b for b in self.backends if b.name not in self._separate]

    def get(self, name: str) -> Backend | None:
        """The backend for a value of the label `grove.io/scheduler-backend`; None if it is not enabled."""
        return self._by_name.get(name)

    def select(self, layout: SetLayout) -> Selection:
        """The backend of a set. Raises SelectionError."""
        annotation = layout.pcs.metadata.annotations.get(labels.SCHEDULER_BACKEND, "")
        if annotation:
            backend = self._by_name.get(annotation)
            if backend is None:
                raise SelectionError(
                    f"the annotation {labels.SCHEDULER_BACKEND} asks for the backend {annotation!r}, which is not "
                    f"enabled; enabled are: {', '.join(self._by_name)}"
                )
            return Selection(backend, layout.scheduler_name or backend.scheduler_name)
        wanted = layout.scheduler_name or self._default
        matching = [b for b in self._by_name.values() if b.matches(wanted)]
        if not matching:
            raise SelectionError(
                f"no enabled backend serves schedulerName {wanted!r}; enabled are: "
                + ", ".join(f"{b.name} ({b.scheduler_name})" for b in self._by_name.values())
            )
        return Selection(matching[0], wanted, self.ambiguity(wanted))

    def serves(self, scheduler_name: str) -> bool:
        """Whether any enabled backend matches."""
        return any(b.matches(scheduler_name) for b in self._by_name.values())

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


def _create(profile: str, settings: dict[str, Any], factories: Mapping[str, Factory]) -> Backend:
    for factory in factories.values():
        if factory({}).matches(profile):
            try:
                return factory(settings)
            except msgspec.ValidationError as e:
                raise ConfigurationError(f"the settings of the profile {profile!r}: {e}") from e
    raise ConfigurationError(
        f"no installed backend serves the profile {profile!r}; installed are: {', '.join(factories)}"
    )
