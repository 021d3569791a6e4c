"""A feature that the embedded server lacks is refused with 501, never ignored."""

import pytest
from grove_sandbox.apiserver import ApiServer

from grove.runtime.client.transport import Request
from tests.unit.sandbox.apiserver.calls import CRDS, PODS, Calls, pod

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture
async def api() -> Calls:
    calls = Calls(ApiServer())
    await calls.create(PODS, pod("p"))
    return calls


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{PODS}/p/log"),
        ("POST", f"{PODS}/p/exec"),
        ("GET", f"{PODS}/p/portforward"),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token"),
        ("GET", "/openapi/v2"),
    ],
)
async def test_an_unimplemented_feature_answers_501_with_a_reason(api: Calls, method: str, path: str) -> None:
    status, answer = await api.call(method, path)
    assert (status, answer["reason"]) == (501, "NotImplemented")
    assert answer["message"].startswith("the embedded cluster does not implement ")


async def test_a_webhook_that_would_never_be_called_cannot_be_registered(api: Calls) -> None:
    hook = {"name": "a.example.com", "clientConfig": {"url": "https://x"}, "sideEffects": "None"}
    status, _ = await api.call("POST", WEBHOOKS, {"metadata": {"name": "a"}, "webhooks": [hook]})
    assert status == 501


async def test_a_conversion_webhook_is_refused(api: Calls) -> None:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    spec = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version],
        "conversion": {"strategy": "Webhook"},
    }
    status, _ = await api.call("POST", CRDS, {"metadata": {"name": "things.example.com"}, "spec": spec})
    assert status == 501


async def test_an_unknown_kind_is_not_found(api: Calls) -> None:
    response = await api.server.send(Request("GET", "/apis/apps/v1/deployments"))
    assert response.status == 404
