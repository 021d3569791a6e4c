"""NVLink domains: a ComputeDomain per replica and group, and the claims that put GPU pods into it.

The annotation `grove.io/mnnvl-group` names the group of a clique. The clique's own annotation comes first, then that of
its scaling group, then that of the set; `none` opts out. Only cliques that ask for GPUs take part.
"""

from typing import Any

import msgspec
from msgspec import Raw

from grove.api import labels, names
from grove.api.podcliqueset import Clique
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podspec import PodSpecEditor, RawObject

CLAIM = "mnnvl-claim"
_GPU = "nvidia.com/gpu"


def domain_group(layout: SetLayout, clique: Clique) -> str | None:
    """The NVLink group of a clique; None if it has none or asks for no GPUs."""
    group = layout.group_of.get(clique.name)
    levels = (
        clique.annotations,
        group.template.annotations if group else {},
        layout.pcs.metadata.annotations,
    )
    name = next((a[labels.MNNVL_GROUP] for a in levels if labels.MNNVL_GROUP in a), labels.MNNVL_NONE)
    containers = PodSpecEditor(clique.spec.pod_spec).containers()
    if name == labels.MNNVL_NONE or not any(_wants_gpus(c.get("resources") or {}) for c in containers):
        return None
    return name


def claim_domain(editor: PodSpecEditor, layout: SetLayout, clique: Clique, i: int) -> None:
    """Adds the claim of the replica's domain to the pods of a clique that takes part, unless the user added it."""
    group = domain_group(layout, clique)
    if group is None or any(c.get("name") == CLAIM for c in editor.get("resourceClaims") or []):
        return
    domain = names.compute_domain(layout.name, i, group)
    editor.append("resourceClaims", {"name": CLAIM, "resourceClaimTemplateName": domain})

    def claim(container: RawObject) -> None:
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


def _wants_gpus(resources: dict[str, Any]) -> bool:
    amounts = [(resources.get(kind) or {}).get(_GPU) for kind in ("limits", "requests")]
    return any(a is not None and str(a) != "0" for a in amounts)
