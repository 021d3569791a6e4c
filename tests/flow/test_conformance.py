"""Every backend that comes with Grove passes the scenarios that it gives to others, on the embedded cluster: within the
operator, and as a process of its own."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest
from grove_sandbox.flow import BackendFlow
from grove_sandbox.schedulers.catalog import CATALOG
from grove_sandbox.schedulers.policy import Policy

from grove.api.config import SchedulerProfile, Schedulers
from grove.schedulers.kai import Kai
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import ENTRY_POINT_GROUP, Factory, Registry
from grove.schedulers.volcano import Volcano
from grove.schedulers.yunikorn import YuniKorn

Json = dict[str, Any]
Make = Callable[[], Policy] | None


UNLIMITED = {k: {"limit": -1, "quota": -1} for k in ("cpu", "memory", "gpu")}


def queue(api_version: str, name: str, **spec: Any) -> tuple[str, Json]:
    body = {"apiVersion": api_version, "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    return f"/apis/{api_version}/queues", body


class TestKubernetes137(BackendFlow):
    factory: ClassVar[Factory] = Kubernetes


class TestKubernetes135(BackendFlow):
    factory: ClassVar[Factory] = Kubernetes
    cluster: ClassVar[Json] = {"dialect": "1.35"}


class TestKai(BackendFlow):
    factory: ClassVar[Factory] = Kai
    definitions = CATALOG["kai"].definitions()
    policy: ClassVar[Make] = CATALOG["kai"].make
    prerequisites = (
        queue("scheduling.run.ai/v2", "parent", resources=UNLIMITED),
        *(
            queue("scheduling.run.ai/v2", name, resources=UNLIMITED, parentQueue="parent")
            for name in ("default-queue", "team-a", "team-b")
        ),
    )
    queue_tag = ("labels", "kai.scheduler/queue")


class TestVolcano(BackendFlow):
    factory: ClassVar[Factory] = Volcano
    definitions = CATALOG["volcano"].definitions()
    policy: ClassVar[Make] = CATALOG["volcano"].make
    prerequisites = tuple(
        queue("scheduling.volcano.sh/v1beta1", name, weight=1) for name in ("team-a", "team-b")
    )
    queue_tag = ("annotations", "scheduling.grove.io/volcano-queue")


class TestKoordinator(BackendFlow):
    factory: ClassVar[Factory] = Koordinator
    definitions = CATALOG["koordinator"].definitions()
    policy: ClassVar[Make] = CATALOG["koordinator"].make


class TestYuniKorn(BackendFlow):
    factory: ClassVar[Factory] = YuniKorn
    policy: ClassVar[Make] = CATALOG["yunikorn"].make


class TestKubernetesApart(TestKubernetes137):
    separate = True


class TestKaiApart(TestKai):
    separate = True


class TestVolcanoApart(TestVolcano):
    separate = True


class TestKoordinatorApart(TestKoordinator):
    separate = True


class TestYuniKornApart(TestYuniKorn):
    separate = True


EXAMPLE = Path(__file__).parents[2] / "examples" / "third-party-backend"


def test_the_example_of_a_third_party_passes_its_own_tests() -> None:
    """In a process of its own, as its author runs them, but not installed."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests"],
        cwd=EXAMPLE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]


def test_the_example_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((name, target),) = project["entry-points"][ENTRY_POINT_GROUP].items()
    module, _, attribute = target.partition(":")
    factory: Factory = getattr(import_module(module), attribute)
    profile = SchedulerProfile(name="flock-scheduler")
    registry = Registry(Schedulers(profiles=[profile]), {"default": Kubernetes, name: factory})
    assert {b.name for b in registry.backends} == {"default", "flock"}
