"""Lists and watches of versions that the server has compacted."""

from __future__ import annotations

from tests.contract.api import Api, Json
from tests.contract.conftest import Connection
from tests.contract.objects import WIDGETS, widget


def names(body: Json) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


async def test_pages_of_a_compacted_list_expire_and_offer_an_inconsistent_continuation(
    widgets: Api, connection: Connection
) -> None:
    path = widgets.path(WIDGETS)
    for name in "ad":
        await widgets.created(path, widget(name))
    first = (await widgets.get(path, limit=1)).body
    await widgets.created(path, widget("b"))
    connection.compact()
    token = {"continue": first["metadata"]["continue"]}
    expired = await widgets.eventually(path, lambda answer: answer.code == 410, limit=1, **token)
    status = expired.status()
    assert status["reason"] == "Expired"
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result. "
    )
    rest = await widgets.get(path, **{"continue": status["metadata"]["continue"]})
    assert names(rest.body) == ["b", "d"]
    assert int(rest.rv) > int(first["metadata"]["resourceVersion"])


async def test_a_compacted_version_cannot_be_listed(widgets: Api, connection: Connection) -> None:
    path = widgets.path(WIDGETS)
    await widgets.created(path, widget("a"))
    then = (await widgets.get(path)).rv
    await widgets.created(path, widget("b"))
    connection.compact()
    expired = await widgets.eventually(
        path, lambda answer: answer.code == 410, resourceVersion=then, resourceVersionMatch="Exact"
    )
    assert expired.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "The resourceVersion for the provided list is too old.",
        "reason": "Expired",
        "code": 410,
    }


async def test_compaction_keeps_the_present_objects(widgets: Api, connection: Connection) -> None:
    path = widgets.path(WIDGETS)
    await widgets.created(path, widget("a"))
    connection.compact()
    listed = await widgets.get(path)
    assert names(listed.body) == ["a"]
    async with widgets.watch(path, resourceVersion=listed.rv) as watch:
        await widgets.created(path, widget("b"))
        assert await watch.take(1) == [("ADDED", "b")]
