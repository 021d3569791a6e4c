"""Rules for ClusterTopologyBindings: no level twice, only enabled schedulers."""

from grove.api.config import OperatorConfiguration
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.metadata import check_metadata
from grove.api.validation.problem import Problem, duplicate, unsupported
from grove.schema.errors import Path


def check_binding(binding: ClusterTopologyBinding, configuration: OperatorConfiguration) -> list[Problem]:
    spec = binding.spec
    levels: Path = ("spec", "levels")
    problems = list(check_metadata(binding.metadata))
    for name in ("domain", "key"):
        found = [getattr(level, name) for level in spec.levels]
        problems += [
            duplicate(
                (*levels, i, name), v, f"another level has this {name} too", f"give each level its own {name}"
            )
            for i, v in enumerate(found)
            if v in found[:i]
        ]
    bindings: Path = ("spec", "schedulerTopologyBindings")
    enabled = configuration.scheduler.enabled
    names = [b.scheduler_name for b in spec.scheduler_topology_bindings]
    for i, name in enumerate(names):
        path = (*bindings, i, "schedulerName")
        if name in names[:i]:
            problems.append(
                duplicate(path, name, "this scheduler is bound already", "remove one of the entries")
            )
        elif name not in enabled:
            problems.append(
                unsupported(
                    path, name, list(enabled), "use an enabled scheduler, or enable a profile for this one"
                )
            )
    return problems
