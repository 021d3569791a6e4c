"""The rights in deploy/operator.yaml, beside what the backends say that they read and write."""

from pathlib import Path

import pytest
import yaml

from grove.schedulers.backend import Backend, ObjectKind, Reads, Topologies
from grove.schedulers.registry import installed

DEPLOY = Path(__file__).parents[3] / "deploy" / "operator.yaml"
READ = {"get", "list", "watch"}
WRITE = {"create", "delete", "patch", "update"}
BACKENDS = {name: factory({}) for name, factory in installed().items()}


def allowed(kind: ObjectKind) -> set[str]:
    (role,) = (d for d in yaml.safe_load_all(DEPLOY.read_text()) if d["kind"] == "ClusterRole")
    return {
        verb
        for rule in role["rules"]
        if kind.group in rule["apiGroups"] and kind.plural in rule["resources"]
        for verb in rule["verbs"]
    }


def made(backend: Backend) -> list[ObjectKind]:
    return [*backend.kinds, *([backend.topology_kind] if isinstance(backend, Topologies) else [])]


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_the_operator_may_write_every_kind_that_a_backend_makes(backend: Backend) -> None:
    for kind in made(backend):
        assert allowed(kind) >= READ | WRITE, kind


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_the_operator_may_read_every_kind_that_a_backend_looks_up(backend: Backend) -> None:
    for kind in backend.reads if isinstance(backend, Reads) else ():
        assert allowed(kind) >= READ, kind
