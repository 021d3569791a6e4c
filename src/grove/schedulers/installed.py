"""The backends that installed packages offer, and the one that serves a profile of the operator's configuration.

A package offers a backend as an entry point of the group `grove.schedulers`: `name = "package.module:factory"`. A factory
takes the settings of its profile, a dict, and returns a backend; it raises msgspec.ValidationError for settings that it
does not accept. Usually it is the backend's class.

For a profile, in this order:

    a backend of this distribution whose `scheduler_name` is the profile's name; no other package is imported
    a backend of another package whose `scheduler_name` is the profile's name
    a backend that `matches` the profile's name

Several in one step are refused by name. A package that cannot be imported, or whose backend fails to start, makes this
one profile unavailable: `BackendFailure` names the package.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import msgspec

from grove.schedulers.backend import Backend

ENTRY_POINT_GROUP = "grove.schedulers"
DISTRIBUTION = "grove-operator"

Factory = Callable[[dict[str, Any]], Backend]


class ConfigurationError(Exception):
    """No installed backend serves a profile, several do, or the backend does not accept the profile's settings."""


@dataclass(frozen=True)
class InstalledBackend:
    """`load` imports the factory, and raises whatever the package raises. `package` has the version, for messages."""

    name: str
    package: str
    built_in: bool
    load: Callable[[], Factory]


@dataclass(frozen=True)
class BackendFailure:
    """Why the backend of a profile cannot be used. Sets and gangs of other backends are not affected.

    `backend` is the value of the label `grove.io/scheduler-backend`, as far as it is known: else the entry point's name.
    """

    profile: str
    backend: str
    package: str
    error: str

    def __str__(self) -> str:
        return f"the backend of the profile {self.profile!r}, from the package {self.package}, cannot be used: {self.error}"


class BackendUnavailableError(Exception):
    """The backend of a profile failed."""

    def __init__(self, failure: BackendFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def installed() -> list[InstalledBackend]:
    """All entry points. None of them is imported."""
    found = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        name, version = (point.dist.name, point.dist.version) if point.dist is not None else ("", "")
        found.append(
            InstalledBackend(point.name, f"{name} {version}".strip(), name == DISTRIBUTION, point.load)
        )
    return found


def built_in() -> dict[str, Factory]:
    """The factories of this distribution's own backends, by the name of the entry point."""
    return {b.name: b.load() for b in installed() if b.built_in}


def given(factories: Mapping[str, Factory]) -> list[InstalledBackend]:
    """Factories that count as built in, for tests and embedders."""
    return [InstalledBackend(name, name, True, lambda f=f: f) for name, f in factories.items()]  # type: ignore[misc]


def start_backend(profile: str, settings: dict[str, Any], available: Sequence[InstalledBackend]) -> Backend:
    """The initialized backend of a profile. Raises ConfigurationError or BackendUnavailableError."""
    factories = _Factories(profile, settings, available)
    offer, factory = factories.find()

    def failure(e: Exception) -> BackendUnavailableError:
        name = getattr(factory, "name", offer.name)
        return BackendUnavailableError(BackendFailure(profile, name, offer.package, _described(e)))

    try:
        backend = factory(settings)
    except msgspec.ValidationError as e:
        raise ConfigurationError(
            f"the settings of the profile {profile!r} (package {offer.package}): {e}"
        ) from e
    except Exception as e:  # the code of another package
        raise failure(e) from e
    try:
        backend.init()
    except Exception as e:  # a refusal or a defect: either way the backend is not used
        raise failure(e) from e
    return backend


class _Factories:
    """Imports what may serve one profile, and no more than it must."""

    def __init__(self, profile: str, settings: dict[str, Any], available: Sequence[InstalledBackend]) -> None:
        self._profile = profile
        self._settings = settings
        self._available = available
        self._failed: list[tuple[InstalledBackend, Exception]] = []

    def find(self) -> tuple[InstalledBackend, Factory]:
        ours = self._load([b for b in self._available if b.built_in])
        if (found := self._one([(b, f) for b, f in ours if self._is_exact(f)])) is not None:
            return found
        others = self._load([b for b in self._available if not b.built_in])
        if (found := self._one([(b, f) for b, f in others if self._is_exact(f)])) is not None:
            return found
        if (found := self._one([(b, f) for b, f in [*ours, *others] if self._matches(b, f)])) is not None:
            return found
        if self._failed:
            offers = [b for b, _ in self._failed]
            error = "; ".join(f"{b.package}: {_described(e)}" for b, e in self._failed)
            packages = ", ".join(b.package for b in offers)
            raise BackendUnavailableError(BackendFailure(self._profile, offers[0].name, packages, error))
        names = ", ".join(b.name for b in self._available)
        raise ConfigurationError(
            f"no installed backend serves the profile {self._profile!r}; installed are: {names}"
        )

    def _load(self, offers: Sequence[InstalledBackend]) -> list[tuple[InstalledBackend, Factory]]:
        loaded = []
        for offer in offers:
            try:
                loaded.append((offer, offer.load()))
            except Exception as e:  # the code of another package
                self._failed.append((offer, e))
        return loaded

    def _is_exact(self, factory: Factory) -> bool:
        return getattr(factory, "scheduler_name", None) == self._profile

    def _matches(self, offer: InstalledBackend, factory: Factory) -> bool:
        """`matches` is a method of a backend that has its settings; a backend that rejects them may be the wrong one."""
        try:
            return factory(self._settings).matches(self._profile)
        except Exception as e:
            self._failed.append((offer, e))
            return False

    def _one(self, found: list[tuple[InstalledBackend, Factory]]) -> tuple[InstalledBackend, Factory] | None:
        if len(found) > 1:
            packages = ", ".join(f"{b.name} ({b.package})" for b, _ in found)
            raise ConfigurationError(
                f"several installed backends serve the profile {self._profile!r}: {packages}; give the profile the "
                "schedulerName of one of them, or uninstall the others"
            )
        return found[0] if found else None


def _described(e: Exception) -> str:
    return f"{type(e).__name__}: {e}"
