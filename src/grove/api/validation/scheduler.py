"""Rules for the scheduler of a set: all cliques name the same one, and it is enabled or overridden by annotation."""

from collections.abc import Callable, Iterator

from grove.api import labels
from grove.api.config import Schedulers
from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.cliques import PATH
from grove.api.validation.podspec import scheduler_name
from grove.api.validation.problem import Problem, invalid, unsupported


def check_scheduler(
    pcs: PodCliqueSet, schedulers: Schedulers, serves: Callable[[str], bool] | None = None
) -> Iterator[Problem]:
    """`serves` says whether a backend serves the name; without it, the enabled profiles decide."""
    cliques = pcs.spec.template.cliques
    wanted = [scheduler_name(c.spec.pod_spec) or schedulers.default_profile_name for c in cliques]
    if not wanted:
        return
    path = (*PATH, 0, "spec", "podSpec", "schedulerName")
    if len(set(wanted)) > 1:
        listed = ", ".join(f"{c.name} uses {w}" for c, w in zip(cliques, wanted, strict=True))
        yield invalid(
            path,
            wanted[0],
            f"all cliques of a set must use one scheduler, since one scheduler places a gang: {listed}",
            "write the same schedulerName in every clique (the default is "
            f"{schedulers.default_profile_name})",
        )
        return
    if pcs.metadata.annotations.get(labels.SCHEDULER_BACKEND):
        return  # the annotation decides the pods' schedulerName too; the registry rejects a backend that is not enabled
    if not (serves(wanted[0]) if serves is not None else schedulers.profile_for(wanted[0])):
        yield unsupported(
            path,
            wanted[0],
            list(schedulers.enabled),
            "use one of these, or enable a profile for it in the operator's configuration (scheduler.profiles)",
        )
