"""Lists: form, selectors, pages and resource versions."""

from __future__ import annotations

import pytest

from tests.contract.api import Api, Json
from tests.contract.objects import WIDGETS, configmap, pod, widget


def names(body: Json) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


async def some_configmaps(api: Api) -> None:
    """Four config maps. Their label ``suite`` separates them from those that a real cluster creates itself."""
    for name, labels in {
        "a": {"tier": "web", "env": "prod"},
        "b": {"tier": "web", "env": "test"},
        "c": {"tier": "db", "env": "prod"},
        "d": {},
    }.items():
        await api.created(api.path("configmaps"), configmap(name, labels={"suite": "contract", **labels}))


async def test_an_empty_list_has_items(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS))
    assert answer.code == 200
    assert (answer.body["apiVersion"], answer.body["kind"]) == ("contract.grove.test/v1", "WidgetList")
    assert answer.body["items"] == []
    assert answer.rv.isdigit()


async def test_items_of_a_built_in_list_do_not_repeat_their_kind(api: Api) -> None:
    await some_configmaps(api)
    body = (await api.get(api.path("configmaps"))).body
    assert (body["apiVersion"], body["kind"]) == ("v1", "ConfigMapList")
    assert all("kind" not in item and "apiVersion" not in item for item in body["items"])


async def test_items_of_a_custom_list_repeat_their_kind(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    item = (await widgets.get(widgets.path(WIDGETS))).body["items"][0]
    assert (item["apiVersion"], item["kind"]) == ("contract.grove.test/v1", "Widget")


async def test_a_list_is_ordered_by_name(widgets: Api) -> None:
    for name in ("c", "a", "b"):
        await widgets.created(widgets.path(WIDGETS), widget(name))
    assert names((await widgets.get(widgets.path(WIDGETS))).body) == ["a", "b", "c"]


async def test_a_list_of_a_namespace_that_does_not_exist_is_empty(api: Api) -> None:
    answer = await api.get(api.path("configmaps", namespace="nowhere"))
    assert (answer.code, answer.body["items"]) == (200, [])


async def test_a_list_across_namespaces_shows_them_all(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    body = (await widgets.get(f"/apis/{WIDGETS}")).body
    mine = [i for i in body["items"] if i["metadata"]["namespace"] == widgets.namespace]
    assert len(mine) == 1


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=web", ["a", "b"]),
        ("tier==web,env=prod", ["a"]),
        ("tier!=web", ["c", "d"]),
        ("env in (prod,test)", ["a", "b", "c"]),
        ("env notin (prod)", ["b", "d"]),
        ("tier", ["a", "b", "c"]),
        ("!tier", ["d"]),
    ],
)
async def test_label_selectors(api: Api, selector: str, expected: list[str]) -> None:
    await some_configmaps(api)
    answer = await api.get(api.path("configmaps"), labelSelector=f"suite=contract,{selector}")
    assert names(answer.body) == expected


async def test_a_malformed_label_selector_is_400(api: Api) -> None:
    answer = await api.get(api.path("configmaps"), labelSelector="a===b")
    assert (answer.code, answer.status()["reason"]) == (400, "BadRequest")
    assert answer.status()["message"].startswith("unable to parse requirement")


async def test_every_kind_can_be_selected_by_name(widgets: Api) -> None:
    for name in ("a", "b"):
        await widgets.created(widgets.path(WIDGETS), widget(name))
    answer = await widgets.get(widgets.path(WIDGETS), fieldSelector="metadata.name=b")
    assert names(answer.body) == ["b"]
    answer = await widgets.get(widgets.path(WIDGETS), fieldSelector="metadata.name!=b")
    assert names(answer.body) == ["a"]


async def test_custom_kinds_can_be_selected_by_the_fields_they_declare(widgets: Api) -> None:
    for name, color in (("a", "red"), ("b", "blue")):
        await widgets.created(widgets.path(WIDGETS), widget(name, color=color))
    answer = await widgets.get(widgets.path(WIDGETS), fieldSelector="spec.color=blue")
    assert names(answer.body) == ["b"]
    answer = await widgets.get(widgets.path(WIDGETS), fieldSelector="spec.size=1")
    assert answer.code == 400
    assert answer.status()["message"] == "field label not supported: spec.size"


