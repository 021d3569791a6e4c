"""What of real nodes needs no machine: addresses, images, who lacks what, and what a killed run leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from grove_testbed.components import select
from grove_testbed.nodes import leftovers, requirements
from grove_testbed.nodes.addresses import MOST_NODES, SLOTS, TEST_NETWORK, Addresses
from grove_testbed.nodes.configuration import node_monitor_grace_seconds, pod_network
from grove_testbed.nodes.images import Image, write_archive
from grove_testbed.nodes.leftovers import Leftovers, Record, start_time, sweep

pytest_plugins = ["pytester"]


def networks(slot: int) -> list[IPv4Network]:
    addresses = Addresses(slot)
    pods = [addresses.pods(index) for index in range(MOST_NODES)]
    return [addresses.machines, addresses.services, *pods]


def test_no_two_clusters_share_an_address() -> None:
    every = [network for slot in range(SLOTS) for network in networks(slot)]
    assert all(network.subnet_of(TEST_NETWORK) for network in every)
    assert len({network.network_address for network in every}) == len(every)
    assert {network.prefixlen for network in every} == {24}


def test_the_addresses_of_a_cluster_are_in_its_networks() -> None:
    addresses = Addresses(3)
    machines = {addresses.control_plane, *(addresses.node(i) for i in range(MOST_NODES))}
    assert len(machines) == MOST_NODES + 1
    assert machines <= set(addresses.machines.hosts())
    assert {addresses.kubernetes_service, addresses.dns_service} <= set(addresses.services.hosts())


def test_a_node_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="room for 14 real nodes, not for 15"):
        Addresses(0).pods(MOST_NODES)


def test_pods_have_no_route_but_to_the_test_network() -> None:
    [plugin] = json.loads(pod_network(Addresses(0), 1))["plugins"]
    assert plugin["ipMasq"] is False
    assert plugin["ipam"]["routes"] == [{"dst": "198.18.0.0/15"}]


def test_many_fake_nodes_need_not_report_as_often() -> None:
    assert node_monitor_grace_seconds(3) < node_monitor_grace_seconds(1000)


def test_a_node_has_the_version_of_kubernetes_and_the_newest_dns() -> None:
    assert [c.title for c in select("node@1.36")] == [
        "kubelet v1.36.4",
        "kube-proxy v1.36.4",
        "coredns v1.15.0",
    ]


def manifests(archive: Path) -> dict[str, list[str]]:
    """The layers of every image in an archive, by its name."""
    with tarfile.open(archive) as file:

        def read(name: str) -> dict[str, object]:
            member = file.extractfile(name)
            assert member is not None
            found: dict[str, object] = json.load(member)
            return found

        index = read("index.json")
        found = {}
        for reference in index["manifests"]:  # type: ignore[attr-defined]
            manifest = read(f"blobs/{reference['digest'].replace(':', '/')}")
            layers = [layer["digest"] for layer in manifest["layers"]]  # type: ignore[attr-defined]
            found[reference["annotations"]["io.containerd.image.name"]] = layers
        assert len(file.getnames()) == len(set(file.getnames())), "a blob is there twice"
    return found


def test_images_of_one_archive_share_what_is_below_them(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    base = tmp_path / "base.tar"
    with tarfile.open(base, "w") as file:
        file.add(root, "usr")
    one = Image("registry.example/one:1", {"one": "1"}, ("/one",), base=base)
    two = Image("registry.example/two:1", {"two": "2"}, ("/two",), base=base)
    found = manifests(write_archive(tmp_path / "both.tar", one, two))
    assert list(found) == [one.name, two.name]
    assert found[one.name][0] == found[two.name][0]
    assert found[one.name][1] != found[two.name][1]


def test_an_image_can_stand_on_another(tmp_path: Path) -> None:
    below = write_archive(tmp_path / "below.tar", Image("registry.example/below:1", {"a": "1"}, ("/a",)))
    above = Image("registry.example/above:1", {"b": "2"}, ("/b",), base=below)
    [layers] = manifests(write_archive(tmp_path / "above.tar", above)).values()
    assert layers[:1] == manifests(below)["registry.example/below:1"]
    assert len(layers) == 2


def test_the_same_image_has_the_same_digest(tmp_path: Path) -> None:
    image = Image("registry.example/one:1", {"one": "1"}, ("/one",))
    first, second = (write_archive(tmp_path / name, image).read_bytes() for name in ("a.tar", "b.tar"))
    assert first == second


def test_who_is_not_root_is_told_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        requirements.MachineError, match=r"^real nodes cannot run here: they need root[^\n]*$"
    ):
        requirements.check()


def test_another_system_is_told_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(requirements.MachineError, match=r"need Linux, this is darwin$"):
        requirements.check()


def test_missing_packages_are_named_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requirements, "SEARCH_PATH", "/nowhere")
    monkeypatch.setattr(requirements, "_obstacle", lambda: "")
    with pytest.raises(
        requirements.MachineError, match=r"buildah, .*runc.* run: grove-testbed install-node-packages"
    ):
        requirements.check()


def test_packages_are_not_installed_where_there_is_no_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "missing_packages", lambda: ["runc"])
    monkeypatch.setattr(requirements, "_obstacle", lambda: "")
    monkeypatch.setattr("shutil.which", lambda program, path=None: None)
    with pytest.raises(
        requirements.MachineError, match="cannot install runc: no apt-get, this is not Debian"
    ):
        requirements.install(print)


CANNOT = """
import pytest
from grove_testbed import fixtures
from grove_testbed.nodes.requirements import MachineError

