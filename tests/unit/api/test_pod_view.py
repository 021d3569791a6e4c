"""The view of a pod has the fields that the operator reads."""

import msgspec

from grove.api.pod_view import Pod

RUNNING = b"""{"apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", "managedFields": [{}],
    "labels": {"grove.io/podclique": "c"}, "ownerReferences": [{"apiVersion": "grove.io/v1alpha1",
    "kind": "PodClique", "name": "c", "uid": "o", "controller": true, "blockOwnerDeletion": true}]},
  "spec": {"containers": [{"name": "c"}], "hostname": "c-0", "nodeName": "node-1",
    "schedulingGates": [{"name": "grove.io/podgang"}, {"name": "example.com/other"}]},
  "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "reason": "X"}],
    "containerStatuses": [{"name": "c", "ready": false, "started": true, "restartCount": 1,
    "lastState": {"terminated": {"exitCode": 137}}}]}}"""


def test_a_pod_view_has_only_the_fields_that_grove_reads() -> None:
    pod = msgspec.json.decode(RUNNING, type=Pod)
    meta = pod.metadata
    assert (meta.name, meta.namespace, meta.uid, meta.resource_version) == ("p", "n", "u", "7")
    assert [(o.uid, o.controller) for o in meta.owner_references] == [("o", True)]
    assert [g.name for g in pod.spec.scheduling_gates] == ["grove.io/podgang", "example.com/other"]
    assert (pod.spec.hostname, pod.spec.node_name, pod.status.phase) == ("c-0", "node-1", "Running")
    [status] = pod.status.container_statuses
    assert status.last_state is not None
    assert status.last_state.terminated is not None
    assert (status.started, status.ready, status.last_state.terminated.exit_code) == (True, False, 137)


def test_a_pod_that_was_just_created_has_no_status() -> None:
    pod = msgspec.json.decode(b'{"metadata": {"generateName": "c-"}}', type=Pod)
    assert (pod.metadata.name, pod.spec.scheduling_gates, pod.status.conditions) == (None, (), ())
