"""Start order: an init container that holds a pod back until the cliques before it are ready.

    for every parent in startsAfter:  ready pods of the parent >= its minAvailable

Only pods that have to wait get the container. It reads other pods with the token of the set's service account
(`grove.plan.objects.access`), and its namespace and gang from the pod's metadata, through a downward API volume.
"""

from grove.api import labels, names
from grove.api.podclique import PodClique
from grove.api.podgang import PodGang
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.metadata import Json
from grove.plan.objects.podspec import PodSpecEditor

CONTAINER = "grove-initc"
IMAGE = "grove-initc"
"""Without registry and tag; the tag is the version of the operator."""

_TOKEN, _TOKEN_PATH = "sa-token-secret-vol", "/var/run/secrets/kubernetes.io/serviceaccount"
_POD_INFO, _POD_INFO_PATH = "pod-info-vol", "/var/grove/pod-info"


def wait_for_parents(
    editor: PodSpecEditor, layout: SetLayout, clique: PodClique, gang: PodGang, image: str
) -> None:
    """Adds the init container, after the user's own, if the clique has parents."""
    if not clique.spec.starts_after:
        return
    minimums = {g.name: g.min_replicas for g in gang.spec.pod_groups}
    # A parent that is no longer part of the gang would never become ready.
    parents = [p for p in clique.spec.starts_after if p in minimums]
    editor.append("volumes", *_volumes(layout))
    editor.append(
        "initContainers",
        {
            "name": CONTAINER,
            "image": image,
            "args": [f"--podcliques={p}:{minimums[p]}" for p in parents],
            "volumeMounts": [_mount(_POD_INFO, _POD_INFO_PATH), _mount(_TOKEN, _TOKEN_PATH)],
        },
    )


def _volumes(layout: SetLayout) -> list[Json]:
    def info(path: str, field: str) -> Json:
        return {"path": path, "fieldRef": {"fieldPath": field}}

    items = [
        info("namespace", "metadata.namespace"),
        info("podgangname", f"metadata.labels['{labels.POD_GANG}']"),
    ]
    return [
        {"name": _TOKEN, "secret": {"secretName": names.token_secret(layout.name), "defaultMode": 0o644}},
        {"name": _POD_INFO, "downwardAPI": {"items": items}},
    ]


def _mount(volume: str, path: str) -> Json:
    return {"name": volume, "mountPath": path, "readOnly": True}
