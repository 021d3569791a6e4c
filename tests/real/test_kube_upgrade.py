"""A control plane is upgraded from 1.36 to 1.37 under a running gang, by the steps in docs/schedulers/kubernetes.md."""

from __future__ import annotations

import json

import pytest
from grove_testbed import flags
from grove_testbed.build import NotBuiltError
from grove_testbed.cluster import Cluster
from grove_testbed.results import note_use

from grove.api.serialization.crds import all_crds
from tests.flow import kube_scenarios as scenarios
from tests.flow.kube_scenarios import NODES, PODS, SETS
from tests.real.operating import furnish
from tests.real.test_kube_gangs import OBJECTS, RealLab, working

pytestmark = [pytest.mark.real, pytest.mark.scheduler("default"), pytest.mark.timeout(900)]


async def test_gangs_outlive_the_upgrade_of_the_control_plane(
    k8s: str, request: pytest.FixtureRequest
) -> None:
    if k8s != "1.37":
        pytest.skip("about the step from 1.36 to 1.37")
    try:
        with Cluster.start("1.36", scheduler="default", nodes=NODES, definitions=all_crds()) as plane:
            furnish(plane, *OBJECTS)
            note_use(request, plane)
            async with working(plane, "PodGroupV1alpha2") as lab:
                await lab.call("POST", SETS, scenarios.a_set("old", {"a": (2, 2), "b": (1, 1)}))
                await lab.until(lambda: scenarios.bound(lab, "old", 3))
                before = {p["metadata"]["uid"] for p in await scenarios.pods_of(lab, "old")}
            forget_groups(plane)
            upgrade(plane, "1.37")
            async with working(plane, "PodGroupV1beta1") as lab:
                await lab.until(lambda: is_written_in(lab, "old-0", "PodGroupV1beta1"))
                pods = await scenarios.pods_of(lab, "old")
                assert {p["metadata"]["uid"] for p in pods} == before
                await lab.call("DELETE", f"{PODS}/{pods[0]['metadata']['name']}")
                await lab.until(lambda: scenarios.count_is(lab, "old", 3))
                await lab.until(lambda: scenarios.bound(lab, "old", 3))
                await lab.call("POST", SETS, scenarios.a_set("new", {"a": (1, 1), "b": (1, 1)}))
                await lab.until(lambda: scenarios.bound(lab, "new", 2))
                assert await is_written_in(lab, "new-0", "CompositePodGroup")
                await scenarios.remove(lab, "old")
    except NotBuiltError as missing:
        pytest.skip(str(missing))


async def is_written_in(lab: RealLab, gang: str, dialect: str) -> bool:
    found = (await scenarios.items(lab, scenarios.GANGS))[gang]
    return bool(scenarios.condition(found, "SchedulerDialect")["reason"] == dialect)


def forget_groups(plane: Cluster) -> None:
    """While the operator is stopped: 1.37 cannot read what 1.36 wrote. The pods run on."""
    plane.kubectl("delete", "podgroups.scheduling.k8s.io", "--all", "--all-namespaces", "--wait=false")
    found = json.loads(
        plane.kubectl("get", "podgroups.scheduling.k8s.io", "--all-namespaces", "--output=json")
    )
    for group in found["items"]:
        name, namespace = group["metadata"]["name"], group["metadata"]["namespace"]
        plane.kubectl(
            "patch",
            f"podgroups.scheduling.k8s.io/{name}",
            f"--namespace={namespace}",
            "--type=merge",
            '--patch={"metadata":{"finalizers":null}}',
        )
    plane.kubectl("delete", "workloads.scheduling.k8s.io", "--all", "--all-namespaces")


def upgrade(plane: Cluster, minor: str) -> None:
    for name in ("kube-scheduler", "kube-controller-manager", "kube-apiserver"):
        plane.processes[name].stop()
    plane.k8s = minor
    arguments = flags.kube_apiserver(
        minor, plane.folder, plane.port, plane.etcd_port, controllers=True, skip_admission=()
    )
    plane._start("kube-apiserver", arguments)
    plane.wait_until_ready()
    plane.start_controllers()
    plane.start_scheduler("default")
