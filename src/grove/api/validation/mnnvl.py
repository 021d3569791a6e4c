"""Rules for the annotation `grove.io/mnnvl-group`, which puts pods into a common NVLink domain."""

from collections.abc import Iterator, Mapping

from grove.api import labels
from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.groups import PATH as GROUPS
from grove.api.validation.immutable import REMEDY
from grove.api.validation.problem import Problem, forbidden, invalid
from grove.schema.errors import Key, Path
from grove.schema.name_syntax import is_dns_label

_Annotated = dict[tuple[str, str], tuple[Path, Mapping[str, str]]]


def check_mnnvl(pcs: PodCliqueSet, *, enabled: bool) -> Iterator[Problem]:
    for path, annotations in _annotated(pcs).values():
        group = annotations.get(labels.MNNVL_GROUP)
        if group is None or group == labels.MNNVL_NONE:
            continue
        here = (*path, "annotations", Key(labels.MNNVL_GROUP))
        if not is_dns_label(group):
            yield invalid(
                here,
                group,
                "a group's name has at most 63 lower case letters, digits and '-'",
                f"rename the group, or write {labels.MNNVL_NONE!r} for no group",
            )
        elif not enabled:
            yield invalid(
                here,
                group,
                "NVLink domains are disabled in this cluster",
                "remove the annotation, or set network.autoMNNVLEnabled in the operator's configuration",
            )


def check_mnnvl_unchanged(new: PodCliqueSet, old: PodCliqueSet) -> Iterator[Problem]:
    before = _annotated(old)
    for place, (path, annotations) in _annotated(new).items():
        if place not in before:
            continue
        was, now = before[place][1].get(labels.MNNVL_GROUP), annotations.get(labels.MNNVL_GROUP)
        if was != now:
            here = (*path, "annotations", Key(labels.MNNVL_GROUP))
            yield forbidden(here, f"this annotation cannot be changed: it was {was or 'not set'}", REMEDY)


def _annotated(pcs: PodCliqueSet) -> _Annotated:
    """Everything that may have the annotation, by kind and name."""
    template = pcs.spec.template
    found: _Annotated = {("set", ""): (("metadata",), pcs.metadata.annotations)}
    for i, clique in enumerate(template.cliques):
        found["clique", clique.name] = ((*CLIQUES, i), clique.annotations)
    for i, group in enumerate(template.pod_clique_scaling_groups):
        found["group", group.name] = ((*GROUPS, i), group.annotations)
    return found
