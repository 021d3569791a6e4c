"""What a PodCliqueSet consists of, computed once per version of the set and shared by all plans.

A layout answers the questions that every plan asks: which cliques are standalone and which belong to a scaling group,
what their template hashes are, which topology they name, which clique starts after which. It holds no observed state.
"""

from dataclasses import dataclass
from functools import cached_property

import msgspec

from grove.api import labels, names
from grove.api.defaults import with_defaults
from grove.api.meta import OwnerReference, Resource
from grove.api.podcliqueset import Clique, PodCliqueSet, ScalingGroup
from grove.api.validation.podspec import scheduler_name
from grove.api.validation.topology import placed_constraints
from grove.plan.layout.template_hash import generation_hash, template_hash


@dataclass(frozen=True)
class Group:
    """A scaling group with the cliques that it scales, in the order of `cliqueNames`."""

    template: ScalingGroup
    cliques: tuple[Clique, ...]

    @property
    def name(self) -> str:
        return self.template.name

    @property
    def min_available(self) -> int:
        return self.template.min_available

    @property
    def pods_per_copy(self) -> int:
        return sum(c.spec.replicas for c in self.cliques)


class SetLayout:
    """`pcs` must be valid. The layout keeps it with its defaults filled in."""

    def __init__(self, pcs: PodCliqueSet) -> None:
        self.pcs = with_defaults(pcs)
        self.name = pcs.metadata.name or ""
        self.namespace = pcs.metadata.namespace or "default"
        self.replicas = self.pcs.spec.replicas
        self.labels = labels.of_set(self.name)
        """The labels of every object that belongs to the set."""
        self.open_minimums = {c.name for c in pcs.spec.template.cliques if c.spec.min_available is None}
        """The cliques for which the user set no `minAvailable`."""
        template = self.pcs.spec.template
        self.cliques = {c.name: c for c in template.cliques}
        self.groups = tuple(
            Group(g, tuple(self.cliques[n] for n in g.clique_names))
            for g in template.pod_clique_scaling_groups
        )
        self.group_of = {c.name: g for g in self.groups for c in g.cliques}
        self.standalone = tuple(c for c in template.cliques if c.name not in self.group_of)

    @cached_property
    def owner(self) -> OwnerReference:
        return owner_reference(self.pcs)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The template hash of each clique."""
        return {name: template_hash(c) for name, c in self.cliques.items()}

    @cached_property
    def generation_hash(self) -> str:
        return generation_hash(self.pcs.spec.template)

    @cached_property
    def finishing(self) -> frozenset[str]:
        """The cliques whose pods end by themselves: their restart policy is not Always."""
        policies = {name: msgspec.json.decode(c.spec.pod_spec) for name, c in self.cliques.items()}
        return frozenset(name for name, spec in policies.items() if spec.get("restartPolicy") != "Always")

    @cached_property
    def scheduler_name(self) -> str:
        """The pods' `schedulerName`; empty if they set none. Validation made sure that all cliques agree."""
        return next((n for c in self.cliques.values() if (n := scheduler_name(c.spec.pod_spec))), "")

    @cached_property
    def topology_name(self) -> str | None:
        """The topology that the set names. Validation made sure that all its constraints agree."""
        return next(
            (p.constraint.topology_name for p in placed_constraints(self.pcs) if p.constraint.topology_name),
            None,
        )

    @cached_property
    def shares_claims(self) -> bool:
        """Whether pods share resource claims, at any level."""
        return (
            bool(self.pcs.spec.template.resource_sharing)
            or any(g.template.resource_sharing for g in self.groups)
            or any(c.resource_sharing for c in self.cliques.values())
        )

    @property
    def starts_in_order(self) -> bool:
        """Whether a clique waits for another one. If so, the set needs the objects of `grove.plan.objects.access`."""
        return any(self._parents(c) for c in self.cliques.values())

    def starts_after(self, clique: Clique, i: int, j: int | None) -> list[str]:
        """The names of the PodCliques that a clique waits for, in replica i of the set and copy j of its group.

        In a base gang a clique waits for its parent in every copy that belongs to the gang. In a scaled gang it waits
        only for the parent in its own copy: the base gang is running by then. A clique never waits for another gang's.
        """
        own = self.group_of.get(clique.name)
        scaled = own is not None and j is not None and j >= own.min_available
        found: list[str] = []
        for parent in self._parents(clique):
            group = self.group_of.get(parent)
            if scaled:
                if group is own and j is not None and own is not None:
                    found.append(
                        names.clique_in_group(names.scaling_group(self.name, i, own.name), j, parent)
                    )
            elif group is None:
                found.append(names.clique(self.name, i, parent))
            else:
                full = names.scaling_group(self.name, i, group.name)
                found += [names.clique_in_group(full, k, parent) for k in range(group.min_available)]
        return found

    def _parents(self, clique: Clique) -> list[str]:
        match self.pcs.spec.template.clique_startup_type:
            case "CliqueStartupTypeInOrder":
                order = list(self.cliques)
                position = order.index(clique.name)
                return [order[position - 1]] if position else []
            case "CliqueStartupTypeExplicit":
                return clique.spec.starts_after
            case _:
                return []


def owner_reference(owner: Resource) -> OwnerReference:
    """An owner reference that makes `owner` the controller of the object that carries it."""
    meta = owner.metadata
    return OwnerReference(
        api_version=owner.resource.api_version,
        kind=owner.resource.kind,
        name=meta.name or "",
        uid=meta.uid or "",
        controller=True,
        block_owner_deletion=True,
    )
