"""Cluster DNS as a real cluster has it: CoreDNS in pods, behind the Service kube-dns.

One pod on every real node, bound to it from the start: it needs no scheduler, and the loss of a node does not take
names away. Answers have no time to live: a test sees the present. Names outside the cluster are not resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grove_testbed.nodes.addresses import Addresses
from grove_testbed.nodes.configuration import CLUSTER_DOMAIN
from grove_testbed.nodes.images import COREDNS

Json = dict[str, Any]

NAMESPACE = "kube-system"
COREFILE = f"""\
.:53 {{
  errors
  health
  ready
  kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
    ttl 0
  }}
}}
"""
_APP = {"k8s-app": "kube-dns"}


def objects(addresses: Addresses, nodes: Sequence[str]) -> list[Json]:
    """Everything that cluster DNS consists of, with a pod on each of these nodes."""
    reads = [
        {
            "apiGroups": [""],
            "resources": ["endpoints", "services", "pods", "namespaces"],
            "verbs": ["list", "watch"],
        },
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    return [
        _object("v1", "ServiceAccount", "coredns", NAMESPACE),
        _object("rbac.authorization.k8s.io/v1", "ClusterRole", "testbed:coredns", rules=reads),
        _object(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            "testbed:coredns",
            roleRef={
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "testbed:coredns",
            },
            subjects=[{"kind": "ServiceAccount", "name": "coredns", "namespace": NAMESPACE}],
        ),
        _object("v1", "ConfigMap", "coredns", NAMESPACE, data={"Corefile": COREFILE}),
        _object("v1", "Service", "kube-dns", NAMESPACE, spec=_service(addresses)),
        *(_pod(node) for node in nodes),
    ]


def _service(addresses: Addresses) -> Json:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    return {"clusterIP": str(addresses.dns_service), "selector": _APP, "ports": ports}


def _pod(node: str) -> Json:
    container = {
        "name": "coredns",
        "image": COREDNS,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
    }
    spec = {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "nodeName": node,
        # It waits for a lost node to come back.
        "tolerations": [{"operator": "Exists"}],
        # Not the cluster's own DNS, which this is.
        "dnsPolicy": "Default",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }
    pod = _object("v1", "Pod", f"coredns-{node}", NAMESPACE, spec=spec)
    pod["metadata"]["labels"] = _APP
    return pod


def _object(version: str, kind: str, name: str, namespace: str = "", **content: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}
