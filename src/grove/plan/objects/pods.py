"""The pods of a clique, serialised once; each pod is that text with its index in the gaps.

    body(p) = piece[0] + p + piece[1] + p + ... + piece[n]

An index stands in the pod's label, its hostname and the names of its own resource claims. While the text is made, a NUL
byte marks those places: it cannot occur in JSON, so nothing that a user wrote is ever mistaken for a mark.

    labels         set < PodClique < what says which pod this is < backend
    annotations    PodClique < backend
    environment    set, scaling group, user
    gates          those of the user, then the backend's
"""

import msgspec
from msgspec import Raw

from grove.api import labels, names
from grove.api.podclique import PodClique
from grove.api.podgang import PodGang
from grove.plan.layout.clique_position import CliquePosition, position_of
from grove.plan.layout.set_layout import SetLayout, owner_reference
from grove.plan.objects.claims import claims_of_pod
from grove.plan.objects.metadata import Json
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.objects.podspec import PodSpecEditor
from grove.plan.objects.startup import CONTAINER, wait_for_parents

_MARK = "\0"
_NAMELESS = Raw(b'""')


class PodTemplate:
    """Makes the pods of one PodClique, as they are posted to the API server."""

    def __init__(
        self, layout: SetLayout, clique: PodClique, gang: PodGang, draft: PodDraft, *, init_image: str
    ) -> None:
        text = msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": _metadata(layout, clique, draft),
                "spec": _spec(layout, clique, gang, draft, init_image),
            }
        )
        self._pieces = text.split(_MARK.encode())

    def body(self, index: int) -> bytes:
        """The JSON of pod `index`."""
        return (b"%d" % index).join(self._pieces)


def labels_in_common(clique: PodClique) -> dict[str, str]:
    """Those by which the pods of a clique are found again."""
    own = clique.metadata.labels
    return {
        labels.POD_CLIQUE: clique.metadata.name or "",
        labels.PART_OF: own[labels.PART_OF],
        labels.REPLICA_INDEX: own[labels.REPLICA_INDEX],
        labels.POD_GANG: own[labels.POD_GANG],
    }


def _metadata(layout: SetLayout, clique: PodClique, draft: PodDraft) -> Json:
    meta = clique.metadata
    name = meta.name or ""
    own: Json = {**labels_in_common(clique), labels.POD_INDEX: _marked(_MARK)}
    annotations = meta.annotations | draft.annotations
    return {
        "generateName": names.pod_generate_name(name),
        "namespace": meta.namespace,
        "labels": layout.labels | meta.labels | own | draft.labels,
        **({"annotations": annotations} if annotations else {}),
        "ownerReferences": [owner_reference(clique)],
    }


def _spec(layout: SetLayout, clique: PodClique, gang: PodGang, draft: PodDraft, init_image: str) -> Raw:
    position = position_of(layout, clique)
    editor = PodSpecEditor(clique.spec.pod_spec)
    gates = [g for g in editor.get("schedulingGates") or [] if g.get("name") != draft.gate]
    editor.set("schedulingGates", [*gates, {"name": draft.gate}])
    editor.set("schedulerName", draft.scheduler_name)
    editor.prepend_env(_environment(layout, clique, position))
    editor.set("subdomain", names.headless_service(layout.name, position.i))
    wait_for_parents(editor, layout, clique, gang, init_image)
    for field, value in draft.spec.items():
        if value is None:
            editor.remove(field)
        else:
            editor.set(field, value)
    # From here on there are marks in it, and it is no longer JSON that could be read again.
    editor.set("hostname", _marked(names.hostname(clique.metadata.name or "", _MARK)))
    if layout.shares_claims:
        _use_claims(editor, claims_of_pod(layout, clique, _MARK))
    return editor.result()


def _environment(layout: SetLayout, clique: PodClique, position: CliquePosition) -> list[Json]:
    return [
        {"name": labels.Env.SET_NAME, "value": layout.name},
        {"name": labels.Env.SET_INDEX, "value": str(position.i)},
        {"name": labels.Env.CLIQUE_NAME, "value": clique.metadata.name},
        {
            "name": labels.Env.HEADLESS_SERVICE,
            "value": names.service_address(layout.name, position.i, layout.namespace),
        },
        {
            "name": labels.Env.POD_INDEX,
            "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{labels.POD_INDEX}']"}},
        },
    ]


def _use_claims(editor: PodSpecEditor, claims: list[str]) -> None:
    """Gives the pod its claims, and every container the use of all of them, except the one that only waits."""
    if not claims:
        return
    marked = [_marked(c) for c in claims]
    editor.append("resourceClaims", *({"name": c, "resourceClaimName": c} for c in marked))

    def use(container: dict[str, Raw]) -> None:
        if msgspec.json.decode(container.get("name", _NAMELESS)) == CONTAINER:
            return
        resources: Json = msgspec.json.decode(container.get("resources", Raw(b"{}"))) or {}
        resources["claims"] = [*(resources.get("claims") or []), *({"name": c} for c in marked)]
        container["resources"] = Raw(msgspec.json.encode(resources))

    editor.edit_containers(use)


def _marked(text: str) -> Raw:
    """The text as JSON, but with its marks as they are: an encoder would escape them."""
    pieces = [msgspec.json.encode(piece)[1:-1] for piece in text.split(_MARK)]
    return Raw(b'"' + _MARK.encode().join(pieces) + b'"')
