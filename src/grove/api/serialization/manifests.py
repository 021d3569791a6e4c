"""Checks the objects of manifests without a cluster, and reports all mistakes at once, each with file and line.

An object is checked twice: against the schema of its kind, as an API server does, and by `grove.api.validation`. To
find the second kind of mistakes despite the first, values that the schema refuses are removed and
missing ones filled with placeholders; problems that these edits may have caused are not reported.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from grove.api.config import OperatorConfiguration
from grove.api.groups import GROVE, OPERATOR_CONFIG_V1ALPHA1, SCHEDULER
from grove.api.meta import Resource
from grove.api.podcliqueset import PodCliqueSet
from grove.api.serialization import codec, yaml
from grove.api.serialization.crds import KINDS, schema
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation import Problem, ValidationContext, check_binding, check_configuration, validate
from grove.api.validation.topology import placed_constraints
from grove.schema import FieldError, FieldErrorReason, Path, Schema, render_path

_KINDS = {(k.resource.api_version, k.resource.kind): k for k in KINDS}


@dataclass(frozen=True)
class Source:
    """A text to check. Findings report `name` as the file."""

    name: str
    text: str


@dataclass(frozen=True)
class ManifestFinding:
    file: str
    line: int
    path: str
    message: str
    remedy: str = ""
    warning: bool = False


@dataclass(frozen=True)
class Report:
    findings: list[ManifestFinding]
    checked: int
    skipped: int

    @property
    def errors(self) -> int:
        return sum(not f.warning for f in self.findings)

    @property
    def warnings(self) -> int:
        return sum(f.warning for f in self.findings)


def permissive() -> OperatorConfiguration:
    """The configuration for checks without one: every scheduler and optional feature is enabled."""
    configuration = OperatorConfiguration()
    configuration.topology_aware_scheduling.enabled = True
    configuration.network.auto_mnnvl_enabled = True
    return configuration


def check(sources: Iterable[Source], configuration: OperatorConfiguration | None = None) -> Report:
    """Checks every Grove object in the texts. Sets may refer to ClusterTopologyBindings of the same texts."""
    findings: list[ManifestFinding] = []
    documents: list[_Document] = []
    for source in sources:
        try:
            documents += [d for found in yaml.load_all(source.text) for d in _expand(source.name, found)]
        except yaml.YamlError as e:
            findings.append(ManifestFinding(source.name, e.line, "", e.message, "correct the YAML first"))
    topologies = {
        b.metadata.name or "": b for d in documents if isinstance(b := d.decoded(), ClusterTopologyBinding)
    }
    known = ValidationContext(configuration or permissive(), topologies)
    ours = [d for d in documents if d.is_ours]
    for document in ours:
        findings += document.check(known)
    order = {d.file: i for i, d in enumerate(documents)}
    findings.sort(key=lambda f: (order.get(f.file, -1), f.line))
    return Report(findings, checked=len(ours), skipped=len(documents) - len(ours))


def read(sources: Iterable[Source]) -> list[Any]:
    """Every object in the texts as JSON, of any kind; a List as its items. Raises YamlError."""
    return [d.value for s in sources for found in yaml.load_all(s.text) for d in _expand(s.name, found)]


def _expand(file: str, document: yaml.Document) -> Iterator["_Document"]:
    """The document, or the items of a `kind: List`."""
    value = document.value
    items = value.get("items") if isinstance(value, dict) and value.get("kind") == "List" else None
    if not isinstance(items, list):
        yield _Document(file, document, (), value)
        return
    for i, item in enumerate(items):
        yield _Document(file, document, ("items", i), item)


@dataclass(frozen=True)
class _Document:
    file: str
    whole: yaml.Document
    base: Path
    value: Any

    @property
    def api_version(self) -> str:
        return self._text("apiVersion")

    @property
    def kind(self) -> str:
        return self._text("kind")

    @property
    def model(self) -> type[Resource] | None:
        return _KINDS.get((self.api_version, self.kind))

    @property
    def is_ours(self) -> bool:
        """Whether to check the object: it is of a Grove kind, or has no apiVersion or kind, which is a mistake."""
        group = self.api_version.partition("/")[0]
        return group in (GROVE, SCHEDULER) or self._is_configuration or not (self.api_version and self.kind)

    @property
    def _is_configuration(self) -> bool:
        return (self.api_version, self.kind) == (OPERATOR_CONFIG_V1ALPHA1, "OperatorConfiguration")

    def _text(self, field: str) -> str:
        found = self.value.get(field) if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else ""

    def decoded(self) -> Resource | None:
        """The object, if it fits the model of its kind."""
        if self.model is None:
            return None
        try:
            return codec.decode(codec.encode(self.value), self.model)
        except codec.DecodeError:
            return None

    def check(self, known: ValidationContext) -> Iterator[ManifestFinding]:
        for problem in self._problems(known):
            line = self.whole.line_of((*self.base, *problem.path))
            path = render_path(problem.path)
            yield ManifestFinding(self.file, line, path, problem.message, problem.remedy, problem.warning)

    def _problems(self, known: ValidationContext) -> Iterator[Problem]:
        if self._is_configuration:
            yield from _configuration_problems(self.value)
        elif self.model is None:
            yield _unknown_kind(self.api_version, self.kind)
        else:
            yield from _object_problems(self.value, self.model, known)


def _unknown_kind(api_version: str, kind: str) -> Problem:
    known = ", ".join(f"{v} {k}" for v, k in _KINDS)
    if not (api_version and kind):
        return Problem(
            FieldErrorReason.REQUIRED,
            (),
            detail="an object has apiVersion and kind",
            remedy=f"the kinds are {known}",
        )
    detail = f"there is no {kind} in {api_version}"
    return Problem(FieldErrorReason.INVALID, ("kind",), detail=detail, remedy=f"the kinds are {known}")


def _configuration_problems(value: Any) -> Iterator[Problem]:
    try:
        configuration = codec.decode_strictly(codec.encode(value), OperatorConfiguration)
    except codec.DecodeError as e:
        yield Problem(
            FieldErrorReason.INVALID,
            e.path,
            detail=e.message,
            remedy="see the API reference, OperatorConfiguration",
        )
        return
    yield from check_configuration(configuration)


def _object_problems(value: Any, model: type[Resource], known: ValidationContext) -> Iterator[Problem]:
    found = _compiled(model)
    unknown = found.unknown_paths(value)
    errors = [e for e in found.validate(found.default(value)) if e.path]
    yield from (_unknown_field(path, schema(model)) for path in unknown)
    misspelt = {(*path[:-1], _meant(path, schema(model))) for path in unknown}
    yield from (_explained(e, _at(value, e.path), schema(model)) for e in errors if e.path not in misspelt)
    repaired = _RepairedObject(found.default(found.prune(value)), errors, schema(model))
    try:
        obj = codec.decode(codec.encode(repaired.value), model)
    except codec.DecodeError as e:
        if not errors:
            yield Problem(FieldErrorReason.INVALID, e.path, detail=e.message)
        return
    yield from (p for p in _semantic_problems(obj, known) if not repaired.may_have_caused(p.path))


def _semantic_problems(obj: Resource, known: ValidationContext) -> list[Problem]:
    if isinstance(obj, PodCliqueSet):
        # A topology that is not among the files may exist in the cluster.
        named = {p.name for p in placed_constraints(obj)}
        return validate(
            obj, None, known if named & (known.topologies or {}).keys() else replace(known, topologies=None)
        )
    if isinstance(obj, ClusterTopologyBinding):
        return check_binding(obj, known.configuration)
    return []


@cache
def _compiled(model: type[Resource]) -> Schema:
    return Schema(schema(model))


class _RepairedObject:
    """An object without the values that the schema refuses, and with placeholders for the ones that it misses."""

    def __init__(self, value: Any, errors: list[FieldError], whole: Mapping[str, Any]) -> None:
        self.value = codec.to_builtins(value)
        self._touched: set[Path] = set()
        for n, error in enumerate(errors):
            *around, name = error.path
            parent = _at(self.value, tuple(around))
            if not isinstance(parent, dict) or not isinstance(name, str):
                continue
            expected = _schema_at(whole, error.path)
            if error.reason is FieldErrorReason.REQUIRED:
                parent[name] = _placeholder(expected, n)
            else:
                parent.pop(name, None)
            # Rules compare a number with the numbers next to it, so its whole parent is suspect.
            self._touched.add(tuple(around) if expected.get("type") == "integer" else error.path)

    def may_have_caused(self, path: Path) -> bool:
        """Whether a problem at this path may be a consequence of the repair."""
        return any(path[: len(t)] == t and len(path) <= len(t) + 1 for t in self._touched)


def _placeholder(found: Mapping[str, Any], n: int) -> Any:
    match found.get("type"):
        case "object":
            return {name: _placeholder(found["properties"][name], n) for name in found.get("required", [])}
        case "array":
            return []
        case "integer" | "number":
            return 1
        case "boolean":
            return False
        case _:
            return found.get("enum", [f"unnamed-{n}"])[0]


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _schema_at(whole: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    for step in path:
        whole = whole.get("items" if isinstance(step, int) else "properties", {})
        whole = whole if isinstance(step, int) else whole.get(step, {})
    return whole


def _unknown_field(path: Path, whole: Mapping[str, Any]) -> Problem:
    meant = _meant(path, whole)
    known = ", ".join(_schema_at(whole, path[:-1]).get("properties", {}))
    remedy = f"did you mean {meant}?" if meant else f"the fields here are {known}"
    return Problem(
        FieldErrorReason.INVALID, path, detail=f"there is no field {str(path[-1])!r} here", remedy=remedy
    )


def _meant(path: Path, whole: Mapping[str, Any]) -> str:
    """The field that the user probably meant; empty if none is similar."""
    names = {name.lower(): name for name in _schema_at(whole, path[:-1]).get("properties", {})}
    near = difflib.get_close_matches(str(path[-1]).lower(), names, n=1, cutoff=0.7)
    return names[near[0]] if near else ""


def _explained(error: FieldError, value: Any, whole: Mapping[str, Any]) -> Problem:
    """Adds a remedy to a schema error, taken from the description of the field."""
    expected = _schema_at(whole, error.path)
    text = expected.get("description", "")
    missing = error.reason is FieldErrorReason.REQUIRED
    remedy = f"{'add ' if missing else ''}{error.path[-1]}: {text}" if text else ""
    if error.reason is FieldErrorReason.TYPE_INVALID and "type" in expected:
        return Problem(error.reason, error.path, value, f"must be of type {expected['type']}", remedy)
    return Problem(error.reason, error.path, error.value, error.detail, remedy)
