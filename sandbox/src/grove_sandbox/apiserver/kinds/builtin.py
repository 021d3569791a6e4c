"""The table of all builtin kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grove_sandbox.apiserver.errors import GroupResource
from grove_sandbox.apiserver.kinds import printers, strategies
from grove_sandbox.apiserver.kinds.events import EVENTS_V1, EventStrategy
from grove_sandbox.apiserver.kinds.pods import PodStrategy
from grove_sandbox.apiserver.kinds.scheduling import gang_types
from grove_sandbox.apiserver.kinds.services import ServiceStrategy
from grove_sandbox.apiserver.resources.resource_types import Conversion, ServedResource
from grove_sandbox.apiserver.resources.strategy import Strategy
from grove_sandbox.apiserver.responses.kubectl_table import TableColumn
from grove_sandbox.apiserver.schema.defaults import DEFAULTS
from grove_sandbox.apiserver.schema.definitions import Dialect, load, name_of
from grove_sandbox.apiserver.schema.shapes import Shape, ShapeCompiler
from grove_sandbox.apiserver.verbs.selectors import field_reader

Fields = Mapping[str, Callable[[dict[str, Any]], str]]


def builtin_types(dialect: Dialect) -> list[ServedResource]:
    shapes = ShapeCompiler(load(dialect), DEFAULTS)
    return [*(kind.resource_type(dialect, shapes) for kind in KINDS), *gang_types(dialect, shapes)]


@dataclass(frozen=True)
class BuiltinKind:
    """One row. `short` are short names, separated by spaces. `fields` are the field selectors of the kind."""

    api_version: str
    kind: str
    plural: str
    strategy: Callable[[Shape], Strategy] = Strategy
    columns: tuple[TableColumn, ...] = (printers.AGE,)
    short: str = ""
    namespaced: bool = True
    in_all: bool = False  # shown by `kubectl get all`
    status: bool = False
    fields: Fields = field(default_factory=dict)
    stored_as: GroupResource | None = None
    conversion: Conversion | None = None

    def resource_type(self, dialect: Dialect, shapes: ShapeCompiler) -> ServedResource:
        group, _, version = self.api_version.rpartition("/")
        return ServedResource(
            group=group,
            version=version,
            kind=self.kind,
            plural=self.plural,
            singular=self.kind.lower(),
            namespaced=self.namespaced,
            strategy=self.strategy(shapes.of(name_of(dialect, group, version, self.kind))),
            short_names=tuple(self.short.split()),
            categories=("all",) if self.in_all else (),
            status=self.status,
            columns=self.columns,
            fields=self.fields,
            stored_as=self.stored_as,
            conversion=self.conversion,
        )


def _fields(*paths: str) -> Fields:
    return {path: field_reader(path) for path in paths}


_POD_FIELDS = _fields(
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase",
    "status.podIP", "status.nominatedNodeName",
)  # fmt: skip
_EVENT_FIELDS = _fields(
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
    "reportingComponent", "source", "type",
)  # fmt: skip
_NEW_EVENT_FIELDS = {
    "reason": field_reader("reason"),
    "type": field_reader("type"),
    "reportingController": field_reader("reportingComponent"),
    **{f"regarding.{f}": field_reader(f"involvedObject.{f}") for f in ("kind", "name", "namespace", "uid")},
}
_NODE_FIELDS = {"spec.unschedulable": field_reader("spec.unschedulable", default="false")}
_RBAC = "rbac.authorization.k8s.io/v1"
_HOOKS = "admissionregistration.k8s.io/v1"

KINDS = (
    BuiltinKind("v1", "Pod", "pods", PodStrategy, printers.PODS, "po", in_all=True, status=True, fields=_POD_FIELDS),
    BuiltinKind(
        "v1", "Node", "nodes", strategies.NodeStrategy, printers.NODES, "no",
        namespaced=False, status=True, fields=_NODE_FIELDS,
    ),
    BuiltinKind(
        "v1", "Namespace", "namespaces", strategies.NamespaceStrategy, printers.NAMESPACES, "ns",
        namespaced=False, status=True, fields=_fields("status.phase"),
    ),
    BuiltinKind(
        "v1", "Service", "services", ServiceStrategy, printers.SERVICES, "svc",
        in_all=True, status=True, fields=_fields("spec.clusterIP", "spec.type"),
    ),
    BuiltinKind("v1", "ServiceAccount", "serviceaccounts", strategies.ReturnsDeletedStrategy, printers.ACCOUNTS, "sa"),
    BuiltinKind("v1", "Secret", "secrets", strategies.DataStrategy, printers.SECRETS, fields=_fields("type")),
    BuiltinKind("v1", "ConfigMap", "configmaps", strategies.DataStrategy, printers.CONFIG_MAPS, "cm"),
    BuiltinKind(
        "v1", "PersistentVolumeClaim", "persistentvolumeclaims", strategies.ClaimStrategy, printers.CLAIMS, "pvc",
        status=True,
    ),
    BuiltinKind("v1", "Event", "events", EventStrategy, printers.EVENTS, "ev", fields=_EVENT_FIELDS),
    BuiltinKind(
        "events.k8s.io/v1", "Event", "events", EventStrategy, printers.EVENTS, "ev",
        fields=_NEW_EVENT_FIELDS, stored_as=GroupResource("", "events"), conversion=EVENTS_V1,
    ),
    BuiltinKind("coordination.k8s.io/v1", "Lease", "leases", strategies.LeaseStrategy, printers.LEASES),
    BuiltinKind(
        "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", strategies.AutoscalerStrategy,
        printers.AUTOSCALERS, "hpa", in_all=True, status=True,
    ),
    BuiltinKind(
        "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", strategies.PriorityClassStrategy,
        printers.PRIORITY_CLASSES, "pc", namespaced=False,
    ),
    BuiltinKind(_RBAC, "Role", "roles", strategies.RoleStrategy, (printers.CREATED_AT,)),
    BuiltinKind(_RBAC, "RoleBinding", "rolebindings", strategies.RoleStrategy, printers.BINDINGS),
    BuiltinKind(
        _RBAC, "ClusterRole", "clusterroles", strategies.RoleStrategy, (printers.CREATED_AT,), namespaced=False
    ),
    BuiltinKind(
        _RBAC, "ClusterRoleBinding", "clusterrolebindings", strategies.RoleStrategy, printers.BINDINGS,
        namespaced=False,
    ),
    BuiltinKind(
        "resource.k8s.io/v1", "ResourceClaim", "resourceclaims", strategies.ReturnsDeletedStrategy, status=True
    ),
    BuiltinKind(
        "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", strategies.ReturnsDeletedStrategy
    ),
    BuiltinKind(
        _HOOKS, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", strategies.ConfigurationStrategy,
        printers.WEBHOOKS, namespaced=False,
    ),
    BuiltinKind(
        _HOOKS, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", strategies.ConfigurationStrategy,
        printers.WEBHOOKS, namespaced=False,
    ),
)  # fmt: skip
