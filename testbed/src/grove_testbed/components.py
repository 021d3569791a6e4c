"""What can be built: one line per binary; one wrapper Go module per component and version.

A wrapper module holds no code. Its ``go.mod`` pins the version, repeats the replacements that the
component's own ``go.mod`` has (Go ignores those of a dependency) and names the programs as tools, so that
``go mod tidy`` keeps ``go.sum`` complete.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
DEFAULT_K8S = "1.37"

# program -> (wrapper module, Go package)
PROGRAMS = {
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": ("kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kubectl": ("kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    "kubelet": ("kubernetes", "k8s.io/kubernetes/cmd/kubelet"),
    "kube-proxy": ("kubernetes", "k8s.io/kubernetes/cmd/kube-proxy"),
    "coredns": ("coredns", "github.com/coredns/coredns"),
    "vc-scheduler": ("volcano", "volcano.sh/volcano/cmd/scheduler"),
    "vc-controller-manager": ("volcano", "volcano.sh/volcano/cmd/controller-manager"),
    "koord-scheduler": ("koordinator", "github.com/koordinator-sh/koordinator/cmd/koord-scheduler"),
    "yunikorn-scheduler": ("yunikorn", "github.com/apache/yunikorn-k8shim/pkg/cmd/shim"),
    "kai-scheduler": ("kai", "github.com/NVIDIA/KAI-scheduler/cmd/scheduler"),
    "kai-binder": ("kai", "github.com/NVIDIA/KAI-scheduler/cmd/binder"),
}

# Names that stand for several programs.
GROUPS = {
    "control-plane": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    "node": ("kubelet", "kube-proxy", "coredns"),
    "volcano": ("vc-scheduler", "vc-controller-manager"),
    "koordinator": ("koord-scheduler",),
    "yunikorn": ("yunikorn-scheduler",),
    "kai": ("kai-scheduler", "kai-binder"),
}


class UnknownComponentError(LookupError):
    """No such program, or no wrapper module for that version of it."""


@dataclass(frozen=True)
class Component:
    """One program at one version."""

    name: str
    version: str
    module: Path
    package: str

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def ldflags(self) -> str:
        """Strips symbols, and stamps the version that Kubernetes programs report and gate features by."""
        flags = ["-s", "-w"]
        if self.module.parent.name == "kubernetes":
            major, minor, _ = self.version.removeprefix("v").split(".")
            stamp = {
                "gitVersion": self.version,
                "gitMajor": major,
                "gitMinor": minor,
                "gitTreeState": "clean",
            }
            for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
                flags += [f"-X {package}.{name}={value}" for name, value in stamp.items()]
        return " ".join(flags)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with whatever changes the binary: the wrapper module and the way it is built."""
        digest = hashlib.sha256()
        for name in ("go.mod", "go.sum"):
            digest.update((self.module / name).read_bytes())
        digest.update(f"{self.package} {self.ldflags}".encode())
        return digest.hexdigest()[:12]


def versions(name: str) -> list[str]:
    """The versions of a program that can be built, newest first."""
    if name not in PROGRAMS:
        raise UnknownComponentError(
            f"{name} is not a component; there are: {', '.join([*PROGRAMS, *GROUPS])}"
        )
    folder = MODULES / PROGRAMS[name][0]
    return sorted((entry.name for entry in folder.iterdir()), key=_order, reverse=True)


def component(name: str, version: str = "") -> Component:
    """A program at the newest version that begins with ``version``: "1.36", "v1.36.4", or "" for any."""
    wanted = "v" + version.removeprefix("v")
    for found in versions(name):
        if not version or found == wanted or found.startswith(f"{wanted}."):
            module, package = PROGRAMS[name]
            return Component(name, found, MODULES / module / found, package)
    raise UnknownComponentError(f"{name} {version} cannot be built; there are: {', '.join(versions(name))}")


def component_for(program: str, k8s: str) -> Component:
    """A program for a cluster of this Kubernetes: one of Kubernetes' own at that version, any other at its newest."""
    return component(program, k8s if PROGRAMS[program][0] == "kubernetes" else "")


def select(spec: str) -> list[Component]:
    """The components of ``NAME`` or ``NAME@VERSION``; NAME is a program or a group.

    The version of the control plane and of a node is that of Kubernetes; etcd and CoreDNS have only one.
    """
    name, _, version = spec.partition("@")
    if name not in GROUPS:
        return [component(name, version)]
    find = component_for if is_kubernetes(name) else component
    return [find(program, version) for program in GROUPS[name]]


def is_kubernetes(spec: str) -> bool:
    """Does this name, without a version, mean something that Kubernetes' version decides?"""
    programs = GROUPS.get(spec, (spec,))
    return any(PROGRAMS.get(program, ("",))[0] == "kubernetes" for program in programs)


def everything() -> list[Component]:
    return [component(name, version) for name in PROGRAMS for version in versions(name)]


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("."))
