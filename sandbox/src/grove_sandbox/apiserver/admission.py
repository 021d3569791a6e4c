"""Admission webhooks: mutating ones may change an object before it is stored, validating ones may refuse it.

The server itself opens no connections. `ServerState.call_webhook` sends the review (`grove_sandbox.webhooks` does so
over HTTPS). Without it the server refuses webhook configurations, because a webhook that is never called would be a
silent success. Not implemented: match conditions, reinvocation, webhooks behind a Service.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from grove_sandbox.apiserver.errors import GroupResource, StatusError
from grove_sandbox.apiserver.patching.json_patch import apply_json_patch
from grove_sandbox.apiserver.state import USER, ApiCall
from grove_sandbox.apiserver.storage import Object
from grove_sandbox.label_selectors import selector_matches

Operation = Literal["CREATE", "UPDATE", "DELETE"]
GROUP = "admissionregistration.k8s.io"
MUTATING = GroupResource(GROUP, "mutatingwebhookconfigurations")
VALIDATING = GroupResource(GROUP, "validatingwebhookconfigurations")


@dataclass(frozen=True)
class AdmissionAttempt:
    """One write, before it is stored. `obj` is None for DELETE, `old` is None for CREATE."""

    call: ApiCall
    operation: Operation
    name: str
    obj: Object | None
    old: Object | None


async def mutate(attempt: AdmissionAttempt) -> Object | None:
    """The object with the patches of all matching mutating webhooks applied."""
    obj = attempt.obj
    for hook in _matching(attempt, MUTATING):
        answer = await _call_hook(
            hook, AdmissionAttempt(attempt.call, attempt.operation, attempt.name, obj, attempt.old)
        )
        patch = (answer or {}).get("patch")
        if patch and obj is not None:
            obj = apply_json_patch(obj, orjson.loads(base64.b64decode(patch)))
    return obj


async def validate(attempt: AdmissionAttempt) -> None:
    """Raises StatusError if a validating webhook refuses the write."""
    for hook in _matching(attempt, VALIDATING):
        await _call_hook(hook, attempt)


def any_registered(call: ApiCall) -> bool:
    """Whether any webhook is registered. If not, writes skip admission."""
    tables = call.state.store.tables
    return any(resource in tables and tables[resource].objects for resource in (MUTATING, VALIDATING))


def _matching(attempt: AdmissionAttempt, resource: GroupResource) -> Iterator[Object]:
    if attempt.call.type.group == GROUP:
        return  # otherwise a broken webhook could block its own repair
    for configuration in list(attempt.call.state.store.table(resource).scan(None)):
        for hook in configuration.obj.get("webhooks") or ():
            if any(_covers(rule, attempt) for rule in hook.get("rules") or ()) and _selects(hook, attempt):
                yield hook


def _covers(rule: Object, attempt: AdmissionAttempt) -> bool:
    call = attempt.call
    resource, subresource = call.type.plural, call.subresource
    names = {"*/*", f"{resource}/{subresource}", f"{resource}/*", f"*/{subresource}"}
    if not subresource:
        names = {"*", "*/*", resource}
    scope = "Namespaced" if call.type.namespaced else "Cluster"
    return (
        bool({"*", attempt.operation} & set(rule.get("operations") or ()))
        and bool({"*", call.type.group} & set(rule.get("apiGroups") or ()))
        and bool({"*", call.type.version} & set(rule.get("apiVersions") or ()))
        and bool(names & set(rule.get("resources") or ()))
        and rule.get("scope", "*") in ("*", scope)
    )


def _selects(hook: Object, attempt: AdmissionAttempt) -> bool:
    call = attempt.call
    if call.type.namespaced:
        namespace = call.state.find("", "v1", "namespaces", call.namespace)
        if not selector_matches(hook.get("namespaceSelector") or {}, namespace.labels if namespace else {}):
            return False
    labels = [
        (obj.get("metadata") or {}).get("labels") or {}
        for obj in (attempt.obj, attempt.old)
        if obj is not None
    ]
    return any(selector_matches(hook.get("objectSelector") or {}, found) for found in labels)


async def _call_hook(hook: Object, attempt: AdmissionAttempt) -> Object | None:
    """The response of a webhook that allows the write. None if the call failed and failurePolicy is Ignore."""
    call = attempt.call
    send = call.state.call_webhook
    uid = call.state.new_uid()
    try:
        if send is None:
            raise OSError("this server calls no webhooks")
        timeout = float(hook.get("timeoutSeconds") or 10)
        body = await send(hook["clientConfig"], orjson.dumps(_review(attempt, uid)), timeout)
        response: Object = orjson.loads(body)["response"]
    except (OSError, TimeoutError, ValueError, KeyError) as error:
        if hook.get("failurePolicy") == "Ignore":
            return None
        why = f'failed calling webhook "{hook["name"]}": failed to call webhook: {error}'
        raise StatusError(
            500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]}
        ) from None
    call.warnings += response.get("warnings") or []
    if not response.get("allowed"):
        raise _denied(hook["name"], response.get("status") or {})
    return response


def _review(attempt: AdmissionAttempt, uid: str) -> Object:
    call = attempt.call
    t = call.type
    kind = {"group": t.group, "version": t.version, "kind": t.kind}
    resource = {"group": t.group, "version": t.version, "resource": t.plural}
    request: Object = {
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": attempt.name,
        "operation": attempt.operation,
        "userInfo": USER,
        "object": None if attempt.obj is None else call.typed(attempt.obj),
        "oldObject": None if attempt.old is None else call.typed(attempt.old),
        "dryRun": call.dry_run,
        "options": None,
    }
    if call.namespace:
        request["namespace"] = call.namespace
    if call.subresource:
        request["subResource"] = request["requestSubResource"] = call.subresource
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _denied(name: str, status: dict[str, Any]) -> StatusError:
    explained = status.get("message") or status.get("reason")
    message = f'admission webhook "{name}" denied the request'
    message = f"{message}: {explained}" if explained else f"{message} without explanation"
    code = max(int(status.get("code") or 0), 400)
    return StatusError(code, status.get("reason") or "", message, status.get("details"))
