"""The service account that lets a waiting pod see whether the pods before it are ready, and its token.

Only sets with a start order need these objects. The init container mounts the token by name, so the pods keep the
service account that the user gave them.
"""

from grove.api import labels, names
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.metadata import Json, metadata

_RBAC = "rbac.authorization.k8s.io"


def access(layout: SetLayout) -> list[Json]:
    """ServiceAccount, Role, RoleBinding and token Secret of a set, in the order in which to create them."""
    if not layout.starts_in_order:
        return []
    return [_service_account(layout), _role(layout), _role_binding(layout), _token_secret(layout)]


def _service_account(layout: SetLayout) -> Json:
    name = names.service_account(layout.name)
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(layout, name, _own(name, labels.ComponentLabel.SERVICE_ACCOUNT)),
        "automountServiceAccountToken": True,
    }


def _role(layout: SetLayout) -> Json:
    own = _own(names.role_label(layout.name), labels.ComponentLabel.ROLE)
    rule = {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "watch"]}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(layout, names.role(layout.name), own),
        "rules": [rule],
    }


def _role_binding(layout: SetLayout) -> Json:
    name = names.role(layout.name)
    own = _own(names.role_label(layout.name), labels.ComponentLabel.ROLE_BINDING)
    account = names.service_account(layout.name)
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(layout, name, own),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": layout.namespace}],
    }


def _token_secret(layout: SetLayout) -> Json:
    """Kubernetes fills in the token itself."""
    name = names.token_secret(layout.name)
    meta = metadata(layout, name, _own(name, labels.ComponentLabel.TOKEN_SECRET))
    meta["annotations"] = {"kubernetes.io/service-account.name": names.service_account(layout.name)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": meta,
        "type": "kubernetes.io/service-account-token",
    }


def _own(name: str, component: str) -> dict[str, str]:
    return {labels.NAME: name, labels.COMPONENT: component}
