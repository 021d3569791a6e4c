"""What lets a waiting pod see whether those before it are ready: an account that may read pods, and its token.

Only sets that order their start need it; for all others nothing is made. The token is mounted by name, so that the
pods keep the service account that the user gave them.
"""

from grove.api import labels, names
from grove.plan.metadata import Json, metadata
from grove.plan.shape import Shape

_RBAC = "rbac.authorization.k8s.io"


def access(shape: Shape) -> list[Json]:
    """ServiceAccount, Role, RoleBinding and token Secret of a set, in the order in which to create them."""
    if not shape.starts_in_order:
        return []
    return [_service_account(shape), _role(shape), _role_binding(shape), _token_secret(shape)]


def _service_account(shape: Shape) -> Json:
    name = names.service_account(shape.name)
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(shape, name, _own(name, labels.Component.SERVICE_ACCOUNT)),
        "automountServiceAccountToken": True,
    }


def _role(shape: Shape) -> Json:
    own = _own(names.role_label(shape.name), labels.Component.ROLE)
    rule = {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "watch"]}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(shape, names.role(shape.name), own),
        "rules": [rule],
    }


def _role_binding(shape: Shape) -> Json:
    name = names.role(shape.name)
    own = _own(names.role_label(shape.name), labels.Component.ROLE_BINDING)
    account = names.service_account(shape.name)
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(shape, name, own),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": shape.namespace}],
    }


def _token_secret(shape: Shape) -> Json:
    """Kubernetes fills in the token."""
    name = names.token_secret(shape.name)
    meta = metadata(shape, name, _own(name, labels.Component.TOKEN_SECRET))
    meta["annotations"] = {"kubernetes.io/service-account.name": names.service_account(shape.name)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": meta,
        "type": "kubernetes.io/service-account-token",
    }


def _own(name: str, component: str) -> dict[str, str]:
    return {labels.NAME: name, labels.COMPONENT: component}
