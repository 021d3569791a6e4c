"""Tests of a backend's names, settings and imports."""

import msgspec
import pytest
from grove.api.validation.syntax import check_labels
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind
from grove.schema.name_syntax import is_dns_label, is_dns_subdomain

from grove_sandbox.conformance.purity import impure_imports
from grove_sandbox.conformance.setup import ConformanceSetup


class IdentityTests(ConformanceSetup):
    def test_it_has_a_name_a_scheduler_name_and_a_gate(self) -> None:
        backend = self.backend()
        assert isinstance(backend, Backend), "a backend is a subclass of grove.schedulers.backend.Backend"
        assert is_dns_label(backend.name), "the name is the value of a label"
        assert is_dns_subdomain(backend.scheduler_name)
        assert "/" in backend.gate, "a gate has a domain, as in example.com/gang"
        assert check_labels((), {backend.gate: ""}) == [], "a gate has the syntax of a label key"
        assert len(set(backend.kinds)) == len(backend.kinds)
        assert all(isinstance(k, ObjectKind) for k in backend.kinds)

    def test_it_matches_its_own_scheduler_name_and_not_any(self) -> None:
        backend = self.backend()
        assert backend.matches(backend.scheduler_name)
        assert not backend.matches("no-such-scheduler")

    def test_it_starts_without_settings(self) -> None:
        assert type(self).factory({}).name == self.backend().name

    def test_it_rejects_unknown_settings_and_names_them(self) -> None:
        with pytest.raises(msgspec.ValidationError, match="noSuchSetting"):
            type(self).factory({**self.settings, "noSuchSetting": 1})

    def test_it_imports_no_network_no_clock_and_no_randomness(self) -> None:
        assert impure_imports(self.backend()) == []