def refuse(*arguments, **options):
    raise MachineError("real nodes cannot run here: they need root")

@pytest.fixture
def nodes(request, k8s, monkeypatch):
    monkeypatch.setattr(fixtures.Cluster, "start", refuse)
    yield from fixtures.started(request, k8s, real_nodes=1)

def test_it(nodes): pass
"""


@pytest.mark.parametrize(("ci", "outcome"), [("", "skipped"), ("true", "errors")])
def test_what_nodes_lack_skips_a_test_and_fails_it_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str, outcome: str
) -> None:
    monkeypatch.setenv("CI", ci)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(CANNOT)
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines(["*real nodes cannot run here: they need root*"])


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No real cgroups and links, and a folder of its own for records."""
    monkeypatch.setattr(leftovers, "RECORDS", tmp_path / "records")
    monkeypatch.setattr("grove_testbed.nodes.cgroups.remove", lambda name, deadline: None)
    return tmp_path / "records"


def a_run(folder: Path) -> Leftovers:
    folder.mkdir()
    return Leftovers(str(folder), folder.name, "no-such-link")


def test_a_run_that_goes_on_is_not_swept(records: Path, tmp_path: Path) -> None:
    record = Record(a_run(tmp_path / "run"))
    assert sweep() == []
    assert (tmp_path / "run").exists()
    record.close()
    assert list(records.glob("*.json")) == []


@linux
def test_a_run_that_is_gone_is_swept_with_its_processes(records: Path, tmp_path: Path) -> None:
    left = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    run = a_run(tmp_path / "run")
    run.boxes = {str(left.pid): start_time(left.pid)}
    records.mkdir()
    (records / "run.json").write_text(json.dumps(run.__dict__))
    assert sweep() == [str(tmp_path / "run")]
    assert left.wait() == -9
    assert not (tmp_path / "run").exists()
    assert sweep() == []


@linux
def test_a_process_that_got_an_old_id_is_left_alone(records: Path, tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    run = a_run(tmp_path / "run")
    run.boxes = {str(other.pid): "1"}
    records.mkdir()
    (records / "run.json").write_text(json.dumps(run.__dict__))
    sweep()
    assert other.poll() is None
    other.kill()
    other.wait()
