"""Rules for resource claims that pods share: templates, references to them, and filters."""

from collections.abc import Iterator, Sequence

from grove.api.podcliqueset import PodCliqueSet
from grove.api.sharing import CliqueResourceSharing, requests_devices
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.groups import PATH as GROUPS
from grove.api.validation.problem import Problem, duplicate, forbidden, invalid, required
from grove.schema.errors import Path

TEMPLATES: Path = ("spec", "template", "resourceClaimTemplates")
SHARING: Path = ("spec", "template", "resourceSharing")


def check_sharing(pcs: PodCliqueSet) -> Iterator[Problem]:
    template = pcs.spec.template
    yield from _check_templates(pcs)
    internal = {t.name for t in template.resource_claim_templates}
    cliques = [c.name for c in template.cliques]
    groups = [g.name for g in template.pod_clique_scaling_groups]

    yield from _check_entries(template.resource_sharing, SHARING, internal)
    for i, entry in enumerate(template.resource_sharing):
        if entry.filter is not None:
            path = (*SHARING, i, "filter")
            wanted = [*entry.filter.child_clique_names, *entry.filter.child_scaling_group_names]
            yield from _check_filter_not_empty(wanted, path)
            yield from _check_known(
                entry.filter.child_clique_names, cliques, (*path, "childCliqueNames"), "clique"
            )
            yield from _check_known(
                entry.filter.child_scaling_group_names,
                groups,
                (*path, "childScalingGroupNames"),
                "scaling group",
            )
    for i, group in enumerate(template.pod_clique_scaling_groups):
        path = (*GROUPS, i, "resourceSharing")
        yield from _check_entries(group.resource_sharing, path, internal)
        for k, shared in enumerate(group.resource_sharing):
            if shared.filter is not None:
                here = (*path, k, "filter")
                yield from _check_filter_not_empty(shared.filter.child_clique_names, here)
                yield from _check_known(
                    shared.filter.child_clique_names,
                    group.clique_names,
                    (*here, "childCliqueNames"),
                    f"clique in the scaling group {group.name!r}",
                )
    for i, clique in enumerate(template.cliques):
        yield from _check_entries(clique.resource_sharing, (*CLIQUES, i, "resourceSharing"), internal)


def _check_templates(pcs: PodCliqueSet) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, template in enumerate(pcs.spec.template.resource_claim_templates):
        path = (*TEMPLATES, i)
        if not template.name:
            yield required(
                (*path, "name"), "a template has a name", "name it, so that resourceSharing can refer to it"
            )
        elif template.name in seen:
            yield duplicate(
                (*path, "name"), template.name, "another template has this name too", "rename one of them"
            )
        seen.add(template.name)
        if not requests_devices(template):
            yield required(
                (*path, "templateSpec", "spec", "devices", "requests"),
                "a claim asks for at least one device",
                "add a device request, as in a ResourceClaimTemplate",
            )


def _check_entries(
    entries: Sequence[CliqueResourceSharing], path: Path, internal: set[str]
) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        if not entry.name:
            yield required(
                (*path, i, "name"), "an entry names a template", "name one of resourceClaimTemplates"
            )
        elif entry.name in seen:
            yield duplicate(
                (*path, i, "name"), entry.name, "the template is shared twice here", "remove one entry"
            )
        seen.add(entry.name)
        if entry.namespace and entry.name in internal:
            yield forbidden(
                (*path, i, "namespace"),
                f"{entry.name!r} is a template of this set, which has no namespace of its own",
                "remove namespace, or rename the template in resourceClaimTemplates",
            )


def _check_filter_not_empty(wanted: list[str], path: Path) -> Iterator[Problem]:
    if not wanted:
        yield required(
            path, "a filter names something", "name cliques, or remove the filter to share with all pods"
        )


def _check_known(wanted: list[str], known: list[str], path: Path, what: str) -> Iterator[Problem]:
    for i, name in enumerate(wanted):
        if name not in known:
            yield invalid(
                (*path, i), name, f"there is no such {what}", f"there are: {', '.join(known) or 'none'}"
            )
