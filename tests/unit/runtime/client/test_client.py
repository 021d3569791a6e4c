"""The client: what is sent again, and which error the caller gets in the end."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from grove.runtime.cache.cache import Cache
from grove.runtime.client import requests
from grove.runtime.client.client import Client
from grove.runtime.client.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NamespaceTerminating,
    NotFound,
    ServerError,
    TransportError,
    Unauthorized,
    Vanished,
)
from grove.runtime.client.objects import ObjectKey, PartialObject
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.client.transport import Response
from tests.unit.runtime.scripted import HANG, JSON, PODS, Answer, Pod, Script, decode, ok, pod_list, refusal

pytestmark = pytest.mark.looptime

A = ObjectKey("default", "a")


def pods(script: Script) -> ResourceClient[PartialObject]:
    return ResourceClient(Client(script, field_manager="test"), PODS, decode)


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (418, "Teapot", ApiError),
    ],
)
async def test_a_refusal_is_a_typed_error_with_the_servers_status(
    code: int, reason: str, error: type[ApiError]
) -> None:
    script = Script(refusal(code, reason, "because"))
    with pytest.raises(ApiError) as caught:
        await pods(script).get(A)
    assert type(caught.value) is error
    assert caught.value.status.reason == reason
    assert str(caught.value) == f"GET /api/v1/namespaces/default/pods/a: {code} because"
    assert len(script.requests) == 1


@pytest.mark.parametrize(("names", "error"), [("a", Vanished), ("", NotFound)])
async def test_a_deleted_object_is_told_apart_from_a_kind_that_is_not_served(
    names: str, error: type[ApiError]
) -> None:
    status = {"kind": "Status", "reason": "NotFound", "code": 404, "details": {"name": names, "kind": "pods"}}
    for change in (ResourceClient.merge_patch, ResourceClient.json_patch, ResourceClient.update):
        with pytest.raises(NotFound) as caught:
            await change(pods(Script(ok(status, 404))), A, b"{}")
        assert type(caught.value) is error
    with pytest.raises(NotFound) as caught:
        await pods(Script(ok(status, 404))).create("default", b"{}")
    assert type(caught.value) is NotFound


@pytest.mark.parametrize(
    ("cause", "error"), [("NamespaceTerminating", NamespaceTerminating), ("Other", Forbidden)]
)
async def test_a_terminating_namespace_is_told_apart_from_missing_rights(
    cause: str, error: type[ApiError]
) -> None:
    status = {"kind": "Status", "reason": "Forbidden", "details": {"causes": [{"reason": cause}]}}
    with pytest.raises(Forbidden) as caught:
        await pods(Script(ok(status, 403))).create("default", b"{}")
    assert type(caught.value) is error


async def test_an_error_without_a_status_object_quotes_the_answer() -> None:
    script = Script(*[Response(502, {}, b"<html>Bad gateway</html>")] * 6)
    with pytest.raises(ServerError, match="502 <html>Bad gateway"):
        await pods(script).get(A)


@pytest.mark.parametrize(
    "failure",
    [
        refusal(429, "TooManyRequests", headers={"retry-after": "7"}),
        refusal(500, "InternalError"),
        refusal(503, "ServiceUnavailable"),
        refusal(504, "Timeout"),
        TransportError("reset"),
        HANG,
    ],
    ids=["429", "500", "503", "504", "reset", "timeout"],
)
async def test_a_temporary_failure_is_retried_with_the_same_body(failure: Answer) -> None:
    script = Script(failure, failure, ok(Pod("a", 3).json))
    found = await pods(script).merge_patch(A, b'{"x":1}')
    assert found.metadata.resource_version == "3"
    assert [r.body for r in script.requests] == [b'{"x":1}'] * 3


async def test_a_permanent_failure_is_raised_after_the_last_attempt() -> None:
    script = Script(*[refusal(500)] * 100)
    with pytest.raises(ServerError):
        await pods(script).get(A)
    assert len(script.requests) == 6


async def test_retry_after_is_honoured() -> None:
    script = Script(refusal(429, headers={"retry-after": "7"}), ok(Pod("a", 3).json))
    started = asyncio.get_running_loop().time()
    await pods(script).get(A)
    assert asyncio.get_running_loop().time() - started >= 7


async def test_no_other_request_starts_during_a_retry_after() -> None:
    script = Script(refusal(429, headers={"retry-after": "7"}), *[ok(Pod("a", 3).json)] * 2)
    collection = pods(script)
    first = asyncio.create_task(collection.get(A))
    await asyncio.sleep(1)
    second = asyncio.create_task(collection.get(A))
    await asyncio.sleep(5)
    assert len(script.requests) == 1
    await asyncio.gather(first, second)


async def test_a_create_whose_answer_was_lost_ends_in_already_exists_and_not_in_two_objects() -> None:
    script = Script(TransportError("reset"), refusal(409, "AlreadyExists"))
    with pytest.raises(AlreadyExists):
        await pods(script).create("default", b"{}")


@pytest.mark.parametrize(
    "failure", [TransportError("reset"), refusal(500), HANG], ids=["reset", "500", "timeout"]
)
async def test_a_create_with_a_generated_name_is_never_sent_twice(failure: Answer) -> None:
    script = Script(failure)
    with pytest.raises((TransportError, ServerError)):
        await pods(script).create("default", b"{}", generate_name=True)
    assert len(script.requests) == 1


async def test_a_create_with_a_generated_name_is_retried_if_it_was_certainly_not_applied() -> None:
    script = Script(TransportError("refused", sent=False), refusal(429), ok(Pod("a", 3).json))
    await pods(script).create("default", b"{}", generate_name=True)
    assert len(script.requests) == 3


async def test_a_conflict_is_for_the_caller_to_decide() -> None:
    script = Script(refusal(409, "Conflict"))
    with pytest.raises(Conflict):
        await pods(script).update(A, b"{}")
    assert len(script.requests) == 1


async def test_deleting_an_object_that_does_not_exist_is_no_error() -> None:
    script = Script(TransportError("reset"), refusal(404, "NotFound"))
    await pods(script).delete(A, uid="u")


async def test_a_delete_of_another_object_of_that_name_is_refused() -> None:
    script = Script(refusal(409, "Conflict"))
    with pytest.raises(Conflict):
        await pods(script).delete(A, uid="u")
    assert b'"preconditions":{"uid":"u"}' in script.requests[0].body


async def test_a_list_is_read_to_its_last_page() -> None:
    script = Script(pod_list(Pod("a", 1), version=9, more="x"), pod_list(Pod("b", 2), version=9))
    found = await pods(script).list("default")
    assert [o.metadata.name for o in found.items] == ["a", "b"]
    assert found.resource_version == "9"


async def test_a_list_whose_continue_token_expires_is_repeated_without_paging() -> None:
    script = Script(
        pod_list(Pod("a", 1), version=9, more="x"), refusal(410), pod_list(Pod("b", 2), version=12)
    )
    found = await pods(script).list()
    assert [o.metadata.name for o in found.items] == ["b"]


async def test_a_scale_is_read_and_set_through_its_subresource() -> None:
    answer = {"kind": "Scale", "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b"}}
    script = Script(ok(answer), ok(answer))
    found = await pods(script).set_scale(A, 3)
    assert (found.replicas, found.current, found.selector) == (3, 2, "a=b")
    assert script.requests[0].path.endswith("/pods/a/scale")
    assert script.requests[0].body == b'{"spec":{"replicas":3}}'
    assert await pods(script).get_scale(A) == found


async def test_a_malformed_answer_is_an_error_that_says_so() -> None:
    script = Script(Response(200, JSON, b"hello"))
    with pytest.raises(TransportError, match="not an answer to a list"):
        await pods(script).list()


async def test_requests_are_counted_by_verb_resource_and_code() -> None:
    script = Script(refusal(429), TransportError("reset"), ok(Pod("a", 3).json))
    client = Client(script)
    await client.send(requests.get(PODS, "default", "a"))
    text = client.metrics.text().decode()
    assert 'kube_requests_total{code="429",resource="pods",verb="get"} 1.0' in text
    assert 'kube_requests_total{code="none",resource="pods",verb="get"} 1.0' in text
    assert 'kube_requests_total{code="200",resource="pods",verb="get"} 1.0' in text
    assert 'kube_request_retries_total{resource="pods",verb="get"} 2.0' in text


FROM_A_PROXY = [
    Response(302, {"location": "https://login.example/"}, b""),
    Response(200, {"content-type": "text/html"}, b"<html>please log in</html>"),
    Response(200, {}, b"{}"),
    Response(204, {}, b""),
]


@pytest.mark.parametrize("answer", FROM_A_PROXY, ids=["redirect", "page", "no content type", "no content"])
async def test_an_answer_of_a_proxy_counts_as_missing_and_is_retried(answer: Response) -> None:
    script = Script(answer, ok(Pod("a", 3).json))
    assert (await pods(script).get(A)).metadata.resource_version == "3"


async def test_a_create_with_a_generated_name_that_a_proxy_answers_is_not_retried() -> None:
    script = Script(FROM_A_PROXY[1])
    with pytest.raises(TransportError, match="not the answer of an API server"):
        await pods(script).create("default", b"{}", generate_name=True)


@pytest.mark.parametrize("act", ["get", "create", "merge_patch", "delete", "list"])
async def test_a_truncated_object_is_a_transport_error(act: str) -> None:
    script = Script(Response(200, JSON, b'{"kind":"Pod","metadata":{"name":"a","uid":"'))
    cache: Cache[PartialObject] = Cache()
    objects = ResourceClient(Client(script), PODS, decode, cache=cache)
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "get": lambda: objects.get(A),
        "create": lambda: objects.create("default", b"{}"),
        "merge_patch": lambda: objects.merge_patch(A, b"{}"),
        "delete": lambda: objects.delete(A),
        "list": lambda: objects.list(),
    }
    with pytest.raises(TransportError):
        await calls[act]()
    assert list(cache) == []