async def test_pods_can_be_selected_by_node_phase_and_scheduler(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", schedulerName="volcano"))
    await api.created(api.path("pods"), pod("b", nodeName="node-of-no-one"))
    for selector, expected in {
        "spec.nodeName=node-of-no-one": ["b"],
        "spec.nodeName=": ["a"],
        "status.phase=Pending": ["a", "b"],
        "status.phase!=Pending": [],
        "spec.schedulerName=volcano": ["a"],
        "spec.restartPolicy=Always,spec.nodeName=": ["a"],
    }.items():
        answer = await api.get(api.path("pods"), fieldSelector=selector)
        assert names(answer.body) == expected, selector


async def test_an_unknown_field_selector_is_400(api: Api) -> None:
    answer = await api.get(api.path("configmaps"), fieldSelector="data.x=1")
    assert (answer.code, answer.status()["reason"]) == (400, "BadRequest")
    assert '"data.x" is not a known field selector' in answer.status()["message"]


async def test_pages_cover_the_list_once(widgets: Api) -> None:
    for name in "abcde":
        await widgets.created(widgets.path(WIDGETS), widget(name))
    path = widgets.path(WIDGETS)
    first = (await widgets.get(path, limit=2)).body
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    second = (await widgets.get(path, limit=2, **{"continue": first["metadata"]["continue"]})).body
    assert names(second) == ["c", "d"]
    third = (await widgets.get(path, limit=2, **{"continue": second["metadata"]["continue"]})).body
    assert names(third) == ["e"]
    assert not third["metadata"].get("continue")
    assert "remainingItemCount" not in third["metadata"]


async def test_later_pages_show_the_list_as_it_was_at_the_first(widgets: Api) -> None:
    for name in "ac":
        await widgets.created(widgets.path(WIDGETS), widget(name))
    path = widgets.path(WIDGETS)
    first = (await widgets.get(path, limit=1)).body
    await widgets.created(path, widget("b"))
    await widgets.delete(widgets.path(WIDGETS, "c"))
    second = (await widgets.get(path, limit=1, **{"continue": first["metadata"]["continue"]})).body
    assert names(second) == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_pages_with_a_selector_have_no_remaining_item_count(api: Api) -> None:
    await some_configmaps(api)
    body = (await api.get(api.path("configmaps"), limit=1, labelSelector="tier=web")).body
    assert names(body) == ["a"]
    assert body["metadata"]["continue"]
    assert "remainingItemCount" not in body["metadata"]


async def test_a_malformed_continue_token_is_400(api: Api) -> None:
    answer = await api.get(api.path("configmaps"), **{"continue": "nonsense"})
    assert (answer.code, answer.status()["reason"]) == (400, "BadRequest")
    assert answer.status()["message"].startswith("invalid continue token: continue key is not valid")


async def test_a_malformed_limit_is_400(api: Api) -> None:
    answer = await api.get(api.path("configmaps"), limit="x")
    assert (answer.code, answer.status()["reason"]) == (400, "BadRequest")


async def test_a_list_at_an_exact_version_shows_the_past(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    await widgets.created(path, widget("a"))
    then = (await widgets.get(path)).rv
    await widgets.created(path, widget("b"))
    answer = await widgets.get(path, resourceVersion=then, resourceVersionMatch="Exact")
    assert (names(answer.body), answer.rv) == (["a"], then)


async def test_a_list_not_older_than_a_version_may_be_newer(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    obj = await widgets.created(path, widget("a"))
    since = obj["metadata"]["resourceVersion"]
    answer = await widgets.get(path, resourceVersion=since, resourceVersionMatch="NotOlderThan")
    assert names(answer.body) == ["a"]
    assert int(answer.rv) >= int(since)


async def test_a_version_match_needs_a_version(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS), resourceVersionMatch="Exact")
    assert answer.code == 422
    assert answer.causes() == [("resourceVersionMatch", "FieldValueForbidden")]
    assert answer.status()["details"]["kind"] == "ListOptions"


async def test_a_list_from_the_future_times_out(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS), resourceVersion="999999999")
    status = answer.status()
    assert (status["code"], status["reason"]) == (504, "Timeout")
    assert status["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert status["details"]["retryAfterSeconds"] == 1
