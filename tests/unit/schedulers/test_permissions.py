"""The permissions in deploy/, compared with the kinds that the backends read and write."""

from pathlib import Path

import pytest
import yaml

from grove.schedulers.backend import Backend
from grove.schedulers.installed import built_in
from grove.schedulers.types import ObjectKind

DEPLOY = Path(__file__).parents[3] / "deploy"
READ = {"get", "list", "watch"}
WRITE = {"create", "delete", "patch", "update"}
BACKENDS = {name: factory({}) for name, factory in built_in().items()}


def permissions(file: str = "operator.yaml") -> set[tuple[str, str, str]]:
    """Group, resource and verb."""
    documents = yaml.safe_load_all((DEPLOY / file).read_text())
    (role,) = (d for d in documents if d["kind"] == "ClusterRole")
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def allowed(kind: ObjectKind, file: str = "operator.yaml") -> set[str]:
    return {
        verb for group, resource, verb in permissions(file) if (group, resource) == (kind.group, kind.plural)
    }


def written_kinds(backend: Backend) -> list[ObjectKind]:
    return [*backend.kinds, *([backend.topology_kind] if backend.topology_kind else [])]


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_the_operator_may_write_every_kind_that_a_backend_returns(backend: Backend) -> None:
    for kind in written_kinds(backend):
        assert allowed(kind) >= READ | WRITE, kind


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_the_operator_may_read_every_kind_that_a_backend_reads(backend: Backend) -> None:
    for kind in backend.reads:
        assert allowed(kind) >= READ, kind


def test_a_separate_backend_may_do_what_it_needs_and_less_than_the_operator() -> None:
    kai = BACKENDS["kai"]
    for kind in kai.kinds:
        assert allowed(kind, "backend.yaml") >= READ | WRITE, kind
    for kind in kai.reads:
        assert allowed(kind, "backend.yaml") >= READ, kind
    alone = permissions("backend.yaml")
    assert alone < permissions()
    assert {r for r in alone if r[1] in ("pods", "podgangs") and r[2] not in READ} == set()
