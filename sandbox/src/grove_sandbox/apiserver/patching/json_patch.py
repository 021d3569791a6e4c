"""JSON patch (RFC 6902) and merge patch (RFC 7386).

A patch never changes its input; the result shares the unchanged parts with it.

Error messages are those of the library that a real API server uses, because clients print them.
"""

from typing import Any

from grove_sandbox.apiserver.errors import StatusError, bad_request

OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")


def apply_json_patch(document: Any, patch: Any) -> Any:
    if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        )
    for step in patch:
        document = _step(document, step)
    return document


def apply_merge_patch(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def _step(document: Any, step: dict[str, Any]) -> Any:
    operation, path = step.get("op"), step.get("path")
    if operation not in OPERATIONS:
        raise _failed()
    if not isinstance(path, str):
        raise _failed()
    keys = _keys(path)
    if operation == "test":
        if _get(document, keys) != step.get("value"):
            raise _failed()
        return document
    if operation == "remove":
        return _edit(document, keys, "remove", None)
    if operation in ("add", "replace"):
        if "value" not in step:
            raise _failed()
        return _edit(document, keys, operation, step["value"])
    source = _keys(step.get("from") or "")
    value = _get(document, source)
    if operation == "move":
        document = _edit(document, source, "remove", None)
    return _edit(document, keys, "add", value)


def _edit(node: Any, keys: list[str], operation: str, value: Any) -> Any:
    """The node with one place changed. Only the nodes on the path to it are copied."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if isinstance(node, dict):
        if key not in node and (rest or operation != "add"):
            raise _failed()
        result = dict(node)
        if rest:
            result[key] = _edit(node[key], rest, operation, value)
        elif operation == "remove":
            del result[key]
        else:
            result[key] = value
        return result
    if isinstance(node, list):
        items = list(node)
        if not rest and operation == "add":
            items.insert(len(items) if key == "-" else _index(key, len(items) + 1), value)
            return items
        index = _index(key, len(items))
        if rest:
            items[index] = _edit(items[index], rest, operation, value)
        elif operation == "remove":
            del items[index]
        else:
            items[index] = value
        return items
    raise _failed()


def _get(node: Any, keys: list[str]) -> Any:
    for key in keys:
        if isinstance(node, dict):
            if key not in node:
                raise _failed()
            node = node[key]
        elif isinstance(node, list):
            node = node[_index(key, len(node))]
        else:
            raise _failed()
    return node


def _index(key: str, length: int) -> int:
    if not key.lstrip("-").isdigit():
        raise _failed()
    index = int(key)
    if not -length <= index < length:
        raise _failed()
    return index


def _keys(path: str) -> list[str]:
    return [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:]]


def _failed() -> StatusError:
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})
