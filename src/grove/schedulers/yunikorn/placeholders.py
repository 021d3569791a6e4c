"""What the placeholder pods of a gang look like.

A placeholder must request what its pod requests, and must be allowed where its pod is. Only the pod templates say that,
so each gang carries the shapes of its placeholders in an annotation.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from grove.api import labels
from grove.api.podcliqueset import Clique
from grove.api.podgang import PodGang
from grove.api.validation.problem import Problem, invalid, warning
from grove.schedulers.requests import as_quantities, pod_requests
from grove.schedulers.types import Json, Refusal
from grove.schema.errors import Path

PLACEHOLDERS = "grove.io/yunikorn-placeholders"
"""Annotation of a gang: the shape of the placeholders of each of its groups, in their order, as JSON."""

_PLACEMENT_FIELDS = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")


def encode_shapes(members: Sequence[Clique]) -> str:
    """The value of the annotation for a gang with these cliques."""
    return msgspec.json.encode([_shape(c) for c in members]).decode()


def task_groups_of(gang: PodGang) -> list[Json]:
    """The task groups of a gang, one for each group with a minimum. Raises Refusal if the annotation is missing."""
    return [
        {
            "name": group.name,
            "minMember": group.min_replicas,
            **shape,
            "labels": {**shape.get("labels", {}), labels.STAND_IN_FOR: gang.metadata.name},
        }
        for group, shape in zip(gang.spec.pod_groups, _decode_shapes(gang), strict=True)
        if group.min_replicas > 0
    ]


def check_template(clique: Clique, path: Path) -> Iterator[Problem]:
    """Problems of a pod template for which there can be no fitting placeholder. `path` is that of the template."""
    try:
        pod_requests(clique.spec.pod_spec)
    except ValueError as e:
        yield invalid(path, clique.name, f"its requests cannot be read: {e}", "correct them")
        return
    template: Json = msgspec.json.decode(clique.spec.pod_spec)
    fields = [template.get(f) for f in ("affinity", "topologySpreadConstraints")]
    selectors = msgspec.json.encode(fields).decode()
    names_grove_labels = labels.GROVE_PREFIX in selectors or "app.kubernetes.io/" in selectors
    if _depends_on_other_pods(template) and names_grove_labels:
        yield warning(
            path,
            clique.name,
            "its affinity or spread constraints name labels of Grove, which placeholders do not have",
            "use labels of the clique's own",
        )


def _shape(clique: Clique) -> Json:
    """The fields of a task group except its name and minimum: what a pod requests, and where it may be placed."""
    template: dict[str, Any] = msgspec.json.decode(clique.spec.pod_spec)
    placement = {field: template[field] for field in _PLACEMENT_FIELDS if template.get(field)}
    shape: Json = {"minResource": as_quantities(pod_requests(clique.spec.pod_spec)), **placement}
    # With pod affinity a placeholder must match the selectors of its own pods. Otherwise it gets no labels, because
    # Services would select it.
    if _depends_on_other_pods(template) and clique.labels:
        shape["labels"] = clique.labels
    return shape


def _decode_shapes(gang: PodGang) -> list[Json]:
    text = gang.metadata.annotations.get(PLACEHOLDERS, "")
    shapes: list[Json] = msgspec.json.decode(text) if text else []
    if len(shapes) != len(gang.spec.pod_groups):
        raise Refusal(
            f"the annotation {PLACEHOLDERS} of PodGang {gang.metadata.name} does not say what its placeholders request",
            "Grove sets it on the gangs that it creates: do not remove it",
        )
    return shapes


def _depends_on_other_pods(template: Json) -> bool:
    """Whether other pods decide where a pod may be placed."""
    affinity = template.get("affinity") or {}
    return bool(
        template.get("topologySpreadConstraints")
        or affinity.get("podAffinity")
        or affinity.get("podAntiAffinity")
    )
