"""x-kubernetes-validations: CEL rules about a value (`self`) and its old value (`oldSelf`).

Rules are compiled once per schema. As in Kubernetes, a rule sees only declared fields, escaped names for identifiers
that CEL reserves or cannot spell (`self.__namespace__`), and only name and generateName of a resource's metadata. The
CEL library has two limits: it checks rules against dynamic types, so most misspelt fields are found only when the rule
runs; and strings of the formats date-time and duration stay strings, which a rule must convert with `timestamp(self.t)`
or `duration(self.d)`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel

from grove.schema.cel_library import EXTENSIONS
from grove.schema.correlation import ABSENT, old_field, old_items, same
from grove.schema.errors import OMITTED, FieldError, FieldErrorReason, Key, Path
from grove.schema.node import Node, SchemaError

_SELF_ONLY = cel.NewEnv(variables={"self": cel.Type.DYN}, extensions=EXTENSIONS)
_WITH_OLD = cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}, extensions=EXTENSIONS)
# Python cannot pass an optional to CEL: the expression builds it from a list of none or one.
_WITH_OPTIONAL_OLD = cel.NewEnv(variables={"self": cel.Type.DYN, "_old": cel.Type.DYN}, extensions=EXTENSIONS)
_BIND_OPTIONAL = "cel.bind(oldSelf, size(_old) > 0 ? optional.of(_old[0]) : optional.none(), (\n{}\n))"

_REASONS = (
    FieldErrorReason.INVALID,
    FieldErrorReason.FORBIDDEN,
    FieldErrorReason.REQUIRED,
    FieldErrorReason.DUPLICATE,
)


@dataclass(slots=True)
class Rule:
    text: str
    message: str
    reason: FieldErrorReason
    field_path: Path
    program: cel.Expression
    message_program: cel.Expression | None
    uses_old: bool
    optional_old: bool


@dataclass(slots=True)
class Ruled:
    """A schema node with rules of its own or below it. Nodes without any have no `Ruled`."""

    node: Node
    rules: list[Rule]
    properties: dict[str, "Ruled"]
    additional: "Ruled | None"
    items: "Ruled | None"
    is_resource: bool


def compile_rules(node: Node, where: str = "openAPIV3Schema", *, is_root: bool = False) -> Ruled | None:
    """Raises SchemaError for a rule that does not compile, or that uses a function that is not supported."""
    properties = {
        name: ruled
        for name, child in node.properties.items()
        if (ruled := compile_rules(child, f"{where}.properties[{name}]"))
    }
    additional = (
        compile_rules(node.additional, f"{where}.additionalProperties")
        if isinstance(node.additional, Node)
        else None
    )
    items = compile_rules(node.items, f"{where}.items") if node.items else None
    rules = [
        _compile(
            rule,
            node,
            f"{where}.x-kubernetes-validations[{i}]",
            is_resource=is_root or node.embedded_resource,
        )
        for i, rule in enumerate(node.rules)
        if rule.get("rule", "").strip()
    ]
    if not (rules or properties or additional or items):
        return None
    return Ruled(node, rules, properties, additional, items, is_root or node.embedded_resource)


def check_rules(
    ruled: Ruled, value: Any, old: Any = ABSENT, path: Path = (), *, unchanged: bool = False
) -> Iterator[FieldError]:
    """`unchanged`: this value is part of a value that the update did not change, so only transition rules apply."""
    if value is None:
        return
    if old is not ABSENT:
        unchanged = same(value, old)
    if ruled.rules:
        yield from _evaluate(ruled, value, old, path, unchanged)
    if isinstance(value, dict):
        for name, sub in value.items():
            child, step = ruled.properties.get(name), name
            if child is None and name not in ruled.node.properties:
                child, step = ruled.additional, Key(name)
            if child is not None:
                yield from check_rules(child, sub, old_field(old, name), (*path, step), unchanged=unchanged)
    elif isinstance(value, list) and ruled.items is not None:
        before = old_items(ruled.node, old)
        for i, item in enumerate(value):
            yield from check_rules(ruled.items, item, before(item), (*path, i), unchanged=unchanged)


def _evaluate(ruled: Ruled, value: Any, old: Any, path: Path, unchanged: bool) -> Iterator[FieldError]:
    had_old = old is not ABSENT and old is not None
    data = {"self": visible(ruled.node, value, is_resource=ruled.is_resource)}
    if had_old and any(rule.uses_old for rule in ruled.rules):
        data["oldSelf"] = visible(ruled.node, old, is_resource=ruled.is_resource)
        data["_old"] = [data["oldSelf"]]
    else:
        data["_old"] = []
    type_name = ruled.node.types[0] if ruled.node.types else ""
    for rule in ruled.rules:
        if rule.uses_old and not had_old and not rule.optional_old:
            continue
        answer = rule.program.eval(data=data)
        if answer.type() == cel.Type.ERROR:
            detail = f"{_plain_error(answer.value())} evaluating rule: {rule.message or rule.text}"
            yield FieldError(FieldErrorReason.INVALID, path, type_name, detail)
        elif answer.value() is not True and (rule.uses_old or not unchanged):
            shown = OMITTED if type_name in ("object", "array") else value
            yield _failure(rule, (*path, *rule.field_path), shown, data)


def _failure(rule: Rule, path: Path, value: Any, data: Mapping[str, Any]) -> FieldError:
    detail = _computed_message(rule, data) or rule.message or f"failed rule: {rule.text}"
    if rule.reason in (FieldErrorReason.FORBIDDEN, FieldErrorReason.REQUIRED):
        return FieldError(rule.reason, path, OMITTED, detail)
    if rule.reason is FieldErrorReason.DUPLICATE:
        return FieldError(rule.reason, path, value)
    return FieldError(rule.reason, path, value, detail)


def _computed_message(rule: Rule, data: Mapping[str, Any]) -> str:
    """The text of the message expression; empty if it fails or is blank, as in an API server."""
    if rule.message_program is None:
        return ""
    answer = rule.message_program.eval(data=data)
    if answer.type() != cel.Type.STRING:
        return ""
    text = str(answer.value()).strip()
    return "" if "\n" in text else text


def _plain_error(error: object) -> str:
    text = str(error)
    if found := re.match(r'NOT_FOUND: Key not found in map : "?(.*?)"?$', text):
        return f"no such key: {found[1]}"
    if "No matching overloads" in text:
        return "no such overload"
    return text.partition(": ")[2] or text


def _compile(rule: Mapping[str, Any], node: Node, where: str, *, is_resource: bool) -> Rule:
    text = rule["rule"].strip()
    message_text = (rule.get("messageExpression") or "").strip()
    for word, expression in (("rule", text), ("messageExpression", message_text)):
        if unknown := undefined_field(expression, node, is_resource=is_resource):
            raise SchemaError(f"{where}.{word}: compilation failed: undefined field '{unknown}'")
    optional_old = bool(rule.get("optionalOldSelf"))
    uses_old = not _compiles(text)
    program = _program(text, uses_old, optional_old, f"{where}.rule")
    if program.return_type() not in (cel.Type.BOOL, cel.Type.DYN):
        raise SchemaError(f"{where}.rule: cel expression must evaluate to a bool")
    message_program = None
    if message_text:
        message_uses_old = not _compiles(message_text)
        message_program = _program(message_text, message_uses_old, False, f"{where}.messageExpression")
        if message_program.return_type() not in (cel.Type.STRING, cel.Type.DYN):
            raise SchemaError(f"{where}.messageExpression: messageExpression must evaluate to a string")
    reason = FieldErrorReason(rule.get("reason") or FieldErrorReason.INVALID)
    if reason not in _REASONS:
        raise SchemaError(f"{where}.reason: {reason} is not one of {', '.join(_REASONS)}")
    return Rule(
        text=text,
        message=(rule.get("message") or "").strip(),
        reason=reason,
        field_path=_field_path(rule.get("fieldPath") or "", where),
        program=program,
        message_program=message_program,
        uses_old=uses_old,
        optional_old=optional_old,
    )


def _compiles(text: str) -> bool:
    """Whether the rule compiles without oldSelf. A rule that does not is a transition rule."""
    try:
        _SELF_ONLY.compile(text)
    except RuntimeError:
        return False
    return True


def _program(text: str, uses_old: bool, optional_old: bool, where: str) -> cel.Expression:
    env = _SELF_ONLY
    if uses_old:
        env = _WITH_OPTIONAL_OLD if optional_old else _WITH_OLD
        text = _BIND_OPTIONAL.format(text) if optional_old else text
    try:
        return env.compile(text)
    except RuntimeError as error:
        raise SchemaError(
            f"{where}: compilation failed: {error}\nIf the rule is right, it uses something "
            "that grove.schema.cel_library does not offer yet."
        ) from error


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"' + "|" + r"'(?:[^'\\]|\\.)*'")
_SELECTION = re.compile(r"\b(?:self|oldSelf)((?:\s*\.\s*[A-Za-z_]\w*(?!\w|\s*\())+)")


def undefined_field(expression: str, node: Node, *, is_resource: bool) -> str:
    """The first undeclared field that the rule selects from `self` or `oldSelf`; empty if there is none.

    The library cannot check types against a schema, so this finds only plain chains such as `self.spec.replicas`.
    """
    for found in _SELECTION.finditer(_STRING.sub('""', expression)):
        here, at_resource = node, is_resource
        for name in (part.strip() for part in found[1].split(".")[1:]):
            if here.types != ("object",) or here.additional is not None:
                break
            fields = {escape(field): child for field, child in here.properties.items()}
            if at_resource:
                fields |= _META_FIELDS
            if name not in fields:
                return name
            here = fields[name]
            at_resource = here.embedded_resource
    return ""


_TEXT = Node(types=("string",))
_META_FIELDS: dict[str | None, Node] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": Node(types=("object",), properties={"name": _TEXT, "generateName": _TEXT}),
}

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


def _field_path(text: str, where: str) -> Path:
    steps: list[str] = []
    end = 0
    for found in _STEP.finditer(text):
        if found.start() != end:
            break
        end = found.end()
        steps.append(found[1] or re.sub(r"\\(.)", r"\1", found[2]))
    if end != len(text):
        raise SchemaError(f"{where}.fieldPath: {text!r} is not a path like .spec.replicas or ['a.b']")
    return tuple(steps)


def visible(node: Node, value: Any, *, is_resource: bool = False) -> Any:
    """The part of a value that a rule sees."""
    if isinstance(value, list):
        return value if node.items is None else [visible(node.items, item) for item in value]
    if isinstance(value, dict):
        return _visible_object(node, value, is_resource)
    if node.types == ("number",) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if node.types == ("integer",) and isinstance(value, float):
        return int(value)
    return value


def _visible_object(node: Node, fields: dict[str, Any], is_resource: bool) -> dict[str, Any]:
    if isinstance(node.additional, Node):
        return {name: visible(node.additional, sub) for name, sub in fields.items()}
    shown = {
        escaped: visible(child, fields[name], is_resource=child.embedded_resource)
        for name, child in node.properties.items()
        if name in fields and (child.types or child.properties) and (escaped := escape(name))
    }
    if is_resource:
        shown.update({name: fields[name] for name in ("apiVersion", "kind") if name in fields})
        metadata = fields.get("metadata")
        if isinstance(metadata, dict):
            shown["metadata"] = {k: metadata[k] for k in ("name", "generateName") if k in metadata}
    return shown


_KEYWORDS = {"true", "false", "null", "in"}
_FUTURE_KEYWORDS = {
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
}
_RESERVED = _KEYWORDS | _FUTURE_KEYWORDS | {"package", "namespace", "return", "var", "void", "while"}
_SPELT = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """The CEL identifier of a field, escaped as in Kubernetes; None for a name that rules cannot refer to."""
    if name in _RESERVED:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_./-][A-Za-z0-9_./-]*", name):
        return None
    return re.sub(r"__|[./-]", lambda found: _SPELT[found[0]], name)
