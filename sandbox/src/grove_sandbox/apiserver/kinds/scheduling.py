"""Kubernetes' native gang kinds in `scheduling.k8s.io`: Workload, PodGroup, CompositePodGroup.

They differ between releases (`definitions.Dialect`). All feature gates are on. As in a real cluster most fields of a
spec are immutable, and a PodGroup in use is protected from deletion.
"""

from collections.abc import Iterator
from typing import Any

from grove_sandbox.apiserver.controllers.pod_group_protection import PROTECTION
from grove_sandbox.apiserver.errors import (
    FieldViolation,
    duplicate,
    forbidden,
    invalid,
    required,
)
from grove_sandbox.apiserver.kinds import priorities
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.resources.strategy import Strategy
from grove_sandbox.apiserver.responses.kubectl_table import AGE
from grove_sandbox.apiserver.schema.definitions import Dialect
from grove_sandbox.apiserver.schema.shapes import Shape, ShapeCompiler
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

GROUP = "scheduling.k8s.io"
MOST_TEMPLATES = 8
DEEPEST_COMPOSITES = 3
IMMUTABLE = "field is immutable"
_VERSIONS: dict[Dialect, dict[str, tuple[str, ...]]] = {
    "1.34": {},
    "1.35": {"v1alpha1": ("Workload",)},
    "1.36": {"v1alpha2": ("Workload", "PodGroup")},
    "1.37": {"v1beta1": ("Workload", "PodGroup"), "v1alpha3": ("Workload", "PodGroup", "CompositePodGroup")},
}


def gang_types(dialect: Dialect, shapes: ShapeCompiler) -> list[ServedResource]:
    strategies = {
        "Workload": WorkloadStrategy,
        "PodGroup": PodGroupStrategy,
        "CompositePodGroup": CompositePodGroupStrategy,
    }
    return [
        ServedResource(
            group=GROUP,
            version=version,
            kind=kind,
            plural=f"{kind.lower()}s",
            singular=kind.lower(),
            namespaced=True,
            strategy=strategies[kind](shapes.of(f"io.k8s.api.scheduling.{version}.{kind}"), dialect),
            status=kind != "Workload",
            columns=(AGE,),
        )
        for version, kinds in _VERSIONS[dialect].items()
        for kind in kinds
    ]


class _GangStrategy(Strategy):
    def __init__(self, shape: Shape, dialect: Dialect) -> None:
        super().__init__(shape, names.subdomain)
        self.dialect = dialect
        self.unconditional_update = dialect in ("1.35", "1.36")


class WorkloadStrategy(_GangStrategy):
    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj.get("spec") or {}
        errors: list[FieldViolation] = []
        if self.dialect == "1.35":
            groups = spec.get("podGroups") or []
            if not groups:
                errors.append(required("spec.podGroups"))
            return errors + _validate_templates(groups, "spec.podGroups", "policy", "minCount")
        plain, composite = spec.get("podGroupTemplates") or [], spec.get("compositePodGroupTemplates") or []
        if self.dialect == "1.36" and not plain:
            errors.append(required("spec.podGroupTemplates"))
        elif self.dialect == "1.37":
            errors += _one_of("spec", spec, ("podGroupTemplates", "compositePodGroupTemplates"))
        errors += _validate_templates(plain, "spec.podGroupTemplates")
        errors += _validate_composites(composite, "spec.compositePodGroupTemplates", depth=1)
        every = list(_walk(spec, "spec"))
        seen: set[str] = set()
        for path, template in every:
            name = template.get("name", "")
            if name in seen:
                errors.append(duplicate(f"{path}.name", name))
            seen.add(name)
        priorities_found = {(t.get("priorityClassName"), t.get("priority")) for _, t in every}
        if self.dialect == "1.37" and len(priorities_found) > 1:
            detail = "all priority and priorityClassName values must be identical, detected multiple values"
            errors.append(invalid("spec", None, detail))
        return errors

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = super().validate_update(new, old, call)
        fresh, stored = new.get("spec") or {}, old.get("spec") or {}
        if stored.get("controllerRef") is not None or self.dialect != "1.35":
            errors += _immutable(fresh, stored, "controllerRef")
        for field in ("podGroups", "podGroupTemplates", "compositePodGroupTemplates"):
            if self.dialect == "1.37":
                if _without_counts(fresh.get(field)) != _without_counts(stored.get(field)):
                    errors.append(invalid(f"spec.{field}", None, IMMUTABLE))
            else:
                errors += _immutable(fresh, stored, field)
        return errors


class PodGroupStrategy(_GangStrategy):
    adds_protection = True

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        super().prepare_create(obj, call)
        spec = obj["spec"] = dict(obj.get("spec") or {})
        priorities.admit(obj, call, "pod group")
        self._default(spec)
        if self.adds_protection:
            meta = obj["metadata"]
            present = meta.get("finalizers") or []
            meta["finalizers"] = present if PROTECTION in present else [*present, PROTECTION]
            if self.dialect == "1.36":
                _require_template(obj, call)

    def prepare_update(self, new: Object, old: Object, call: ApiCall) -> None:
        super().prepare_update(new, old, call)
        spec = new["spec"] = dict(new.get("spec") or {})
        self._default(spec)

    def _default(self, spec: Object) -> None:
        spec.setdefault("disruptionMode", "Pod" if self.dialect == "1.36" else {"single": {}})

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj.get("spec") or {}
        errors = _validate_policy(spec.get("schedulingPolicy"), "spec.schedulingPolicy", "minCount")
        errors += _validate_topology(spec, "spec")
        if spec.get("parentCompositePodGroupName") and not spec.get("workloadRef"):
            errors.append(required("spec.workloadRef", "must be set when parentCompositePodGroupName is set"))
        return errors

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = super().validate_update(new, old, call)
        fresh, stored = new.get("spec") or {}, old.get("spec") or {}
        for field in fresh.keys() | stored.keys():
            if field == "schedulingPolicy" and self.dialect == "1.37":
                if _without_counts(fresh.get(field)) != _without_counts(stored.get(field)):
                    errors.append(invalid(f"spec.{field}", None, IMMUTABLE))
            else:
                errors += _immutable(fresh, stored, field)
        return errors


