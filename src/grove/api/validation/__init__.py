"""Validates PodCliqueSets, ClusterTopologyBindings and the operator's configuration.

Pure functions of the object, the old object and the context. They report all problems at once, each with field, value,
rule and remedy, and assume that the CRD's checks (types, required fields, enums) have passed.

    metadata, bounds, size, cliques, groups, hostnames, startup, podspec,
    scheduler, sharing, collisions, mnnvl, topology                    rules for one part of a set each
    updates, immutable                                                 rules for updates of a set
    binding, configuration                                             rules for the other two kinds
    problem, syntax                                                    what the rules share
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from grove.api.config import OperatorConfiguration
from grove.api.defaults import with_defaults
from grove.api.podcliqueset import PodCliqueSet
from grove.api.serialization.codec import encode
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.binding import check_binding
from grove.api.validation.bounds import check_bounds
from grove.api.validation.cliques import check_cliques
from grove.api.validation.collisions import check_collisions
from grove.api.validation.configuration import check_configuration
from grove.api.validation.groups import check_groups
from grove.api.validation.hostnames import check_hostnames
from grove.api.validation.metadata import check_metadata
from grove.api.validation.mnnvl import check_mnnvl
from grove.api.validation.podspec import check_pod_specs
from grove.api.validation.problem import Problem, invalid
from grove.api.validation.scheduler import check_scheduler
from grove.api.validation.sharing import check_sharing
from grove.api.validation.size import check_size
from grove.api.validation.startup import check_startup
from grove.api.validation.topology import check_topology, deprecations, repairs_topology
from grove.api.validation.updates import check_update

__all__ = ["Problem", "ValidationContext", "check_binding", "check_configuration", "validate"]


@dataclass(frozen=True)
class ValidationContext:
    """The cluster that a set is validated for. `topologies` is None if they are not known, as offline.

    `serves` says whether a backend serves a schedulerName; without it, the enabled profiles decide.
    """

    configuration: OperatorConfiguration = field(default_factory=OperatorConfiguration)
    topologies: Mapping[str, ClusterTopologyBinding] | None = None
    serves: Callable[[str], bool] | None = None


def validate(
    pcs: PodCliqueSet, old: PodCliqueSet | None = None, context: ValidationContext | None = None
) -> list[Problem]:
    """Every problem of a set, after defaulting. `old` is the stored version that an update replaces.

    A set that is being deleted is not validated, so that its finalizer can be removed. An unchanged spec is not
    validated again, so that labels stay editable after the configuration made the set invalid.
    """
    context = context or ValidationContext()
    if pcs.metadata.deletion_timestamp is not None:
        return []
    new = with_defaults(pcs)
    before = with_defaults(_with_same_open_minimums(old, pcs)) if old is not None else None
    problems = list(check_metadata(new.metadata))
    if before is not None and encode(new.spec) == encode(before.spec):
        return problems
    configuration = context.configuration
    problems += check_bounds(new.spec, ("spec",))
    problems += check_size(new, configuration.max_pods_per_set)
    problems += _check_termination_delay(new)
    problems += check_cliques(new)
    problems += check_groups(new)
    problems += check_hostnames(new)
    problems += check_startup(new)
    problems += check_pod_specs(new, creating=before is None)
    problems += check_scheduler(new, configuration.scheduler, context.serves)
    problems += check_sharing(new)
    problems += check_collisions(new)
    problems += check_mnnvl(new, enabled=configuration.network.auto_mnnvl_enabled)
    problems += deprecations(new)
    if before is None or repairs_topology(new, before):
        enabled = configuration.topology_aware_scheduling.enabled
        problems += check_topology(new, enabled=enabled, topologies=context.topologies)
    if before is not None:
        problems += check_update(new, before)
    return problems


def _with_same_open_minimums(old: PodCliqueSet, new: PodCliqueSet) -> PodCliqueSet:
    """The old set with the new defaults for every minAvailable that both sets leave open: it did not change."""
    sizes = {c.name: c.spec.replicas for c in new.spec.template.cliques if c.spec.min_available is None}
    cliques = [
        replace(c, spec=replace(c.spec, min_available=sizes[c.name] or 1))
        if c.spec.min_available is None and c.name in sizes
        else c
        for c in old.spec.template.cliques
    ]
    return replace(old, spec=replace(old.spec, template=replace(old.spec.template, cliques=cliques)))


def _check_termination_delay(pcs: PodCliqueSet) -> Iterator[Problem]:
    delay = pcs.spec.template.termination_delay
    if delay is not None and delay.nanoseconds <= 0:
        path = ("spec", "template", "terminationDelay")
        yield invalid(
            path, delay, "must be more than 0", "remove it for the default of 4h, or write for example 30m"
        )
