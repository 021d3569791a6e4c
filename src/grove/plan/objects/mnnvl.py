"""NVLink domains: a ComputeDomain per replica and group, and the claims that put GPU pods into it.

The group of a clique is said by the annotation `grove.io/mnnvl-group` on the clique, else on its scaling group, else
on the set; `none` opts out. Only cliques that ask for GPUs take part.
"""

from typing import Any

import msgspec
from msgspec import Raw

from grove.api import labels, names
from grove.api.podcliqueset import Clique
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podspec import PodSpecEditor

CLAIM = "mnnvl-claim"
_GPU = "nvidia.com/gpu"


def domain_group(layout: SetLayout, clique: Clique) -> str | None:
    """The NVLink group of a clique, if it has one and asks for GPUs."""
    group = layout.group_of.get(clique.name)
    levels = (
        clique.annotations,
        group.template.annotations if group else {},
        layout.pcs.metadata.annotations,
    )
    said = next((a[labels.MNNVL_GROUP] for a in levels if labels.MNNVL_GROUP in a), labels.MNNVL_NONE)
    if said == labels.MNNVL_NONE:
        return None
    return said if any(_asks_for_gpus(c) for c in PodSpecEditor(clique.spec.pod_spec).containers()) else None


def claim_domain(editor: PodSpecEditor, layout: SetLayout, clique: Clique, i: int) -> None:
    """Makes the pods of an enrolled clique claim their replica's domain."""
    group = domain_group(layout, clique)
    if group is None or any(c.get("name") == CLAIM for c in editor.get("resourceClaims") or []):
        return
    domain = names.compute_domain(layout.name, i, group)
    editor.append("resourceClaims", {"name": CLAIM, "resourceClaimTemplateName": domain})

    def claim(container: dict[str, Raw]) -> None:
        resources: dict[str, Any] = msgspec.json.decode(container.get("resources", Raw(b"{}"))) or {}
        if _wants_gpus(resources):
            resources["claims"] = [*(resources.get("claims") or []), {"name": CLAIM}]
            container["resources"] = Raw(msgspec.json.encode(resources))

    editor.edit_containers(claim)


def compute_domains(layout: SetLayout, i: int) -> list[dict[str, Any]]:
    """The ComputeDomains that replica i needs."""
    groups = {g for c in layout.cliques.values() if (g := domain_group(layout, c)) is not None}
    return [_compute_domain(layout, i, g) for g in sorted(groups)]


def _compute_domain(layout: SetLayout, i: int, group: str) -> dict[str, Any]:
    name = names.compute_domain(layout.name, i, group)
    own = {
        labels.NAME: name,
        labels.COMPONENT: labels.ComponentLabel.COMPUTE_DOMAIN,
        labels.REPLICA_INDEX: str(i),
        labels.MNNVL_GROUP: group,
    }
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {
            "name": name,
            "namespace": layout.namespace,
            "labels": layout.labels | own,
            "finalizers": [labels.Finalizer.COMPUTE_DOMAIN],
            "ownerReferences": [msgspec.to_builtins(layout.owner)],
        },
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": name}}},
    }


def _asks_for_gpus(container: dict[str, Any]) -> bool:
    return _wants_gpus(container.get("resources") or {})


def _wants_gpus(resources: dict[str, Any]) -> bool:
    amounts = [(resources.get(kind) or {}).get(_GPU) for kind in ("limits", "requests")]
    return any(a is not None and str(a) != "0" for a in amounts)