class CompositePodGroupStrategy(PodGroupStrategy):
    adds_protection = False

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj.get("spec") or {}
        errors = _validate_policy(spec.get("schedulingPolicy"), "spec.schedulingPolicy", "minGroupCount")
        errors += _validate_topology(spec, "spec")
        if not spec.get("workloadRef"):
            errors.append(required("spec.workloadRef"))
        return errors

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = super().validate_update(new, old, call)
        return errors + _immutable(new.get("spec") or {}, old.get("spec") or {}, "schedulingPolicy")


def _require_template(obj: Object, call: ApiCall) -> None:
    ref = ((obj["spec"].get("podGroupTemplateRef") or {}).get("workload")) or {}
    if not ref:
        return
    workload = call.state.find(GROUP, "v1alpha2", "workloads", ref.get("workloadName", ""), call.namespace)
    name = obj["metadata"].get("name", "")
    if workload is None or workload.obj["metadata"].get("deletionTimestamp"):
        why = f'PodGroup rejected: Workload "{ref.get("workloadName")}" not found'
        raise forbidden(call.type.resource, name, why)
    templates = (workload.obj.get("spec") or {}).get("podGroupTemplates") or []
    if not any(template.get("name") == ref.get("podGroupTemplateName") for template in templates):
        why = f'PodGroup rejected: Workload has no PodGroupTemplate "{ref.get("podGroupTemplateName")}"'
        raise forbidden(call.type.resource, name, why)


def _validate_templates(
    templates: list[Object], path: str, policy: str = "schedulingPolicy", count: str = "minCount"
) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    if len(templates) > MOST_TEMPLATES:
        body = f"Too many: {len(templates)}: must have at most {MOST_TEMPLATES} items"
        errors.append(FieldViolation(path, "FieldValueTooMany", body))
    for index, template in enumerate(templates):
        where, name = f"{path}[{index}]", template.get("name", "")
        if not name:
            errors.append(required(f"{where}.name"))
        else:
            errors += [invalid(f"{where}.name", name, problem) for problem in names.label(name)]
        errors += _validate_policy(template.get(policy), f"{where}.{policy}", count)
        errors += _validate_topology(template, where)
    return errors


def _validate_composites(templates: list[Object], path: str, depth: int) -> list[FieldViolation]:
    errors = _validate_templates(templates, path, count="minGroupCount")
    for index, template in enumerate(templates):
        where = f"{path}[{index}]"
        if depth > DEEPEST_COMPOSITES:
            errors.append(invalid(where, template.get("name"), "templates are nested too deeply"))
            continue
        plain = template.get("podGroupTemplates") or []
        composite = template.get("compositePodGroupTemplates") or []
        if not plain and not composite:
            detail = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            errors.append(invalid(where, template.get("name"), detail))
        errors += _validate_templates(plain, f"{where}.podGroupTemplates")
        errors += _validate_composites(composite, f"{where}.compositePodGroupTemplates", depth + 1)
    return errors


def _validate_policy(policy: Any, path: str, count: str) -> list[FieldViolation]:
    policy = policy or {}
    errors = _one_of(path, policy, ("basic", "gang"))
    if not errors and "gang" in policy:
        value = policy["gang"].get(count) or 0
        if not value:
            errors.append(required(f"{path}.gang.{count}"))
        elif value < 1:
            errors.append(invalid(f"{path}.gang.{count}", value, "must be greater than or equal to 1"))
    return errors


def _one_of(path: str, obj: Object, fields: tuple[str, ...]) -> list[FieldViolation]:
    present = [name for name in fields if obj.get(name) not in (None, [])]
    if len(present) == 1:
        return []
    choices = ", ".join(f"`{name}`" for name in fields)
    if not present:
        return [invalid(path, "", f"must specify one of: {choices}")]
    return [invalid(path, "{" + ", ".join(present) + "}", f"must specify exactly one of: {choices}")]


def _validate_topology(spec: Object, path: str) -> list[FieldViolation]:
    keys = (spec.get("schedulingConstraints") or {}).get("topology") or []
    where = f"{path}.schedulingConstraints.topology"
    if len(keys) > 1:
        return [
            FieldViolation(where, "FieldValueTooMany", f"Too many: {len(keys)}: must have at most 1 item")
        ]
    return [
        invalid(f"{where}[{index}].key", item.get("key", ""), problem)
        for index, item in enumerate(keys)
        for problem in names.qualified_name(item.get("key", ""))
    ]


def _walk(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for index, template in enumerate(spec.get("podGroupTemplates") or ()):
        yield f"{path}.podGroupTemplates[{index}]", template
    for index, template in enumerate(spec.get("compositePodGroupTemplates") or ()):
        where = f"{path}.compositePodGroupTemplates[{index}]"
        yield where, template
        yield from _walk(template, where)


def _without_counts(value: Any) -> Any:
    """The value without the minimum counts of gangs, to compare the fields that are immutable."""
    if isinstance(value, dict):
        return {k: _without_counts(v) for k, v in value.items() if k not in ("minCount", "minGroupCount")}
    if isinstance(value, list):
        return [_without_counts(item) for item in value]
    return value


def _immutable(new: Object, old: Object, field: str) -> list[FieldViolation]:
    if new.get(field) == old.get(field):
        return []
    return [invalid(f"spec.{field}", None, IMMUTABLE)]
