"""The Status of each error, byte for byte: clients branch on it and users read it."""

from __future__ import annotations

from tests.contract.api import Api, Json
from tests.contract.objects import WIDGETS, configmap, widget


def failure(code: int, reason: str, message: str, details: Json | None = None) -> Json:
    status: Json = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return status if details is None else status | {"details": details}


async def test_a_missing_object_is_named_with_its_resource(api: Api) -> None:
    answer = await api.get(api.path("configmaps", "x"))
    assert answer.code == 404
    assert answer.body == failure(
        404, "NotFound", 'configmaps "x" not found', {"name": "x", "kind": "configmaps"}
    )


async def test_a_missing_custom_object_is_named_with_its_group(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS, "x"))
    assert answer.body == failure(
        404,
        "NotFound",
        'widgets.contract.grove.test "x" not found',
        {"name": "x", "group": "contract.grove.test", "kind": "widgets"},
    )


async def test_an_unknown_resource_of_a_known_group_version_is_a_status(api: Api) -> None:
    for path in ("/api/v1/nopes", "/apis/coordination.k8s.io/v1/nopes"):
        answer = await api.get(path)
        assert answer.body == failure(404, "NotFound", "the server could not find the requested resource", {})


async def test_an_unknown_group_is_a_plain_404(api: Api) -> None:
    answer = await api.get("/apis/no.such.group/v1/things")
    assert answer.code == 404
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body == "404 page not found\n"


