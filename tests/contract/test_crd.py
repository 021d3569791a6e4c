"""Custom resource definitions: validated, served, changed, deleted."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from tests.contract.api import PATIENCE, Api, Json
from tests.contract.conftest import established
from tests.contract.objects import CRDS, GROUP, WIDGET_CRD, crd

ANYTHING: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fresh(**options: Any) -> Json:
    """A definition of a kind that no other case uses."""
    suffix = "".join(secrets.choice("abcdefgh") for _ in range(8))
    return crd(f"things{suffix}", f"Thing{suffix}", options.pop("schema", ANYTHING), **options)


def conditions(obj: Json) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in obj["status"]["conditions"]}


async def serve(api: Api, definition: Json) -> str:
    """Creates a definition and returns the path of its objects."""
    await api.created(CRDS, definition)
    await established(api, definition["metadata"]["name"])
    plural = definition["spec"]["names"]["plural"]
    if definition["spec"]["scope"] == "Cluster":
        return f"/apis/{GROUP}/v1/{plural}"
    return api.path(f"{GROUP}/v1/{plural}")


async def test_a_definition_becomes_established(widgets: Api) -> None:
    answer = await widgets.get(f"{CRDS}/widgets.{GROUP}")
    assert conditions(answer.body) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    status = answer.body["status"]
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["wd"],
        "kind": "Widget",
        "listKind": "WidgetList",
        "categories": ["contract"],
    }


async def test_names_that_were_left_out_are_filled_in(api: Api) -> None:
    definition = fresh()
    names = definition["spec"]["names"]
    expected = dict(names)
    del names["singular"], names["listKind"]
    answer = await api.create(CRDS, definition)
    assert answer.body["spec"]["names"] == expected
    assert answer.body["spec"]["conversion"] == {"strategy": "None"}


async def test_the_name_must_be_plural_dot_group(api: Api) -> None:
    definition = fresh()
    definition["metadata"]["name"] = "wrong.example"
    answer = await api.create(CRDS, definition)
    assert answer.code == 422
    assert ("metadata.name", "FieldValueInvalid") in answer.causes()


async def test_a_schema_must_be_structural(api: Api) -> None:
    answer = await api.create(CRDS, fresh(schema={"type": "object", "properties": {"spec": {}}}))
    assert answer.code == 422
    assert [cause for cause in answer.causes() if cause[1] == "FieldValueRequired"] == [
        ("spec.validation.openAPIV3Schema.properties[spec].type", "FieldValueRequired")
    ]


async def test_a_rule_that_does_not_compile_is_refused(api: Api) -> None:
    rule = {"type": "object", "x-kubernetes-validations": [{"rule": "self.nope >"}]}
    answer = await api.create(CRDS, fresh(schema={"type": "object", "properties": {"spec": rule}}))
    assert answer.code == 422
    assert "compilation failed" in answer.status()["message"]


async def test_a_rule_of_unbounded_cost_is_refused(api: Api) -> None:
    items = {"type": "array", "items": {"type": "string"}}
    rule = "self.a.all(x, self.a.all(y, x == y))"
    spec = {"type": "object", "properties": {"a": items}, "x-kubernetes-validations": [{"rule": rule}]}
    answer = await api.create(CRDS, fresh(schema={"type": "object", "properties": {"spec": spec}}))
    assert answer.code == 422
    assert "estimated rule cost exceeds budget" in answer.status()["message"]


async def test_a_default_must_fit_its_schema(api: Api) -> None:
    spec = {"type": "object", "properties": {"n": {"type": "integer", "default": "x"}}}
    answer = await api.create(CRDS, fresh(schema={"type": "object", "properties": {"spec": spec}}))
    assert answer.code == 422
    assert "default" in answer.causes()[0][0]


async def test_exactly_one_version_is_stored(api: Api) -> None:
    definition = fresh()
    definition["spec"]["versions"][0]["storage"] = False
    answer = await api.create(CRDS, definition)
    assert answer.code == 422
    assert ("spec.versions", "FieldValueInvalid") in answer.causes()


async def test_a_cluster_scoped_kind_has_no_namespace(api: Api) -> None:
    definition = fresh(scope="Cluster")
    path = await serve(api, definition)
    kind = definition["spec"]["names"]["kind"]
    obj = await api.created(
        path, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": {}}
    )
    assert "namespace" not in obj["metadata"]
    inside = f"/apis/{GROUP}/v1/namespaces/{api.namespace}/{definition['spec']['names']['plural']}"
    assert (await api.get(inside)).code == 404


async def test_a_kind_without_a_status_subresource_has_no_such_path(api: Api) -> None:
    definition = fresh()
    path = await serve(api, definition)
    kind = definition["spec"]["names"]["kind"]
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}, "status": {"n": 1}}
    obj = await api.created(path, body)
    assert obj["status"] == {"n": 1}  # without a status subresource, anybody may write it
    assert (await api.get(f"{path}/a/status")).code == 404
    changed = await api.patch(f"{path}/a", {"status": {"n": 2}})
    assert changed.body["metadata"]["generation"] == 2


async def test_a_changed_schema_takes_effect(api: Api) -> None:
    spec: Json = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}
    definition = fresh(schema={"type": "object", "properties": {"spec": spec}})
    path = await serve(api, definition)
    kind = definition["spec"]["names"]["kind"]
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"generateName": "a"}, "spec": {"n": 9}}
    assert (await api.create(path, body)).code == 422
    change = [
        {
            "op": "replace",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/maximum",
            "value": 10,
        }
    ]
    name = definition["metadata"]["name"]
    changed = await api.patch(f"{CRDS}/{name}", change, "application/json-patch+json")
    assert changed.code == 200
    assert changed.body["metadata"]["generation"] == 2
    await eventually_created(api, path, body)


async def test_deleting_a_definition_deletes_its_objects_and_its_path(api: Api) -> None:
    definition = fresh()
    path = await serve(api, definition)
    name, kind = definition["metadata"]["name"], definition["spec"]["names"]["kind"]
    await api.created(path, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}})
    assert (await api.delete(f"{CRDS}/{name}")).code == 200
    await api.gone(f"{CRDS}/{name}")
    await api.gone(path)
    await serve(api, definition)
    assert (await api.get(path)).body["items"] == []


async def test_a_definition_that_exists_already_is_a_conflict(widgets: Api) -> None:
    answer = await widgets.create(CRDS, WIDGET_CRD)
    assert (answer.code, answer.status()["reason"]) == (409, "AlreadyExists")


async def eventually_created(api: Api, path: str, body: Json) -> None:
    """Retries the create: a real server takes a moment to apply a new schema."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if (await api.create(path, body)).code == 201:
                return
            await asyncio.sleep(0.1)
