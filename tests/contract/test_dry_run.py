"""The query parameters `dryRun` and `fieldValidation` of writes."""

from __future__ import annotations

import json

from tests.contract.api import Api
from tests.contract.objects import WIDGETS, configmap, widget


async def test_a_dry_run_create_answers_as_if_and_stores_nothing(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("a"), dryRun="All")
    assert answer.code == 201
    assert answer.uid
    assert answer.body["metadata"].get("resourceVersion") is None
    assert (await api.get(api.path("configmaps", "a"))).code == 404


async def test_a_dry_run_applies_defaults_and_validation(widgets: Api) -> None:
    good = await widgets.create(widgets.path(WIDGETS), widget("a"), dryRun="All")
    assert good.body["spec"]["size"] == 1
    bad = await widgets.create(widgets.path(WIDGETS), widget("a", size=200), dryRun="All")
    assert bad.code == 422


async def test_a_dry_run_update_changes_nothing(api: Api) -> None:
    obj = await api.created(api.path("configmaps"), configmap("a", k="v"))
    answer = await api.update(api.path("configmaps", "a"), configmap("a", k="w"), dryRun="All")
    assert (answer.code, answer.body["data"]) == (200, {"k": "w"})
    stored = await api.get(api.path("configmaps", "a"))
    assert (stored.body["data"], stored.rv) == ({"k": "v"}, obj["metadata"]["resourceVersion"])


async def test_a_dry_run_patch_changes_nothing(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a", k="v"))
    answer = await api.patch(api.path("configmaps", "a"), {"data": {"k": "w"}}, dryRun="All")
    assert answer.body["data"] == {"k": "w"}
    assert (await api.get(api.path("configmaps", "a"))).body["data"] == {"k": "v"}


async def test_a_dry_run_delete_deletes_nothing(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    assert (await api.delete(api.path("configmaps", "a"), dryRun="All")).code == 200
    assert (await api.get(api.path("configmaps", "a"))).code == 200


async def test_only_all_is_a_dry_run(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("a"), dryRun="Some")
    assert answer.code == 422
    assert ("dryRun", "FieldValueNotSupported") in answer.causes()
    assert (await api.get(api.path("configmaps", "a"))).code == 404


async def test_strict_validation_refuses_unknown_fields(widgets: Api) -> None:
    body = widget("a", nope=1)
    answer = await widgets.create(widgets.path(WIDGETS), body, fieldValidation="Strict")
    assert answer.code == 400
    assert answer.status()["reason"] == "BadRequest"
    assert answer.status()["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "spec.nope"'
    )


async def test_strict_validation_of_a_built_in_kind(api: Api) -> None:
    body = configmap("a") | {"nope": 1}
    answer = await api.create(api.path("configmaps"), body, fieldValidation="Strict")
    assert answer.status()["message"] == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "nope"'
    )


async def test_warn_validation_drops_unknown_fields_and_says_so(widgets: Api) -> None:
    body = widget("a", nope=1)
    answer = await widgets.create(widgets.path(WIDGETS), body, fieldValidation="Warn")
    assert answer.code == 201
    assert "nope" not in answer.body["spec"]
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.nope\\""'


async def test_warn_is_the_default(widgets: Api) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a", nope=1))
    assert answer.code == 201
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.nope\\""'


async def test_ignore_validation_is_silent(widgets: Api) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a", nope=1), fieldValidation="Ignore")
    assert answer.code == 201
    assert "warning" not in answer.headers


async def test_strict_validation_refuses_a_field_given_twice(api: Api) -> None:
    text = json.dumps(configmap("a", k="v")).replace('"data": {', '"data": {"k": "u", ')
    answer = await api.create(api.path("configmaps"), text, fieldValidation="Strict")
    assert answer.code == 400
    assert 'duplicate field "data.k"' in answer.status()["message"]


async def test_strict_validation_holds_for_patches(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"nope": 1}}, fieldValidation="Strict")
    assert answer.code in (400, 422), answer
    assert 'unknown field "spec.nope"' in answer.status()["message"]


async def test_an_unknown_field_validation_is_refused(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("a"), fieldValidation="Maybe")
    assert answer.code == 422
    assert ("fieldValidation", "FieldValueNotSupported") in answer.causes()
