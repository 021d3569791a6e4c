"""Checks the objects of manifests without a cluster, and reports all mistakes at once, each with file and line.

Accepts several documents per file, and Lists. Objects of kinds that are not Grove's are skipped and counted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from grove.api.config import OperatorConfiguration
from grove.api.groups import GROVE, OPERATOR_CONFIG_V1ALPHA1, SCHEDULER
from grove.api.meta import Resource
from grove.api.serialization import codec, yaml
from grove.api.serialization.crds import KINDS
from grove.api.serialization.object_check import object_problems
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation import Problem, ValidationContext, check_configuration
from grove.schema import FieldErrorReason, Path, render_path

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
    context = ValidationContext(configuration or permissive(), topologies)
    ours = [d for d in documents if d.is_ours]
    for document in ours:
        findings += document.check(context)
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

    def check(self, context: ValidationContext) -> Iterator[ManifestFinding]:
        for problem in self._problems(context):
            line = self.whole.line_of((*self.base, *problem.path))
            path = render_path(problem.path)
            yield ManifestFinding(self.file, line, path, problem.message, problem.remedy, problem.warning)

    def _problems(self, context: ValidationContext) -> Iterator[Problem]:
        if self._is_configuration:
            yield from _configuration_problems(self.value)
        elif self.model is None:
            yield _unknown_kind(self.api_version, self.kind)
        else:
            yield from object_problems(self.value, self.model, context)


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
