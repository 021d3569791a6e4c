"""Runs the plan and the scheduler backends on the objects of manifests instead of a cluster's.

Without a cluster, every scheduler counts as installed, in its newest version. A topology or claim template that a set
refers to must be among the manifests; if it is not, the objects that depend on it are left out, and `notes` says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from grove import __version__
from grove.api import labels
from grove.api.config import OperatorConfiguration
from grove.api.meta import Resource
from grove.api.podcliqueset import PodCliqueSet
from grove.api.serialization import codec
from grove.api.topology import ClusterTopologyBinding
from grove.cli.output import CommandError, Exit
from grove.plan.gangs.membership import GangMembers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects import startup
from grove.plan.objects.claims import TemplateRef, external_templates, is_shared_with
from grove.plan.render import ScheduledGang, SetParts, Sizes, build_gang, lay_out, render
from grove.schedulers.backend import Backend
from grove.schedulers.pod_drafts import draft_pods
from grove.schedulers.recorded_dialect import with_dialect
from grove.schedulers.registry import ConfigurationError, Registry, Selection, SelectionError
from grove.schedulers.types import Refusal, Served

Json = dict[str, Any]
R = TypeVar("R", bound=Resource)


class Offline:
    """`values` are the objects of the manifests, of any kind; they must have passed `manifests.check`."""

    def __init__(self, values: Iterable[Any], configuration: OperatorConfiguration) -> None:
        found = list(values)
        self.sets = _of_kind(found, PodCliqueSet)
        self.notes: list[str] = []
        self._topologies = {b.metadata.name: b for b in _of_kind(found, ClusterTopologyBinding)}
        self._claim_templates = dict(_claim_templates(found))
        self._configuration = configuration
        try:
            self._registry = Registry(configuration.scheduler)
        except ConfigurationError as e:
            raise CommandError(str(e), "correct scheduler.profiles in the configuration", Exit.USAGE) from e

    def render(self, sizes: Sizes) -> list[Json]:
        """The objects of all sets. Raises CommandError if no backend serves a set, or its backend refuses it."""
        try:
            return [o for pcs in self.sets for o in self._render(pcs, sizes)]
        except (SelectionError, Refusal) as e:
            raise CommandError(str(e)) from e

    def _render(self, pcs: PodCliqueSet, sizes: Sizes) -> list[Json]:
        parts = lay_out(pcs, sizes)
        layout = parts.layout
        selection = self._registry.select(layout)
        backend, topology = selection.backend, self._topology(layout)
        _check(backend, layout)
        self._note_missing(layout)
        return render(
            parts,
            [_scheduled(selection, topology, parts, members) for members in parts.gang_members],
            init_image=f"{startup.IMAGE}:{__version__}",
            gates=self._registry.gates,
            templates=self._templates(layout),
            claim_labels=backend.claim_labels(layout.pcs),
        )

    def _topology(self, layout: SetLayout) -> ClusterTopologyBinding | None:
        enabled = self._configuration.topology_aware_scheduling.enabled
        return self._topologies.get(layout.topology_name) if enabled else None

    def _note_missing(self, layout: SetLayout) -> None:
        topology = layout.topology_name
        if topology is not None and topology not in self._topologies:
            self.notes.append(
                f"{layout.name}: the ClusterTopologyBinding {topology} is not among the files, so "
                "the gangs have no topology constraints here"
            )
        usable = self._templates(layout)
        for missing in external_templates(layout):
            if missing not in usable:
                why = (
                    f"is not shared with namespace {layout.namespace} ({labels.SHARED_WITH_NAMESPACES})"
                    if missing in self._claim_templates
                    else "is not among the files"
                )
                self.notes.append(
                    f"{layout.name}: the ResourceClaimTemplate {missing.namespace}/{missing.name} {why}, so its "
                    "claims are left out"
                )

    def _templates(self, layout: SetLayout) -> dict[TemplateRef, Json]:
        """The claim specs of the templates that the set may use."""
        found = self._claim_templates.items()
        return {r: spec for r, (spec, notes) in found if is_shared_with(layout.namespace, r, notes)}


def _scheduled(
    selection: Selection, topology: ClusterTopologyBinding | None, parts: SetParts, members: GangMembers
) -> ScheduledGang:
    """The gang as planned, with the pods and the scheduler's objects that its backend makes of it."""
    backend = selection.backend
    served = _everything(backend)
    gang = build_gang(parts, members, selection.scheduling(parts.layout, members, topology))
    spoken = with_dialect(gang, backend.dialect(gang, (), served)) if backend.has_dialects else gang
    drafts = {g.name: draft_pods(backend, spoken, g, selection.scheduler_name) for g in gang.spec.pod_groups}
    objects = [o.owned_by(gang) for o in backend.translate(spoken, served)]
    return ScheduledGang(gang, drafts, objects)


class _Everything(frozenset[str]):
    """The fields that an API server serves for a kind: all, whatever the caller asks for."""

    def __contains__(self, path: object) -> bool:
        return True


def _everything(backend: Backend) -> Served:
    return Served(
        fields={kind: _Everything() for kind in backend.kinds}, kept=frozenset(p.name for p in backend.probes)
    )


def _check(backend: Backend, layout: SetLayout) -> None:
    errors = [p for p in backend.validate(layout.pcs) if not p.warning]
    if errors:
        text = "; ".join(str(e) for e in errors)
        raise CommandError(f"{layout.name}: {text}", "; ".join(e.remedy for e in errors if e.remedy))


def _of_kind(values: list[Any], kind: type[R]) -> list[R]:
    wanted = (kind.resource.api_version, kind.resource.kind)
    return [
        codec.decode(codec.encode(v), kind)
        for v in values
        if isinstance(v, Mapping) and (v.get("apiVersion"), v.get("kind")) == wanted
    ]


def _claim_templates(values: list[Any]) -> Iterator[tuple[TemplateRef, tuple[Json, dict[str, str]]]]:
    for value in values:
        if isinstance(value, Mapping) and value.get("kind") == "ResourceClaimTemplate":
            meta = value.get("metadata") or {}
            spec = (value.get("spec") or {}).get("spec") or {}
            yield (
                TemplateRef(meta.get("namespace") or "default", meta.get("name", "")),
                (spec, meta.get("annotations") or {}),
            )
