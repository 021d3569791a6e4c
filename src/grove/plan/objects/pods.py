"""The pods of a clique, as they are posted to the API server.

A pod's index appears in its label, its hostname and the names of its own resource claims. Where several sources set
the same thing, the later one in this list wins:

    labels         set, PodClique, the labels that identify the pod, backend
    annotations    PodClique, backend
    environment    user, scaling group, set. Grove's variables come first, so that the user's can refer to them

The user's scheduling gates stay, except the gates of backends: a pod behind another backend's gate would be deleted and
created again for ever. The gate of the set's own backend comes last.
"""

from collections.abc import Set
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from grove.api import labels, names
from grove.api.podclique import PodClique
from grove.api.podgang import PodGang
from grove.plan.layout.clique_position import CliquePosition, position_of
from grove.plan.layout.set_layout import SetLayout, owner_reference
from grove.plan.objects.claims import claims_of_pod
from grove.plan.objects.metadata import Json
from grove.plan.objects.pod_draft import GroupDrafts, PodDraft
from grove.plan.objects.podspec import PodSpecEditor, RawObject
from grove.plan.objects.startup import CONTAINER, wait_for_parents

_NAMELESS = Raw(b'""')


class PodBuilder:
    """Builds the pods of one PodClique.

    The constructor computes what the pods have in common, so `body` is cheap. `gates` are those of all enabled
    backends. Raises LookupError for a PodClique that the set does not describe.
    """

    def __init__(
        self,
        layout: SetLayout,
        clique: PodClique,
        gang: PodGang,
        drafts: GroupDrafts,
        *,
        init_image: str,
        gates: Set[str],
    ) -> None:
        self._layout = layout
        self._clique = clique
        minimums = {g.name: g.min_replicas for g in gang.spec.pod_groups}
        self._minimum = minimums.get(clique.metadata.name or "", 0)

        def common(draft: PodDraft) -> _Common:
            return _Common(draft, _spec(layout, clique, gang, draft, init_image, gates))

        self._required = common(drafts.required)
        self._surplus = self._required if drafts.surplus is None else common(drafts.surplus)

    def body(self, index: int, name: str) -> bytes:
        """The JSON of the pod with this index and name."""
        common = self._required if index < self._minimum else self._surplus
        editor = PodSpecEditor(common.spec)
        editor.set("hostname", names.hostname(self._clique.metadata.name or "", index))
        if self._layout.shares_claims:
            _use_claims(editor, claims_of_pod(self._layout, self._clique, index))
        return msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": self._metadata(common.draft, index, name),
                "spec": editor.result(),
            }
        )

    def _metadata(self, draft: PodDraft, index: int, name: str) -> Json:
        meta = self._clique.metadata
        own = identifying_labels(self._clique) | {labels.POD_INDEX: str(index)}
        annotations = meta.annotations | draft.annotations
        return {
            "name": name,
            "generateName": names.pod_generate_name(meta.name or ""),
            "namespace": meta.namespace,
            "labels": self._layout.labels | meta.labels | own | draft.labels,
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [owner_reference(self._clique)],
        }


def identifying_labels(clique: PodClique) -> dict[str, str]:
    """The labels by which Grove finds the pods of a clique."""
    own = clique.metadata.labels
    return {
        labels.POD_CLIQUE: clique.metadata.name or "",
        labels.PART_OF: own[labels.PART_OF],
        labels.REPLICA_INDEX: own[labels.REPLICA_INDEX],
        labels.POD_GANG: own[labels.POD_GANG],
    }


@dataclass(frozen=True)
class _Common:
    """What all pods of one draft have in common. `spec` lacks the hostname and the resource claims."""

    draft: PodDraft
    spec: Raw


def _spec(
    layout: SetLayout,
    clique: PodClique,
    gang: PodGang,
    draft: PodDraft,
    init_image: str,
    gates_of_backends: Set[str],
) -> Raw:
    position = position_of(layout, clique)
    editor = PodSpecEditor(clique.spec.pod_spec)
    backends = gates_of_backends | {draft.gate}
    users = [g for g in editor.get("schedulingGates") or [] if g.get("name") not in backends]
    editor.set("schedulingGates", [*users, {"name": draft.gate}])
    editor.set("schedulerName", draft.scheduler_name)
    editor.prepend_env(_environment(layout, clique, position))
    editor.set("subdomain", names.headless_service(layout.name, position.i))
    wait_for_parents(editor, layout, clique, gang, init_image)
    for field, value in draft.spec.items():
        if value is None:
            editor.remove(field)
        else:
            editor.set(field, value)
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
    """Gives the pod its claims, and every container except our own init container the use of all of them."""
    if not claims:
        return
    editor.append("resourceClaims", *({"name": c, "resourceClaimName": c} for c in claims))

    def use(container: RawObject) -> None:
        if msgspec.json.decode(container.get("name", _NAMELESS)) == CONTAINER:
            return
        resources: Json = msgspec.json.decode(container.get("resources", Raw(b"{}"))) or {}
        resources["claims"] = [*(resources.get("claims") or []), *({"name": c} for c in claims)]
        container["resources"] = Raw(msgspec.json.encode(resources))

    editor.edit_containers(use)