async def test_creating_a_name_twice_is_already_exists(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.create(api.path("configmaps"), configmap("a"))
    assert answer.code == 409
    assert answer.body == failure(
        409, "AlreadyExists", 'configmaps "a" already exists', {"name": "a", "kind": "configmaps"}
    )


async def test_writing_an_old_version_is_a_conflict(api: Api) -> None:
    old = await api.created(api.path("configmaps"), configmap("a"))
    assert (await api.update(api.path("configmaps", "a"), old | {"data": {"k": "1"}})).code == 200
    answer = await api.update(api.path("configmaps", "a"), old | {"data": {"k": "2"}})
    assert answer.code == 409
    assert answer.body == failure(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again",
        {"name": "a", "kind": "configmaps"},
    )


async def test_the_conflict_of_a_custom_object_names_its_group(widgets: Api) -> None:
    old = await widgets.created(widgets.path(WIDGETS), widget("a"))
    assert (await widgets.update(widgets.path(WIDGETS, "a"), old | {"spec": {"title": "new"}})).code == 200
    answer = await widgets.update(widgets.path(WIDGETS, "a"), old)
    assert answer.body == failure(
        409,
        "Conflict",
        'Operation cannot be fulfilled on widgets.contract.grove.test "a": the object has been modified; '
        "please apply your changes to the latest version and try again",
        {"name": "a", "group": "contract.grove.test", "kind": "widgets"},
    )


async def test_a_write_that_expects_another_uid_is_a_conflict(api: Api) -> None:
    obj = await api.created(api.path("configmaps"), configmap("a"))
    body = configmap("a")
    body["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    answer = await api.update(api.path("configmaps", "a"), body)
    status = answer.status()
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert status["details"] == {"name": "a", "kind": "configmaps"}
    assert status["message"].endswith(
        "Precondition failed: UID in precondition: 00000000-0000-0000-0000-000000000000, "
        f"UID in object meta: {obj['metadata']['uid']}"
    )


async def test_a_body_for_another_name_is_a_bad_request(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.update(api.path("configmaps", "a"), configmap("b"))
    assert answer.body == failure(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


async def test_a_body_for_another_namespace_is_a_bad_request(api: Api) -> None:
    body = configmap("a")
    body["metadata"]["namespace"] = "elsewhere"
    answer = await api.create(api.path("configmaps"), body)
    assert answer.body == failure(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_a_body_of_another_version_is_a_bad_request(widgets: Api) -> None:
    answer = await widgets.create(
        widgets.path(WIDGETS), widget("a") | {"apiVersion": "contract.grove.test/v2"}
    )
    assert answer.body == failure(
        400,
        "BadRequest",
        "the API version in the data (contract.grove.test/v2) does not match "
        "the expected API version (contract.grove.test/v1)",
    )


async def test_a_body_of_another_kind_is_refused(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("a") | {"kind": "Secret"})
    status = answer.status()
    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert status["message"].startswith('Secret in version "v1" cannot be handled as a ConfigMap')


async def test_a_custom_body_without_a_kind_is_a_bad_request(widgets: Api) -> None:
    body = {"metadata": {"name": "b"}, "spec": {}}
    status = (await widgets.create(widgets.path(WIDGETS), body)).status()
    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert status["message"].startswith(
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in"
    )


async def test_a_built_in_body_may_leave_out_its_kind(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), {"metadata": {"name": "a"}})
    assert answer.code == 201
    assert (answer.body["apiVersion"], answer.body["kind"]) == ("v1", "ConfigMap")


async def test_a_body_that_is_not_json_is_a_bad_request(api: Api) -> None:
    status = (await api.create(api.path("configmaps"), '{"metadata":')).status()
    assert (status["code"], status["reason"]) == (400, "BadRequest")


async def test_a_method_the_resource_lacks_is_405(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    on_object = await api.create(api.path("configmaps", "a"), configmap("b"))
    on_collection = await api.patch(api.path("configmaps"), {})
    expected = failure(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}
    )
    assert on_object.body == expected
    assert on_collection.body == expected


async def test_a_body_in_an_unknown_format_is_415(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("a"), content_type="text/plain")
    assert answer.code == 415
    assert answer.body == failure(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )


async def test_an_unsupported_accept_header_is_406(api: Api) -> None:
    answer = await api.get(api.path("configmaps"), accept="text/html")
    status = answer.status()
    assert (status["code"], status["reason"]) == (406, "NotAcceptable")
    assert status["message"].startswith("406: Not Acceptable")


async def test_yaml_bodies_are_accepted(api: Api) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
    answer = await api.create(api.path("configmaps"), text, content_type="application/yaml")
    assert answer.code == 201
    assert answer.body["data"] == {"k": "v"}


async def test_a_missing_namespace_is_what_create_complains_of(api: Api) -> None:
    answer = await api.create(api.path("configmaps", namespace="nowhere"), configmap("a"))
    assert answer.body == failure(
        404, "NotFound", 'namespaces "nowhere" not found', {"name": "nowhere", "kind": "namespaces"}
    )


async def test_an_invalid_name_is_422_with_a_cause(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("Bad_Name"))
    why = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    assert answer.body == failure(
        422,
        "Invalid",
        f'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": {why}',
        {
            "name": "Bad_Name",
            "kind": "ConfigMap",
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": f'Invalid value: "Bad_Name": {why}',
                    "field": "metadata.name",
                }
            ],
        },
    )


async def test_several_mistakes_are_all_reported(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), configmap("a", labels={"a b": "c d"}))
    status = answer.status()
    assert status["code"] == 422
    assert status["message"].startswith('ConfigMap "a" is invalid: [metadata.labels: Invalid value: "a b": ')
    assert answer.causes() == [
        ("metadata.labels", "FieldValueInvalid"),
        ("metadata.labels", "FieldValueInvalid"),
    ]


async def test_a_nameless_object_is_422(api: Api) -> None:
    answer = await api.create(api.path("configmaps"), {"metadata": {}})
    assert answer.body == failure(
        422,
        "Invalid",
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        {
            "kind": "ConfigMap",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: name or generateName is required",
                    "field": "metadata.name",
                }
            ],
        },
    )


async def test_deleting_answers_with_a_status_that_names_the_object(api: Api) -> None:
    obj = await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.delete(api.path("configmaps", "a"))
    assert answer.code == 200
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": obj["metadata"]["uid"]},
    }


async def test_deleting_a_missing_object_is_404(api: Api) -> None:
    answer = await api.delete(api.path("configmaps", "a"))
    assert answer.body == failure(
        404, "NotFound", 'configmaps "a" not found', {"name": "a", "kind": "configmaps"}
    )
