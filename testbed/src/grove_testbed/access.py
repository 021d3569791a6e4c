"""Who may talk to a cluster: one token and one kubeconfig per identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

OPERATOR = "system:serviceaccount:grove-system:grove-operator"

# who -> (user name, groups). The operator's token stands for its service account, so RBAC rules that name
# the service account apply to it; the user has no rights but those a test gives.
IDENTITIES: dict[str, tuple[str, Sequence[str]]] = {
    "admin": ("admin", ("system:masters",)),
    "operator": (OPERATOR, ("system:serviceaccounts", "system:serviceaccounts:grove-system")),
    "user": ("user", ()),
    "controller-manager": ("system:kube-controller-manager", ("system:masters",)),
    "scheduler": ("system:kube-scheduler", ()),
    "other-scheduler": ("other-scheduler", ("system:masters",)),
    "kubelet": ("kubelet", ("system:masters",)),
}


def write_access(
    folder: Path, url: str, tokens: Mapping[str, str], identities: Mapping[str, tuple[str, Sequence[str]]]
) -> None:
    """Writes the API server's tokens.csv, and <identity>.kubeconfig for everybody in it."""
    rows = []
    for who, (user, groups) in identities.items():
        rows.append(",".join([tokens[who], user, who, f'"{",".join(groups)}"']))
        config = _kubeconfig(url, folder / "ca.crt", who, tokens[who])
        (folder / f"{who}.kubeconfig").write_text(yaml.safe_dump(config))
    (folder / "tokens.csv").write_text("\n".join(rows) + "\n")


def _kubeconfig(url: str, authority: Path, who: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "clusters": [
            {"name": "testbed", "cluster": {"server": url, "certificate-authority": str(authority)}}
        ],
        "users": [{"name": who, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": who}}],
    }
