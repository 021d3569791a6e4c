"""Strategic merge patch: a merge patch that merges the keyed lists of builtin kinds item by item.

Keys and strategies come from the OpenAPI definitions (`x-kubernetes-patch-*`). Supported directives are
`$patch` (delete, replace, merge), `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder`.
"""

from typing import Any

from grove_sandbox.apiserver.errors import bad_request
from grove_sandbox.apiserver.schema.definitions import Definitions, resolve

_DELETE_PRIMITIVE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


class StrategicMerge:
    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def apply(self, name: str, document: Any, patch: Any) -> Any:
        """`name` is the OpenAPI definition of the object."""
        return self._object(self._definitions.get(name, {}), document, patch)

    def _object(self, schema: Any, document: Any, patch: Any) -> Any:
        if not isinstance(patch, dict):
            return patch
        directive = patch.get("$patch")
        if directive == "replace":
            return _clean(patch)
        if directive == "delete":
            return {}
        result = dict(document) if isinstance(document, dict) else {}
        kept = patch.get("$retainKeys")
        if kept is not None:
            result = {key: value for key, value in result.items() if key in kept}
        for key, value in patch.items():
            if key.startswith(_DELETE_PRIMITIVE):
                field = key.removeprefix(_DELETE_PRIMITIVE)
                result[field] = [item for item in result.get(field) or () if item not in value]
        for key, value in patch.items():
            if key.startswith("$"):
                continue
            if value is None:
                result.pop(key, None)
                continue
            order = patch.get(_ORDER + key)
            result[key] = self._field(schema, key, result.get(key), value, order)
        for key, order in patch.items():
            field = key.removeprefix(_ORDER)
            if key.startswith(_ORDER) and field not in patch and result.get(field):
                result[field] = _ordered(result[field], order, self._merge_key(schema, field))
        return result

    def _field(self, schema: Any, key: str, old: Any, new: Any, order: Any) -> Any:
        property_schema = (
            (schema.get("properties") or {}).get(key) or schema.get("additionalProperties") or {}
        )
        _, target = resolve(self._definitions, property_schema)
        if isinstance(new, dict):
            return self._object(target, old, new)
        if not isinstance(new, list):
            return new
        if "merge" not in str(property_schema.get("x-kubernetes-patch-strategy", "")):
            return [_clean(item) for item in new if not _is_directive(item)]
        merge_key = property_schema.get("x-kubernetes-patch-merge-key")
        if merge_key is None:
            merged = list(old or ())
            merged += [item for item in new if item not in merged]
            return _ordered(merged, order, None)
        _, item_schema = resolve(self._definitions, target.get("items") or {})
        return _ordered(self._merge_list(item_schema, merge_key, old or [], new), order, merge_key)

    def _merge_list(self, schema: Any, key: str, old: list[Any], patches: list[Any]) -> list[Any]:
        if {"$patch": "replace"} in patches:
            return [_clean(item) for item in patches if item != {"$patch": "replace"}]
        result = list(old)
        for patch in patches:
            if not isinstance(patch, dict) or key not in patch:
                raise bad_request(f"map: {patch} does not contain declared merge key: {key}")
            position = next((i for i, item in enumerate(result) if item.get(key) == patch[key]), None)
            if patch.get("$patch") == "delete":
                result = [item for item in result if item.get(key) != patch[key]]
            elif position is None:
                result.append(self._object(schema, {}, patch))
            else:
                result[position] = self._object(schema, result[position], patch)
        return result

    def _merge_key(self, schema: Any, field: str) -> str | None:
        key: str | None = (schema.get("properties") or {}).get(field, {}).get("x-kubernetes-patch-merge-key")
        return key


def _ordered(items: list[Any], order: Any, key: str | None) -> list[Any]:
    """Items in the order of `$setElementOrder`; items that it does not mention follow."""
    if not order:
        return items
    wanted = [item.get(key) if key and isinstance(item, dict) else item for item in order]

    def rank(item: Any) -> int:
        value = item.get(key) if key and isinstance(item, dict) else item
        return wanted.index(value) if value in wanted else len(wanted)

    return sorted(items, key=rank)


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and set(item) == {"$patch"}


def _clean(value: Any) -> Any:
    """The value of a patch without its directives."""
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items() if not k.startswith("$") and v is not None}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
