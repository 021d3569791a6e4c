"""Warns of valid names that make invalid hostnames or Services.

The hostname of a pod contains the names of its set, group and clique; the name of a Service begins with the name of the
set. Names of objects may contain dots, hostnames and Services may not; and up to Kubernetes 1.35 the name of a Service
must begin with a letter. The reference accepts such sets, so these are warnings. If the API server then refuses the
pods or the Service, the set's status says so.
"""

from collections.abc import Iterator

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.cliques import set_name
from grove.api.validation.groups import PATH as GROUPS
from grove.api.validation.problem import Problem, warning
from grove.api.validation.syntax import suggest_name
from grove.schema.errors import Path
from grove.schema.name_syntax import is_dns_subdomain


def check_hostnames(pcs: PodCliqueSet) -> Iterator[Problem]:
    template = pcs.spec.template
    own, path = set_name(pcs)
    yield from _check_dots(own, path)
    if is_dns_subdomain(own) and own[0].isdigit():
        yield warning(
            path,
            own,
            "the headless Services of the set begin with its name, and Kubernetes up to 1.35 refuses Services that "
            "begin with a digit: pods do not find each other by name there",
            f"begin with a letter: {suggest_name(f'set-{own}')!r}",
        )
    for i, group in enumerate(template.pod_clique_scaling_groups):
        yield from _check_dots(group.name, (*GROUPS, i, "name"))
    for i, clique in enumerate(template.cliques):
        yield from _check_dots(clique.name, (*CLIQUES, i, "name"))


def _check_dots(name: str, path: Path) -> Iterator[Problem]:
    if "." in name and is_dns_subdomain(name):
        yield warning(
            path,
            name,
            "it becomes a part of the hostnames of pods, which have no dots, so Kubernetes refuses the pods",
            f"write it without dots: {suggest_name(name)!r}",
        )
