"""Whether a PodCliqueSet, ClusterTopologyBinding or OperatorConfiguration makes sense.

Pure functions of (object, old object, what is known of the cluster). All problems are reported at once, each with the
field, its value, the rule and a remedy. The CRD's own checks (types, required fields, enums) come before these.
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
from grove.api.validation.startup import check_startup
from grove.api.validation.topology import check_topology, deprecations, repairs_topology
from grove.api.validation.updates import check_update

__all__ = ["Problem", "ValidationContext", "check_binding", "check_configuration", "validate"]


@dataclass(frozen=True)
class ValidationContext:
    """What is known of the cluster that a set is for. `topologies` is None where that cannot be known, as offline.

    `serves` says whether a schedulerName is served; without it, the names that the configuration enables are.
    """

    configuration: OperatorConfiguration = field(default_factory=OperatorConfiguration)
    topologies: Mapping[str, ClusterTopologyBinding] | None = None
    serves: Callable[[str], bool] | None = None


def validate(
    pcs: PodCliqueSet, old: PodCliqueSet | None = None, known: ValidationContext | None = None
) -> list[Problem]:
    """Every problem of a set, defaults applied first. `old` is what an update would replace.

    A set that is being deleted has none, and a set whose spec is not changed none in its spec: whatever is wrong with
    it, its finalizer must come off, and its labels must stay editable.
    """
    known = known or ValidationContext()
    if pcs.metadata.deletion_timestamp is not None:
        return []
    new = with_defaults(pcs)
    before = with_defaults(_equally_open(old, pcs)) if old is not None else None
    problems = list(check_metadata(new.metadata))
    if before is not None and encode(new.spec) == encode(before.spec):
        return problems
    configuration = known.configuration
    problems += check_bounds(new.spec, ("spec",))
    problems += _check_termination_delay(new)
    problems += check_cliques(new)
    problems += check_groups(new)
    problems += check_hostnames(new)
    problems += check_startup(new)
    problems += check_pod_specs(new, creating=before is None)
    problems += check_scheduler(new, configuration.scheduler, known.serves)
    problems += check_sharing(new)
    problems += check_collisions(new)
    problems += check_mnnvl(new, enabled=configuration.network.auto_mnnvl_enabled)
    problems += deprecations(new)
    if before is None or repairs_topology(new, before):
        enabled = configuration.topology_aware_scheduling.enabled
        problems += check_topology(new, enabled=enabled, topologies=known.topologies)
    if before is not None:
        problems += check_update(new, before)
    return problems


def _equally_open(old: PodCliqueSet, new: PodCliqueSet) -> PodCliqueSet:
    """The old set, where a minimum that both leave open means the same in both, whatever the replicas."""
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
