"""Admission webhooks: mutating, then validating."""

import base64
import ssl
from typing import Any

import orjson
import pytest
import trustme
from aiohttp import web
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.webhooks import call_webhook

from tests.unit.sandbox.apiserver.calls import CONFIG_MAPS, Calls, config_map

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Hooks:
    """Replaces the network: answers reviews in process and records them."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.response: dict[str, Any] = {"allowed": True}
        self.error: Exception | None = None

    async def call(self, config: dict[str, Any], review: bytes, seconds: float) -> bytes:
        if self.error:
            raise self.error
        request = orjson.loads(review)["request"]
        self.requests.append(request)
        return orjson.dumps({"response": {"uid": request["uid"], **self.response}})


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


@pytest.fixture
def api(hooks: Hooks) -> Calls:
    return Calls(ApiServer(call_webhook=hooks.call))


def configuration(**hook: Any) -> dict[str, Any]:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    settings = {"name": "a.example.com", "clientConfig": {"url": "https://x"}, "sideEffects": "None"}
    return {
        "metadata": {"name": "a"},
        "webhooks": [{**settings, "rules": [rule], "admissionReviewVersions": ["v1"], **hook}],
    }


def patch(*steps: dict[str, Any]) -> dict[str, Any]:
    encoded = base64.b64encode(orjson.dumps(list(steps))).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


async def test_a_mutating_webhook_changes_what_is_stored(api: Calls, hooks: Hooks) -> None:
    await api.create(MUTATING, configuration())
    hooks.response = patch({"op": "add", "path": "/data/added", "value": "yes"})
    created = await api.create(CONFIG_MAPS, config_map("a", k="v"))
    assert created["data"] == {"k": "v", "added": "yes"}
    (request,) = hooks.requests
    assert (request["operation"], request["object"]["kind"]) == ("CREATE", "ConfigMap")


async def test_a_validating_webhook_refuses_with_its_own_message(api: Calls, hooks: Hooks) -> None:
    await api.create(VALIDATING, configuration())
    hooks.response = {"allowed": False, "status": {"code": 403, "message": "no", "reason": "Forbidden"}}
    status, answer = await api.call("POST", CONFIG_MAPS, config_map("a"))
    assert (status, answer["message"]) == (403, 'admission webhook "a.example.com" denied the request: no')
    assert not await api.exists(f"{CONFIG_MAPS}/a")


async def test_a_webhook_gets_the_old_object_of_a_deletion(api: Calls, hooks: Hooks) -> None:
    await api.create(CONFIG_MAPS, config_map("a"))
    await api.create(VALIDATING, configuration())
    await api.delete(f"{CONFIG_MAPS}/a")
    (request,) = hooks.requests
    assert (request["operation"], request["object"]) == ("DELETE", None)
    assert request["oldObject"]["metadata"]["name"] == "a"


async def test_a_webhook_is_called_only_for_writes_that_its_rules_and_selectors_match(
    api: Calls, hooks: Hooks
) -> None:
    await api.create(VALIDATING, configuration(objectSelector={"matchLabels": {"ask": "me"}}))
    await api.create(CONFIG_MAPS, config_map("a"))
    await api.create(
        "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s", "labels": {"ask": "me"}}}
    )
    assert hooks.requests == []
    asked = config_map("b")
    asked["metadata"]["labels"] = {"ask": "me"}
    await api.create(CONFIG_MAPS, asked)
    assert [request["name"] for request in hooks.requests] == ["b"]


async def test_a_failed_webhook_call_fails_the_request_unless_it_may_be_ignored(
    api: Calls, hooks: Hooks
) -> None:
    await api.create(VALIDATING, configuration())
    hooks.error = OSError("connection refused")
    status, answer = await api.call("POST", CONFIG_MAPS, config_map("a"))
    assert status == 500
    assert 'failed calling webhook "a.example.com"' in answer["message"]
    await api.patch(f"{VALIDATING}/a", {"webhooks": configuration(failurePolicy="Ignore")["webhooks"]})
    await api.create(CONFIG_MAPS, config_map("a"))


async def test_warnings_of_a_webhook_reach_the_client(api: Calls, hooks: Hooks) -> None:
    from grove.runtime.client.transport import Request

    await api.create(VALIDATING, configuration())
    hooks.response = {"allowed": True, "warnings": ["mind the gap"]}
    body = orjson.dumps(config_map("a"))
    response = await api.server.send(Request("POST", CONFIG_MAPS, {}, {}, body))
    assert response.headers["warning"] == '299 - "mind the gap"'


async def test_reviews_are_sent_over_https_and_verified_with_the_ca_bundle() -> None:
    async def answer(request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        return web.json_response({"response": {"uid": review["request"]["uid"], "allowed": True}})

    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        url = f"https://127.0.0.1:{runner.addresses[0][1]}/"
        bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
        review = orjson.dumps({"request": {"uid": "1"}})
        body = await call_webhook({"url": url, "caBundle": bundle}, review, 5.0)
        assert orjson.loads(body)["response"] == {"uid": "1", "allowed": True}
        with pytest.raises(OSError, match="certificate"):
            await call_webhook({"url": url}, review, 5.0)
    finally:
        await runner.cleanup()
