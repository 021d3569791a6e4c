"""Grove in the cluster that it works for: its image on real nodes, with the objects of deploy/ and nothing else."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from grove_testbed.access import OPERATOR
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started
from grove_testbed.nodes.images import Image, write_archive

from grove.api.serialization.crds import all_crds

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
NAMESPACE = "grove-system"
# What `make image` writes, and how it calls it.
ARCHIVE, IMAGE = ROOT / ".cache/image/grove-operator.tar", "localhost/grove-operator:dev"
# It does nothing: start order is not what is shown here.
START_ORDER = "localhost/grove-initc:1"
TOKEN_SECONDS = 600


def with_operator(
    request: pytest.FixtureRequest, k8s: str, folder: Path, **options: Any
) -> Iterator[Cluster]:
    """The body of a cluster fixture: two real nodes, the images of the examples, two replicas of the operator."""
    if not ARCHIVE.exists():
        missing = "the operator's image is not built; run: make image"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    for cluster in started(
        request, k8s, scheduler="default", real_nodes=2, definitions=all_crds(), **options
    ):
        assert cluster.nodes is not None
        cluster.nodes.import_images(ARCHIVE)
        cluster.nodes.import_images(write_archive(folder / "stand-ins.tar", *stand_ins()))
        install(cluster)
        yield cluster


def stand_ins() -> list[Image]:
    """All images that the examples name: the layers of the operator's, which have Python, and one small program."""
    programs = ROOT / "examples" / "images"
    made = {
        "registry.example/ring:1": "ring.py",
        "registry.example/train:1": "stand_in.py",
        "registry.example/router:1": "stand_in.py",
        "registry.example/prefill:1": "stand_in.py",
        "registry.example/decode:1": "stand_in.py",
    }
    images = [
        Image(name, {"program.py": programs / program}, ("python3", "-u", "/program.py"), base=ARCHIVE)
        for name, program in made.items()
    ]
    images.append(Image(START_ORDER, {}, ("true",), base=ARCHIVE))
    return images


def install(cluster: Cluster) -> None:
    """Applies deploy/operator.yaml, changed only in what a test must change, and waits for both replicas."""
    documents = list(yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text()))
    [deployment] = [d for d in documents if d["kind"] == "Deployment"]
    adapt(deployment)
    cluster.kubectl("apply", "--filename=-", stdin=yaml.safe_dump_all(documents))
    cluster.kubectl("rollout", "status", "deployment/grove-operator", f"-n={NAMESPACE}", "--timeout=180s")


def adapt(deployment: Json) -> None:
    """Two replicas on two nodes; our image; a token that lives for ten minutes, the shortest that can be had."""
    deployment["spec"]["replicas"] = 2
    pod = deployment["spec"]["template"]["spec"]
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": deployment["spec"]["selector"]}
    pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    [container] = pod["containers"]
    container["image"] = IMAGE
    container["env"] = [{"name": "GROVE_INIT_CONTAINER_IMAGE", "value": START_ORDER}]
    pod["automountServiceAccountToken"] = False
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    pod["volumes"].append({"name": "token", "projected": {"sources": sources}})
    mount = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
    container["volumeMounts"].append(mount)


def get(cluster: Cluster, *what: str) -> list[Json]:
    found: list[Json] = json.loads(cluster.kubectl("get", *what, "-o", "json"))["items"]
    return found


def replicas(cluster: Cluster) -> dict[str, Json]:
    """The operator's pods that are not going away, by name."""
    pods = get(cluster, "pods", f"-n={NAMESPACE}", "-l", "app.kubernetes.io/name=grove-operator")
    return {p["metadata"]["name"]: p for p in pods if "deletionTimestamp" not in p["metadata"]}


def leader(cluster: Cluster) -> str:
    """The name of the pod that holds the Lease; nothing if nobody does."""
    [lease] = get(cluster, "leases", f"-n={NAMESPACE}")
    holder = lease["spec"].get("holderIdentity") or ""
    return next((name for name in replicas(cluster) if name in holder), "")


def requests_of_operator(cluster: Cluster) -> Iterator[Json]:
    """What the API server answered to the operator, from its audit log."""
    with (cluster.logs / "audit.log").open("rb") as log:
        for line in log:
            event: Json = orjson.loads(line)
            if event["user"]["username"] == OPERATOR:
                yield event


def tokens_used_by(cluster: Cluster, pod: str) -> set[str]:
    """The ids of the tokens with which requests came from this pod."""
    prefix = "authentication.kubernetes.io/"
    extras = [event["user"].get("extra", {}) for event in requests_of_operator(cluster)]
    return {e[f"{prefix}credential-id"][0] for e in extras if e.get(f"{prefix}pod-name") == [pod]}


def until(condition: Callable[[], bool], what: str, seconds: float = 150) -> None:
    """For what kubectl cannot wait for."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never seen: {what}"
        time.sleep(0.5)
