"""`grove render` with each of Grove's own backends prints their objects for the newest release of their scheduler."""

import json
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from grove.cli.main import app
from grove.schedulers.installed import built_in
from tests.unit.api.sets import clique, pcs_json

Json = dict[str, Any]

BACKENDS = {name: factory({}) for name, factory in built_in().items()}
OBJECTS = {
    "default": {"Workload", "CompositePodGroup", "PodGroup"},
    "kai": {"PodGroup"},
    "koordinator": {"PodGroup"},
    "volcano": {"PodGroup"},
    "yunikorn": set[str](),
}


def rendered(given: Json, *args: str) -> list[Json]:
    found = CliRunner().invoke(app, ["render", "-f", "-", "-o", "json", *args], input=yaml.dump(given))
    assert (found.exit_code, found.exception) == (0, None), found.output
    made: list[Json] = json.loads(found.stdout)
    return made


def a_set(backend: str, **worker: Any) -> Json:
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    pod = {"containers": [container], "schedulerName": BACKENDS[backend].scheduler_name}
    cliques = [clique("router", podSpec=pod, replicas=1), clique("worker", podSpec=pod, replicas=3, **worker)]
    return pcs_json(*cliques, podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["worker"]}])


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_every_backend_validates_the_set(name: str) -> None:
    found = rendered(a_set(name), "--replicas", "2", "--scale", "g=3")
    pods = [o for o in found if o["kind"] == "Pod"]
    assert len(pods) == 2 * (1 + 3 * 3)
    assert {g["name"] for p in pods for g in p["spec"]["schedulingGates"]} == {BACKENDS[name].gate}
    ours = {"PodCliqueSet", "PodClique", "PodCliqueScalingGroup", "PodGang", "Pod", "Service"}
    assert {o["kind"] for o in found} - ours == OBJECTS[name]
    assert not any("status" in o for o in found)


def test_surplus_pods_have_their_own_draft_if_the_backend_splits_groups() -> None:
    pods = [o for o in rendered(a_set("default", minAvailable=2)) if o["kind"] == "Pod"]
    workers = [p for p in pods if "worker" in p["metadata"]["name"]]
    assert ["schedulingGroup" in p["spec"] for p in workers] == [True, True, False]
