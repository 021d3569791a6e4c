"""The part of JSONPath that printer columns use: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`."""

import re
from collections.abc import Callable, Iterator
from typing import Any

Step = Callable[[Any], Iterator[Any]]
Finder = Callable[[Any], list[Any]]

_TOKEN = re.compile(
    r"""\.\.?(?P<field>[A-Za-z0-9_\-/\x00]+|\*)
    |\[(?P<index>-?\d+)\]
    |\[\*(?P<all>)\]
    |\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]
    |\[\?\(@\.(?P<path>[A-Za-z0-9_.\\/\-]+)\s*(?P<op>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\)\]""",
    re.VERBOSE,
)


def compile_path(path: str) -> Finder:
    """Raises ValueError for an unsupported expression."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    text = text if text.startswith((".", "[")) else f".{text}"
    text = text.replace("\\.", "\0")  # a dot inside a key, as in .metadata.labels.app\\.kubernetes\\.io/name
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"unsupported JSONPath {path!r} at {text[position:]!r}")
        steps.append(_step(match))
        position = match.end()

    def find(obj: Any) -> list[Any]:
        values = [obj]
        for step in steps:
            values = [found for value in values for found in step(value)]
        return values

    return find


def _step(match: re.Match[str]) -> Step:
    if match["field"] is not None:
        return _all if match["field"] == "*" else _field(match["field"].replace("\0", "."))
    if match["key"] is not None:
        return _field(match["key"])
    if match["index"] is not None:
        return _item(int(match["index"]))
    if match["all"] is not None:
        return _all
    return _where(match["path"].split("."), match["op"], match["value"].strip("'\""))


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _item(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _where(path: list[str], operator: str, wanted: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            found: Any = item
            for key in path:
                found = found.get(key) if isinstance(found, dict) else None
            text = str(found).lower() if isinstance(found, bool) else str(found)
            if found is not None and (text == wanted) is (operator == "=="):
                yield item

    return step
