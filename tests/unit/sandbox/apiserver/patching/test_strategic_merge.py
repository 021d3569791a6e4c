"""Strategic merge patch."""

from grove_sandbox.apiserver.patching.strategic_merge import StrategicMerge
from grove_sandbox.apiserver.schema.definitions import load


def test_a_strategic_patch_keeps_order_deletes_and_replaces() -> None:
    merge = StrategicMerge(load("1.37"))
    old = {
        "spec": {
            "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}],
            "nodeSelector": {"x": "y"},
        }
    }
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
            "containers": [
                {"name": "c", "image": "1"},
                {"name": "a", "$patch": "delete"},
                {"name": "b", "image": "2"},
            ],
            "nodeSelector": {"$patch": "replace", "z": "1"},
        }
    }
    spec = merge.apply("io.k8s.api.core.v1.Pod", old, patch)["spec"]
    assert spec["containers"] == [{"name": "b", "image": "2"}, {"name": "c", "image": "1"}]
    assert spec["nodeSelector"] == {"z": "1"}
