"""Other forms of a response: Table for kubectl get, metadata only for controllers."""

from __future__ import annotations

from tests.contract.api import Api
from tests.contract.objects import WIDGETS, configmap, pod, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


async def test_printer_columns_make_the_table(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", size=5, color="red"))
    await widgets.created(widgets.path(WIDGETS), widget("b"))
    answer = await widgets.get(widgets.path(WIDGETS), accept=TABLE)
    table = answer.body
    assert (table["apiVersion"], table["kind"]) == ("meta.k8s.io/v1", "Table")
    columns = [(c["name"], c["type"], c["format"], c["priority"]) for c in table["columnDefinitions"]]
    assert columns == [
        ("Name", "string", "name", 0),
        ("Size", "integer", "", 0),
        ("Color", "string", "", 1),
        ("Phase", "string", "", 0),
        ("Age", "date", "", 0),
    ]
    assert table["columnDefinitions"][1]["description"] == "how big"
    a, b = [row["cells"] for row in table["rows"]]
    assert a[:4] == ["a", 5, "red", None]
    assert b[:4] == ["b", 1, None, None]
    assert a[4].endswith("s")


async def test_rows_contain_metadata_by_default(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    path = widgets.path(WIDGETS)
    (row,) = (await widgets.get(path, accept=TABLE)).body["rows"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["uid"] == obj["metadata"]["uid"]
    (row,) = (await widgets.get(path, accept=TABLE, includeObject="Object")).body["rows"]
    assert row["object"]["spec"] == obj["spec"]
    (row,) = (await widgets.get(path, accept=TABLE, includeObject="None")).body["rows"]
    assert row.get("object") is None


async def test_one_object_is_a_table_of_one_row(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    table = (await widgets.get(widgets.path(WIDGETS, "a"), accept=TABLE)).body
    assert table["kind"] == "Table"
    assert [row["cells"][0] for row in table["rows"]] == ["a"]


async def test_an_empty_table_still_has_columns(widgets: Api) -> None:
    table = (await widgets.get(widgets.path(WIDGETS), accept=TABLE)).body
    assert table["rows"] == []
    assert len(table["columnDefinitions"]) == 5


async def test_pods_have_the_columns_kubectl_shows(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", gates=("x",)))
    await api.created(api.path("pods"), pod("b"))
    table = (await api.get(api.path("pods"), accept=TABLE)).body
    assert [c["name"] for c in table["columnDefinitions"]] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
        "IP",
        "Node",
        "Nominated Node",
        "Readiness Gates",
    ]
    a, b = [row["cells"] for row in table["rows"]]
    assert a[:3] == ["a", "0/1", "SchedulingGated"]
    assert b[:3] == ["b", "0/1", "Pending"]
    assert str(b[3]) == "0"
    assert b[5:] == ["<none>", "<none>", "<none>", "<none>"]


async def test_a_pod_that_ends_shows_it(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", nodeName="node-of-no-one"))
    await api.delete(api.path("pods", "a"))
    table = (await api.get(api.path("pods"), accept=TABLE)).body
    (row,) = table["rows"]
    assert row["cells"][2] == "Terminating"


async def test_config_maps_show_the_number_of_their_keys(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a", one="1", two="2"))
    table = (await api.get(api.path("configmaps", "a"), accept=TABLE)).body
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert str(table["rows"][0]["cells"][1]) == "2"


async def test_a_watch_can_send_tables(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    async with widgets.watch(path, accept=TABLE) as watch:
        await widgets.created(path, widget("a"))
        first = await watch.next()
        await widgets.created(path, widget("b"))
        second = await watch.next()
    assert first["object"]["kind"] == "Table"
    assert len(first["object"]["columnDefinitions"]) == 5
    assert first["object"]["rows"][0]["cells"][0] == "a"
    assert not second["object"].get("columnDefinitions")  # only in the first event


async def test_an_error_is_never_a_table(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS, "a"), accept=TABLE)
    assert (answer.code, answer.status()["reason"]) == (404, "NotFound")


async def test_metadata_alone_of_one_object(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    body = (await widgets.get(widgets.path(WIDGETS, "a"), accept=METADATA)).body
    assert (body["apiVersion"], body["kind"]) == ("meta.k8s.io/v1", "PartialObjectMetadata")
    assert body["metadata"]["uid"] == obj["metadata"]["uid"]
    assert "spec" not in body


async def test_metadata_alone_of_a_list(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    body = (await widgets.get(widgets.path(WIDGETS), accept=METADATA_LIST)).body
    assert body["kind"] == "PartialObjectMetadataList"
    assert ["spec" in item for item in body["items"]] == [False]
