"""Kinds that Grove has no model of its own for: Services, autoscalers, claims, roles, the objects of schedulers.

A `Companion` keeps the metadata that it is found by, and its JSON, which is compared with what is desired.
"""

import msgspec

from grove.runtime.client.objects import APIResource, PartialMetadata

PODS = APIResource("", "v1", "pods", "Pod")
SERVICES = APIResource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = APIResource("", "v1", "serviceaccounts", "ServiceAccount")
SECRETS = APIResource("", "v1", "secrets", "Secret")
ROLES = APIResource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = APIResource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
AUTOSCALERS = APIResource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
CLAIMS = APIResource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
CLAIM_TEMPLATES = APIResource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
COMPUTE_DOMAINS = APIResource("resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain")

COMPANIONS = (SERVICES, SERVICE_ACCOUNTS, SECRETS, ROLES, ROLE_BINDINGS, AUTOSCALERS)
# A cluster may not serve these.
OPTIONAL_COMPANIONS = (CLAIMS, COMPUTE_DOMAINS)
OPTIONAL_KINDS = (*OPTIONAL_COMPANIONS, CLAIM_TEMPLATES)


class Companion(msgspec.Struct, kw_only=True):
    metadata: PartialMetadata
    kind: str = ""
    body: bytes = b""
    """The whole object as the server sent it."""


def decode_companion(body: bytes) -> Companion:
    found = _decoder.decode(body)
    found.body = body
    return found


_decoder = msgspec.json.Decoder(Companion)
