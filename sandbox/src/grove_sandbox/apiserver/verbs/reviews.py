"""Token and access reviews. The embedded cluster authenticates nobody and allows everything."""

from grove.runtime.client.transport import Response

from grove_sandbox.apiserver.errors import method_not_allowed
from grove_sandbox.apiserver.requests.decoding import read_body
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.resources.strategy import Strategy
from grove_sandbox.apiserver.responses.encoding import respond
from grove_sandbox.apiserver.schema.shapes import Shape
from grove_sandbox.apiserver.state import USER, ApiCall
from grove_sandbox.apiserver.storage import Object

_ALL = ["*"]


def _review(group: str, kind: str, *, namespaced: bool = False) -> ServedResource:
    return ServedResource(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=namespaced,
        strategy=Strategy(Shape()),
        verbs=("create",),
    )


REVIEWS = (
    _review("authentication.k8s.io", "TokenReview"),
    _review("authentication.k8s.io", "SelfSubjectReview"),
    _review("authorization.k8s.io", "SelfSubjectAccessReview"),
    _review("authorization.k8s.io", "SelfSubjectRulesReview"),
    _review("authorization.k8s.io", "SubjectAccessReview"),
    _review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True),
)


def answer(call: ApiCall, method: str) -> Response:
    if method != "POST":
        raise method_not_allowed()
    review = {**read_body(call), "metadata": {}, "status": _STATUS[call.type.kind]}
    return respond(call, review, 201)


_ALLOWED: Object = {"allowed": True, "reason": "the embedded cluster allows everything"}
_STATUS: dict[str, Object] = {
    "TokenReview": {"authenticated": True, "user": USER},
    "SelfSubjectReview": {"userInfo": USER},
    "SelfSubjectAccessReview": _ALLOWED,
    "SubjectAccessReview": _ALLOWED,
    "LocalSubjectAccessReview": _ALLOWED,
    "SelfSubjectRulesReview": {
        "resourceRules": [{"verbs": _ALL, "apiGroups": _ALL, "resources": _ALL}],
        "nonResourceRules": [{"verbs": _ALL, "nonResourceURLs": _ALL}],
        "incomplete": False,
    },
}
