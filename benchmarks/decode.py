"""Decoding what a watch delivers: pods into the partial view, sets into their model, beside orjson into dicts."""

import json
from pathlib import Path
from typing import Any

import msgspec
import orjson

from benchmarks.measure import Budget, cpu_per_object, finish, report
from grove.api import PodCliqueSet
from grove.api.pod_view import Pod
from grove.api.serialization import codec, yaml

PODS = 10_000
SETS = 1_000
EXAMPLE = Path(__file__).parents[1] / "examples" / "disaggregated.yaml"


class PodEvent(msgspec.Struct, gc=False):
    type: str
    object: Pod


def pod_event(i: int) -> bytes:
    """A watch event of a running pod as a real API server sends it: about 5 KB, a third of it managedFields."""
    env = [{"name": f"GROVE_VAR_{k}", "value": f"value-{k}"} for k in range(8)]
    container = {
        "name": "worker",
        "image": "registry.example/worker:1",
        "env": env,
        "resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"nvidia.com/gpu": "8"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    fields: dict[str, Any] = {
        f"f:field-{k}": {"f:inner": {}, 'k:{"name":"worker"}': {".": {}, "f:image": {}}} for k in range(20)
    }
    when = "2026-01-01T00:00:00Z"
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    pod: dict[str, Any] = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"llama-0-worker-{i:05d}",
            "generateName": "llama-0-worker-",
            "namespace": "default",
            "uid": f"00000000-0000-0000-0000-{i:012d}",
            "resourceVersion": str(1000 + i),
            "creationTimestamp": when,
            "labels": {f"grove.io/label-{k}": f"llama-0-worker-{k}" for k in range(10)},
            "ownerReferences": [
                {
                    "apiVersion": "grove.io/v1alpha1",
                    "kind": "PodClique",
                    "name": "llama-0-worker",
                    "uid": "u",
                    "controller": True,
                }
            ],
            "managedFields": [
                {"manager": "grove", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}
            ],
        },
        "spec": {
            "volumes": [
                {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
            ],
            "containers": [container],
            "restartPolicy": "Always",
            "nodeName": f"node-{i % 100}",
            "hostname": f"llama-0-worker-{i}",
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
            ]
            * 2,
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": when}
                for t in conditions
            ],
            "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1",
            "podIPs": [{"ip": "10.1.0.1"}],
            "startTime": when,
            "containerStatuses": [
                {
                    "name": "worker",
                    "state": {"running": {"startedAt": when}},
                    "lastState": {},
                    "ready": True,
                    "restartCount": 0,
                    "image": "registry.example/worker:1",
                    "imageID": "sha256:0",
                    "started": True,
                }
            ],
        },
    }
    return json.dumps({"type": "MODIFIED", "object": pod}, separators=(",", ":")).encode()


def main() -> None:
    events = [pod_event(i) for i in range(PODS)]
    partial = msgspec.json.Decoder(PodEvent)
    pods = cpu_per_object(
        {
            "partial view": lambda: [partial.decode(e) for e in events],
            "orjson to dict": lambda: [orjson.loads(e) for e in events],
        },
        PODS,
    )
    report(f"{PODS} pod watch events of {len(events[0])} bytes", pods)

    text = codec.encode(yaml.load_one(EXAMPLE.read_text()).value)
    unknown = text.replace(b'"spec":', b'"newField":{"a":1},"spec":', 1)
    sets = cpu_per_object(
        {
            "PodCliqueSet": lambda: [codec.decode(text, PodCliqueSet) for _ in range(SETS)],
            "PodCliqueSet with an unknown field": lambda: [
                codec.decode(unknown, PodCliqueSet) for _ in range(SETS)
            ],
            "orjson to dict": lambda: [orjson.loads(text) for _ in range(SETS)],
        },
        SETS,
    )
    report(f"{SETS} PodCliqueSets of {len(text)} bytes", sets)
    finish([Budget("partial view / orjson to dict", pods["partial view"] / pods["orjson to dict"], 0.25)])


if __name__ == "__main__":
    main()
