"""The observer of every flow test detects each way in which a gate can open early."""

from typing import Any

import pytest
from grove_sandbox.apiserver import Write
from grove_sandbox.flow.gate_observer import NoGateOpensEarly

from grove.api import labels
from grove.runtime.client.objects import APIResource

Json = dict[str, Any]
GATE = labels.Gate.KUBERNETES
PODS = APIResource("", "v1", "pods", "Pod")
GANGS = APIResource("scheduler.grove.io", "v1alpha1", "podgangs", "PodGang")


def write(kind: str, resource: APIResource, now: Json, before: Json | None = None) -> Write:
    return Write(kind, resource, now, before)  # type: ignore[arg-type]


def pod(*gates: str, base: str = "") -> Json:
    tags = {labels.POD_GANG: "g", labels.POD_CLIQUE: "c"} | ({labels.BASE_POD_GANG: base} if base else {})
    metadata = {"namespace": "n", "name": "p", "uid": "uid-of-p", "labels": tags}
    return {"metadata": metadata, "spec": {"schedulingGates": [{"name": g} for g in gates]}}


def gang(
    *, initialized: str = "True", synced: str = "True", observed: int = 2, names: str = "p", minimum: int = 1
) -> Json:
    conditions = [
        {"type": "Initialized", "status": initialized},
        {"type": "BackendSynced", "status": synced, "observedGeneration": observed},
    ]
    group = {"name": "c", "minReplicas": minimum, "podReferences": [{"namespace": "n", "name": names}]}
    metadata = {"namespace": "n", "name": "g", "generation": 2}
    return {"metadata": metadata, "spec": {"podgroups": [group]}, "status": {"conditions": conditions}}


def opened(found: Json | None, released: Json) -> NoGateOpensEarly:
    observer = NoGateOpensEarly()
    closed = {**released, "spec": {"schedulingGates": [{"name": GATE}]}}
    observer(write("ADDED", PODS, closed))
    if found is not None:
        observer(write("ADDED", GANGS, found))
    observer(write("MODIFIED", PODS, released, closed))
    return observer


def test_a_gate_that_opens_in_time_is_counted() -> None:
    assert opened(gang(), pod()).opened == 1


@pytest.mark.parametrize(
    ("found", "released", "message"),
    [
        (None, pod(), "without a gang"),
        (gang(initialized="False"), pod(), "before its gang was initialized"),
        (gang(synced="False"), pod(), "before the backend was in sync"),
        (gang(observed=1), pod(), "while the backend was synced with an older generation"),
        (gang(names="other"), pod(), "before its gang named it"),
        (gang(minimum=2), pod(), "has too few pods"),
        (gang(), pod(base="b"), "before the base gang was scheduled"),
    ],
)
def test_a_gate_that_opens_early_is_an_error(found: Json | None, released: Json, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        opened(found, released)


def test_a_pod_without_a_gate_is_an_error() -> None:
    with pytest.raises(AssertionError, match="was created without a gate"):
        NoGateOpensEarly()(write("ADDED", PODS, pod()))


def test_a_gang_that_was_just_deleted_is_no_fault_of_the_operator() -> None:
    observer = NoGateOpensEarly()
    observer(write("ADDED", PODS, pod(GATE)))
    observer(write("ADDED", GANGS, gang()))
    observer(write("DELETED", GANGS, gang()))
    observer(write("MODIFIED", PODS, pod(), pod(GATE)))
    assert observer.opened == 1


def test_a_gang_that_was_just_recreated_is_no_fault_of_the_operator() -> None:
    observer = NoGateOpensEarly()
    observer(write("ADDED", PODS, pod(GATE)))
    observer(write("ADDED", GANGS, gang()))
    observer(write("DELETED", GANGS, gang()))
    recreated = gang(initialized="False", observed=1)
    observer(write("ADDED", GANGS, recreated))
    filled = gang(initialized="False", observed=1)
    filled["metadata"]["generation"] = 3
    observer(write("MODIFIED", GANGS, filled, recreated))
    observer(write("MODIFIED", PODS, pod(), pod(GATE)))
    assert observer.opened == 1


def changed(before: Json, after: Json) -> NoGateOpensEarly:
    """The spec of the gang changes while a write of the pod is in flight; the backend is not synced yet."""
    after["metadata"]["generation"] = 3
    observer = NoGateOpensEarly()
    observer(write("ADDED", PODS, pod(GATE)))
    observer(write("ADDED", GANGS, before))
    observer(write("MODIFIED", GANGS, after, before))
    observer(write("MODIFIED", PODS, pod(), pod(GATE)))
    return observer


def test_a_gang_that_was_just_changed_is_no_fault_of_the_operator() -> None:
    assert changed(gang(), gang(minimum=2)).opened == 1


def test_a_change_does_not_excuse_what_it_introduced() -> None:
    with pytest.raises(AssertionError, match="while the backend was synced with an older generation"):
        changed(gang(names="other"), gang(names="p"))


def base_gang(scheduled: str) -> Json:
    metadata = {"namespace": "n", "name": "b", "generation": 1}
    status = {"conditions": [{"type": "Scheduled", "status": scheduled}]}
    return {"metadata": metadata, "spec": {"podgroups": []}, "status": status}


def test_a_base_gang_that_just_lost_its_place_is_no_fault_of_the_operator() -> None:
    observer = NoGateOpensEarly()
    observer(write("ADDED", GANGS, base_gang("True")))
    observer(write("ADDED", PODS, pod(GATE, base="b")))
    observer(write("ADDED", GANGS, gang()))
    observer(write("MODIFIED", GANGS, base_gang("False"), base_gang("True")))
    observer(write("MODIFIED", PODS, pod(base="b"), pod(GATE, base="b")))
    assert observer.opened == 1


def test_a_pod_whose_gate_could_not_open_before_its_base_gang_lost_its_place_is_an_error() -> None:
    observer = NoGateOpensEarly()
    observer(write("ADDED", GANGS, base_gang("True")))
    observer(write("ADDED", PODS, pod(GATE, base="b")))
    incomplete = gang(initialized="False")
    observer(write("ADDED", GANGS, incomplete))
    observer(write("MODIFIED", GANGS, base_gang("False"), base_gang("True")))
    observer(write("MODIFIED", GANGS, gang(), incomplete))
    with pytest.raises(AssertionError, match="before the base gang was scheduled"):
        observer(write("MODIFIED", PODS, pod(base="b"), pod(GATE, base="b")))
