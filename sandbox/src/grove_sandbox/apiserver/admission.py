"""Admission webhooks: other programs asked before a write is stored, first to change it, then to judge it.

The server itself has no network: `State.call_webhook` carries a review to where the configuration points
(`grove_sandbox.webhooks` does it over HTTPS). Without it, registering a webhook is refused, since a webhook that
is never called would be a silent success. Not done: match conditions, reinvocation, webhooks behind a Service.
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
from grove_sandbox.apiserver.verbs.selectors import matches_selector

Operation = Literal["CREATE", "UPDATE", "DELETE"]
GROUP = "admissionregistration.k8s.io"
MUTATING = GroupResource(GROUP, "mutatingwebhookconfigurations")
VALIDATING = GroupResource(GROUP, "validatingwebhookconfigurations")


@dataclass(frozen=True, slots=True)
class AdmissionAttempt:
    """One write as webhooks see it; `obj` is None for a deletion, `old` for a creation."""

    call: ApiCall
    operation: Operation
    name: str
    obj: Object | None
    old: Object | None


async def mutate(attempt: AdmissionAttempt) -> Object | None:
    """The object as the mutating webhooks want it."""
    obj = attempt.obj
    for hook in _matching(attempt, MUTATING):
        answer = await _ask(
            hook, AdmissionAttempt(attempt.call, attempt.operation, attempt.name, obj, attempt.old)
        )
        patch = (answer or {}).get("patch")
        if patch and obj is not None:
            obj = apply_json_patch(obj, orjson.loads(base64.b64decode(patch)))
    return obj


async def validate(attempt: AdmissionAttempt) -> None:
    """Raises if a validating webhook objects."""
    for hook in _matching(attempt, VALIDATING):
        await _ask(hook, attempt)


def is_watched(call: ApiCall) -> bool:
    """Whether any webhook is registered at all."""
    tables = call.state.store.tables
    return any(resource in tables and tables[resource].objects for resource in (MUTATING, VALIDATING))


def _matching(attempt: AdmissionAttempt, resource: GroupResource) -> Iterator[Object]:
    if attempt.call.type.group == GROUP:
        return  # a webhook must not be able to lock out its own repair
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
        if not matches_selector(hook.get("namespaceSelector") or {}, namespace.labels if namespace else {}):
            return False
    labels = [
        (obj.get("metadata") or {}).get("labels") or {}
        for obj in (attempt.obj, attempt.old)
        if obj is not None
    ]
    return any(matches_selector(hook.get("objectSelector") or {}, found) for found in labels)


async def _ask(hook: Object, attempt: AdmissionAttempt) -> Object | None:
    """The webhook's answer if it allows; None if it could not be asked and that may be ignored."""
    call = attempt.call
    carry = call.state.call_webhook
    uid = call.state.new_uid()
    try:
        if carry is None:
            raise OSError("this server calls no webhooks")
        timeout = float(hook.get("timeoutSeconds") or 10)
        body = await carry(hook["clientConfig"], orjson.dumps(_review(attempt, uid)), timeout)
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
