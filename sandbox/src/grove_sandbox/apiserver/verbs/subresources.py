"""Subresources other than status: scale, binding, eviction, finalize. Others answer 404 or 501."""

import orjson
from grove.runtime.client.transport import Response

from grove_sandbox.apiserver.errors import bad_request, method_not_allowed, no_such_path, not_implemented
from grove_sandbox.apiserver.patching.patches import patcher
from grove_sandbox.apiserver.requests.decoding import read_body
from grove_sandbox.apiserver.responses.encoding import respond
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object
from grove_sandbox.apiserver.verbs import deletes, reads, scale, writes
from grove_sandbox.apiserver.verbs.bindings import bind

SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
_STREAMING = ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers", "resize")


async def answer(call: ApiCall, method: str) -> Response:
    kind, sub = (call.type.group, call.type.plural), call.subresource
    if sub == "scale" and call.type.scale:
        return await _scale(call, method)
    if kind == ("", "pods"):
        if sub in ("binding", "eviction"):
            if method != "POST":
                raise method_not_allowed()
            return await (_bind(call) if sub == "binding" else _evict(call))
        if sub.partition("/")[0] in _STREAMING:
            raise not_implemented(f"pods/{sub}: its pods have no containers")
    if kind == ("", "namespaces") and sub == "finalize" and method == "PUT":
        return _finalize(call)
    if kind == ("", "serviceaccounts") and sub == "token":
        raise not_implemented("serviceaccounts/token: it checks no tokens")
    raise no_such_path()


async def _scale(call: ApiCall, method: str) -> Response:
    if method == "GET":
        return respond(call, scale.read(call, reads.get(call).obj))
    if method == "PUT":
        return respond(call, (await writes.update_scale(call))[0])
    if method == "PATCH":
        return respond(call, (await writes.modify_scale(call, patcher(call)))[0])
    raise method_not_allowed()


async def _bind(call: ApiCall) -> Response:
    binding = read_body(call, kind="Binding")
    if (binding.get("metadata") or {}).get("name") != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    pod = bind(call, binding)
    if not call.dry_run:
        call.state.store.put(call.table, (call.namespace, call.name), pod)
    return respond(call, {**SUCCESS, "code": 201}, 201)


async def _evict(call: ApiCall) -> Response:
    eviction = read_body(call, kind="Eviction")
    if (eviction.get("metadata") or {}).get("name") != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    stored = reads.get(call)
    call.body = orjson.dumps(eviction.get("deleteOptions") or {})
    options = deletes.read_options(call)
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
        "lastTransitionTime": call.state.timestamp(),
    }
    status = stored.obj.get("status") or {}
    others = [c for c in status.get("conditions") or () if c["type"] != "DisruptionTarget"]
    if not call.dry_run and stored.obj["spec"].get("nodeName"):
        marked = {**stored.obj, "metadata": dict(stored.obj["metadata"])}
        marked["status"] = {**status, "conditions": [*others, target]}
        stored = call.state.store.put(call.table, stored.key, marked)
    deletes.remove(call, stored, options)
    return respond(call, {**SUCCESS, "code": 201}, 201)


def _finalize(call: ApiCall) -> Response:
    body, stored = read_body(call), reads.get(call)
    new = {**stored.obj, "metadata": dict(stored.obj["metadata"]), "spec": body.get("spec") or {}}
    saved = writes.save(call, new, stored)
    return respond(call, call.typed(saved.obj))
