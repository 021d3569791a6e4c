"""Rules for pod templates, as far as gangs need them. The API server validates the rest when a pod is created."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.cliques import PATH
from grove.api.validation.problem import Problem, duplicate, forbidden, invalid, warning
from grove.schema.errors import Path
from grove.schema.name_syntax import is_env_name


class _NamedEntry(msgspec.Struct):
    name: str = ""


class _TemplateResources(msgspec.Struct):
    limits: dict[str, Raw] | None = None
    requests: dict[str, Raw] | None = None
    claims: list[_NamedEntry] | None = None


class _TemplateContainer(msgspec.Struct):
    name: str = ""
    env: list[_NamedEntry] | None = None
    resources: _TemplateResources | None = None


class PodSpecView(msgspec.Struct, rename="camel"):
    """The fields of a pod template that Grove reads or extends."""

    scheduler_name: str | None = None
    node_name: str | None = None
    priority_class_name: str | None = None
    topology_spread_constraints: list[Raw] | None = None
    scheduling_gates: list[_NamedEntry] | None = None
    containers: list[_TemplateContainer] | None = None
    init_containers: list[_TemplateContainer] | None = None
    volumes: list[Raw] | None = None
    resource_claims: list[_NamedEntry] | None = None


def view(pod_spec: Raw) -> PodSpecView:
    """Raises msgspec.ValidationError for a template that is not a PodSpec."""
    return msgspec.json.decode(pod_spec, type=PodSpecView)


def scheduler_name(pod_spec: Raw) -> str:
    """The schedulerName of a template; empty if it has none or is not a PodSpec."""
    try:
        return view(pod_spec).scheduler_name or ""
    except msgspec.ValidationError:
        return ""


def check_pod_specs(pcs: PodCliqueSet, *, creating: bool) -> Iterator[Problem]:
    for i, clique in enumerate(pcs.spec.template.cliques):
        path = (*PATH, i, "spec", "podSpec")
        try:
            found = view(clique.spec.pod_spec)
        except msgspec.ValidationError as e:
            yield invalid(path, "...", f"this is not a PodSpec: {e}", "write it as the spec of a Pod")
            continue
        if creating:
            yield from _check_placement(found, path)
        for field, containers in (
            ("containers", found.containers),
            ("initContainers", found.init_containers),
        ):
            for k, container in enumerate(containers or []):
                yield from _check_env(container, (*path, field, k, "env"))


def _check_placement(found: PodSpecView, path: Path) -> Iterator[Problem]:
    if found.topology_spread_constraints:
        yield forbidden(
            (*path, "topologySpreadConstraints"),
            "spreading pods works against placing them as a gang",
            "remove it, and use topologyConstraint",
        )
    if found.node_name:
        yield forbidden(
            (*path, "nodeName"),
            "a pod with a node bypasses the scheduler",
            "remove it, and use nodeSelector or affinity",
        )


def _check_env(container: _TemplateContainer, path: Path) -> Iterator[Problem]:
    seen: set[str] = set()
    for n, env in enumerate(container.env or []):
        here = (*path, n, "name")
        if not is_env_name(env.name):
            yield invalid(
                here,
                env.name,
                "is not the name of an environment variable",
                "use printable ASCII without '='",
            )
        elif env.name in seen:
            yield duplicate(
                here, env.name, "the variable is set twice in this container", "remove one of them"
            )
        elif env.name.startswith("GROVE_"):
            yield warning(
                here, env.name, "Grove may set this variable itself", "choose a name without GROVE_"
            )
        seen.add(env.name)
