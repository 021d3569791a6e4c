"""Which backends there are, and which one a set is for.

Backends register themselves as entry points of the group `grove.schedulers`: `name = "package.module:factory"`.
A factory takes the settings of its profile (a dict) and gives a backend, or raises msgspec.ValidationError when it does
not accept them. A profile in the operator's configuration enables the backend that serves its name; without profiles
every installed one is enabled.

A set names its backend by the annotation `grove.io/scheduler-backend`, else by the schedulerName of its pods, else it
gets the default. Nothing is guessed: a name that no enabled backend serves is refused, with the list of those that are.
Of several backends that serve a name, the one whose profile comes first is used, and that is said.
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

GROUP = "grove.schedulers"

Factory = Callable[[dict[str, Any]], Backend]


class SelectionError(Exception):
    """A set whose backend cannot be told."""


class ConfigurationError(Exception):
    """A profile that no installed backend serves, or that its backend does not accept."""


@dataclass(frozen=True, slots=True)
class Selection:
    """`ambiguity` says which other backends would serve the set as well, and what to do; empty if none."""

    backend: Backend
    scheduler_name: str
    ambiguity: str = ""

    def scheduling(
        self, layout: SetLayout, members: GangMembers, topology: ClusterTopologyBinding | None
    ) -> GangScheduling:
        """How a gang of the set is to be scheduled; `topology` is the one that the set names, if it exists."""
        bindings = topology.spec.scheduler_topology_bindings if topology is not None else []
        referred = {b.scheduler_name: b.topology_reference for b in bindings}
        cliques = list(members.cliques.values())
        return GangScheduling(
            self.scheduler_name,
            self.backend.name,
            topology,
            referred.get(self.backend.scheduler_name, ""),
            self.backend.gang_annotations(layout.pcs, cliques),
            self.backend.default_priority_class(cliques),
        )


def installed() -> dict[str, Factory]:
    """Every backend that is installed, by the name of its entry point."""
    return {e.name: e.load() for e in entry_points(group=GROUP)}


class Registry:
    """The enabled backends, in the order of the profiles."""

    def __init__(
        self,
        schedulers: Schedulers,
        factories: Mapping[str, Factory] | None = None,
    ) -> None:
        self._default = schedulers.default_profile_name
        self._by_name: dict[str, Backend] = {}
        self._separate: set[str] = set()
        self._cache: dict[tuple[str, str], Selection] = {}
        known = factories if factories is not None else installed()
        settings = {p.name: msgspec.json.decode(p.config) if p.config else {} for p in schedulers.profiles}
        profiles = (
            schedulers.enabled if schedulers.profiles else [f({}).scheduler_name for f in known.values()]
        )
        for profile in profiles:
            backend = self._make(profile, settings.get(profile, {}), known)
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
        """Those that run in the operator itself."""
        return [b for b in self.backends if b.name not in self._separate]

    def get(self, name: str) -> Backend | None:
        """A backend by the value of the label `grove.io/scheduler-backend`; None when it is not enabled."""
        return self._by_name.get(name)

    def select(self, layout: SetLayout) -> Selection:
        """The backend of a set. Raises SelectionError."""
        override = layout.pcs.metadata.annotations.get(labels.SCHEDULER_BACKEND, "")
        key = (override, layout.scheduler_name)
        if key not in self._cache:
            self._cache[key] = self._select(*key)
        return self._cache[key]

    def _select(self, override: str, scheduler_name: str) -> Selection:
        if override:
            backend = self._by_name.get(override)
            if backend is None:
                raise SelectionError(
                    f"the annotation {labels.SCHEDULER_BACKEND} asks for the backend {override!r}, which is not "
                    f"enabled; enabled are: {', '.join(self._by_name)}"
                )
            return Selection(backend, scheduler_name or backend.scheduler_name)
        wanted = scheduler_name or self._default
        matching = [b for b in self._by_name.values() if b.matches(wanted)]
        if not matching:
            raise SelectionError(
                f"no enabled backend serves schedulerName {wanted!r}; enabled are: "
                + ", ".join(f"{b.name} ({b.scheduler_name})" for b in self._by_name.values())
            )
        return Selection(matching[0], wanted, self.ambiguity(wanted))

    def serves(self, scheduler_name: str) -> bool:
        """Whether any enabled backend does."""
        return any(b.matches(scheduler_name) for b in self._by_name.values())

    def ambiguity(self, scheduler_name: str) -> str:
        """What is to be said of a name that several backends serve; empty for any other."""
        first, *others = [b.name for b in self._by_name.values() if b.matches(scheduler_name)] or [""]
        if not others:
            return ""
        return (
            f"schedulerName {scheduler_name!r} is served by the backends {', '.join([first, *others])}; {first} is "
            f"used, since its profile comes first; name another in the annotation {labels.SCHEDULER_BACKEND} of a set, "
            "or reorder the profiles of the operator's configuration, or remove one"
        )

    def ambiguities(self) -> list[str]:
        """The same, of every name that a backend or the configuration has."""
        names = dict.fromkeys([*(b.scheduler_name for b in self._by_name.values()), self._default])
        return [said for name in names if (said := self.ambiguity(name))]

    @staticmethod
    def _make(profile: str, settings: dict[str, Any], factories: Mapping[str, Factory]) -> Backend:
        for factory in factories.values():
            if factory({}).matches(profile):
                try:
                    return factory(settings)
                except msgspec.ValidationError as e:
                    raise ConfigurationError(f"the settings of the profile {profile!r}: {e}") from e
        raise ConfigurationError(
            f"no installed backend serves the profile {profile!r}; installed are: {', '.join(factories)}"
        )
