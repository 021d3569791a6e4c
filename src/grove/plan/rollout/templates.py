"""Which template a PodClique may have.

A PodClique carries the template of its pods, so a pod that is lost comes back as its PodClique says. The rollout decides
when the PodClique changes: see `rollout`. A hash that another operator made stays until the first update of our own:
its pods carry it too, and giving the PodClique another one would make them look outdated.
"""

from grove.api import labels
from grove.api.podclique import PodClique
from grove.api.serialization.model import replace
from grove.plan.layout.template_hash import is_own_hash
from grove.plan.rollout.rollout import Rollout


def with_template(wanted: PodClique, existing: PodClique | None, rollout: Rollout, i: int) -> PodClique:
    """`wanted` is the PodClique of replica i with the current template; `existing` the one that exists."""
    if existing is None:
        return wanted
    own, found = wanted.metadata, existing.metadata
    if not rollout.may_change_template(i):
        positions = {k: v for k, v in own.labels.items() if k.startswith(_IDENTIFYING)}
        positions[labels.POD_TEMPLATE_HASH] = found.labels.get(labels.POD_TEMPLATE_HASH, "")
        metadata = replace(own, labels=found.labels | positions, annotations=found.annotations)
        return replace(wanted, metadata=metadata, spec=replace(wanted.spec, pod_spec=existing.spec.pod_spec))
    known = found.labels.get(labels.POD_TEMPLATE_HASH)
    if rollout.first and known and not is_own_hash(known):
        return replace(wanted, metadata=replace(own, labels=own.labels | {labels.POD_TEMPLATE_HASH: known}))
    return wanted


# The labels that say where a PodClique belongs; all others may be the user's, and part of the template.
_IDENTIFYING = (labels.GROVE_PREFIX, "app.kubernetes.io/")
