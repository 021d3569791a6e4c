"""Judgements are cached per version of a set, with the layout of its last valid version."""

from collections.abc import Iterable
from typing import Any

import pytest
from grove_sandbox.flow.bystander import Bystander

from grove.api import PodCliqueSet
from grove.api.config import SchedulerProfile, Schedulers
from grove.api.validation.problem import Problem, invalid, warning
from grove.controllers.podcliqueset.set_judgements import SetJudgements
from grove.runtime.client.objects import ObjectKey
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Registry
from tests.unit.api.sets import pcs
from tests.unit.controllers.caches import context, empty_informers, put


class Picky(Bystander):
    """Rejects sets with the annotation `picky: error`, and warns about those with `picky: warning`."""

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        found = pcs.metadata.annotations.get("picky")
        if found:
            complaint = warning if found == "warning" else invalid
            yield complaint(("metadata", "annotations"), found, "is picky", "be generous")


SCHEDULERS = Schedulers(profiles=[SchedulerProfile(name="bystander")], default_profile_name="bystander")
REGISTRY = Registry(SCHEDULERS, {"default": Kubernetes, "bystander": Picky})


def a_set(*cliques: dict[str, Any], **annotations: str) -> PodCliqueSet:
    found = pcs(*cliques)
    found.metadata.namespace, found.metadata.uid = "default", "train"
    found.metadata.annotations |= annotations
    return found


@pytest.mark.parametrize("change", ["generation", "labels", "annotations"])
async def test_a_set_is_judged_again_when_it_has_a_new_version(change: str) -> None:
    judgements = SetJudgements(context(REGISTRY), empty_informers())
    found = a_set()
    first = judgements.judge(found)
    assert judgements.judge(a_set()) is first
    other = a_set()
    if change == "generation":
        other.metadata.generation = 2
    else:
        setattr(other.metadata, change, {"new": "value"})
    assert judgements.judge(other) is not first


async def test_a_set_that_becomes_invalid_keeps_its_last_valid_layout() -> None:
    informers = empty_informers()
    judgements, key = SetJudgements(context(REGISTRY), informers), ObjectKey("default", "train")
    assert judgements.layout(key) is None
    put(informers.sets, a_set(), 1)
    valid = judgements.layout(key)
    assert valid is not None
    put(informers.sets, a_set(picky="error"), 2)
    assert judgements.layout(key) is valid
    judgements.forget("train")
    assert judgements.layout(key) is None
