"""The patch that removes a gate."""

from grove.api.pod_view import Pod, PodMetadata, PodSpec, SchedulingGate
from grove.controllers.podclique.gates import gate_patch


def pod(*gates: str) -> Pod:
    return Pod(
        metadata=PodMetadata(), spec=PodSpec(scheduling_gates=tuple(SchedulingGate(name=g) for g in gates))
    )


def test_a_gate_is_removed_only_where_it_was_read() -> None:
    assert gate_patch(pod("user", "ours"), "ours", {}) == [
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": "ours"},
        {"op": "remove", "path": "/spec/schedulingGates/1"},
    ]


def test_annotations_are_set_in_the_same_patch_with_their_keys_escaped() -> None:
    assert gate_patch(pod("ours"), "ours", {"example.com/waited~s": "7"})[2:] == [
        {"op": "add", "path": "/metadata/annotations/example.com~1waited~0s", "value": "7"}
    ]
