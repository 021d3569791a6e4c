"""The kinds every cluster has, as one table."""

from collections.abc import Callable
from typing import Any

from grove.sandbox.apiserver import kinds, printers
from grove.sandbox.apiserver.columns import Column
from grove.sandbox.apiserver.defaults import DEFAULTS
from grove.sandbox.apiserver.definitions import Dialect, load
from grove.sandbox.apiserver.events import EVENTS_V1
from grove.sandbox.apiserver.gangs import gang_types
from grove.sandbox.apiserver.pods import PodStrategy
from grove.sandbox.apiserver.resources import ResourceType
from grove.sandbox.apiserver.selectors import dotted
from grove.sandbox.apiserver.shapes import Shape, Shapes
from grove.sandbox.apiserver.status import GroupResource
from grove.sandbox.apiserver.strategy import Strategy

CORE = "io.k8s.api.core.v1."


def builtin_types(dialect: Dialect) -> list[ResourceType]:
    shapes = Shapes(load(dialect), DEFAULTS)
    return [*_core(shapes), *_others(shapes), *gang_types(dialect, shapes)]


def plain(shape: Shape) -> Strategy:
    return Strategy(shape)


def _core(shapes: Shapes) -> list[ResourceType]:
    def core(
        kind: str,
        plural: str,
        strategy: Callable[[Shape], Strategy] = plain,
        *,
        columns: tuple[Column, ...] = (printers.AGE,),
        fields: tuple[str, ...] = (),
        **more: Any,
    ) -> ResourceType:
        return ResourceType(
            group="",
            version="v1",
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=more.pop("namespaced", True),
            strategy=strategy(shapes.of(CORE + kind)),
            columns=columns,
            fields={field: dotted(field) for field in fields},
            **more,
        )

    pods = core(
        "Pod",
        "pods",
        PodStrategy,
        columns=printers.PODS,
        short_names=("po",),
        categories=("all",),
        status=True,
        fields=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
    )
    nodes = core(
        "Node",
        "nodes",
        kinds.NodeStrategy,
        columns=printers.NODES,
        short_names=("no",),
        namespaced=False,
        status=True,
        fields=("spec.unschedulable",),
    )
    nodes.fields["spec.unschedulable"] = dotted("spec.unschedulable", default="false")  # type: ignore[index]
    return [
        pods,
        nodes,
        core(
            "Namespace",
            "namespaces",
            kinds.NamespaceStrategy,
            columns=printers.NAMESPACES,
            short_names=("ns",),
            namespaced=False,
            status=True,
            fields=("status.phase",),
        ),
        core(
            "Service",
            "services",
            kinds.ServiceStrategy,
            columns=printers.SERVICES,
            short_names=("svc",),
            categories=("all",),
            status=True,
            fields=("spec.clusterIP", "spec.type"),
        ),
        core(
            "ServiceAccount",
            "serviceaccounts",
            kinds.AccountStrategy,
            columns=printers.ACCOUNTS,
            short_names=("sa",),
        ),
        core("Secret", "secrets", kinds.DataStrategy, columns=printers.SECRETS, fields=("type",)),
        core(
            "ConfigMap", "configmaps", kinds.DataStrategy, columns=printers.CONFIG_MAPS, short_names=("cm",)
        ),
        core(
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            kinds.ClaimStrategy,
            columns=printers.CLAIMS,
            short_names=("pvc",),
            status=True,
        ),
        core(
            "Event",
            "events",
            kinds.EventStrategy,
            columns=printers.EVENTS,
            short_names=("ev",),
            fields=(
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ),
        ),
    ]


def _others(shapes: Shapes) -> list[ResourceType]:
    def other(
        group: str,
        version: str,
        kind: str,
        plural: str,
        package: str,
        strategy: Callable[[Shape], Strategy] = plain,
        columns: tuple[Column, ...] = (printers.AGE,),
        **more: Any,
    ) -> ResourceType:
        return ResourceType(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=more.pop("namespaced", True),
            strategy=strategy(shapes.of(f"{package}.{kind}")),
            columns=columns,
            **more,
        )

    rbac, rbac_package = "rbac.authorization.k8s.io", "io.k8s.api.rbac.v1"
    hooks, hooks_package = "admissionregistration.k8s.io", "io.k8s.api.admissionregistration.v1"
    return [
        other(
            "events.k8s.io",
            "v1",
            "Event",
            "events",
            "io.k8s.api.events.v1",
            kinds.EventStrategy,
            printers.EVENTS,
            short_names=("ev",),
            stored_as=GroupResource("", "events"),
            conversion=EVENTS_V1,
            fields={
                "reason": dotted("reason"),
                "type": dotted("type"),
                "reportingController": dotted("reportingComponent"),
                "regarding.kind": dotted("involvedObject.kind"),
                "regarding.name": dotted("involvedObject.name"),
                "regarding.namespace": dotted("involvedObject.namespace"),
                "regarding.uid": dotted("involvedObject.uid"),
            },
        ),
        other(
            "coordination.k8s.io",
            "v1",
            "Lease",
            "leases",
            "io.k8s.api.coordination.v1",
            kinds.LeaseStrategy,
            printers.LEASES,
        ),
        other(
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            "io.k8s.api.autoscaling.v2",
            kinds.AutoscalerStrategy,
            printers.AUTOSCALERS,
            short_names=("hpa",),
            categories=("all",),
            status=True,
        ),
        other(
            "scheduling.k8s.io",
            "v1",
            "PriorityClass",
            "priorityclasses",
            "io.k8s.api.scheduling.v1",
            kinds.PriorityClassStrategy,
            printers.PRIORITY_CLASSES,
            short_names=("pc",),
            namespaced=False,
        ),
        other(rbac, "v1", "Role", "roles", rbac_package, kinds.RoleStrategy, (printers.CREATED_AT,)),
        other(rbac, "v1", "RoleBinding", "rolebindings", rbac_package, kinds.RoleStrategy, printers.BINDINGS),
        other(
            rbac,
            "v1",
            "ClusterRole",
            "clusterroles",
            rbac_package,
            kinds.RoleStrategy,
            (printers.CREATED_AT,),
            namespaced=False,
        ),
        other(
            rbac,
            "v1",
            "ClusterRoleBinding",
            "clusterrolebindings",
            rbac_package,
            kinds.RoleStrategy,
            printers.BINDINGS,
            namespaced=False,
        ),
        other(
            "resource.k8s.io",
            "v1",
            "ResourceClaim",
            "resourceclaims",
            "io.k8s.api.resource.v1",
            kinds.AccountStrategy,
            status=True,
        ),
        other(
            "resource.k8s.io",
            "v1",
            "ResourceClaimTemplate",
            "resourceclaimtemplates",
            "io.k8s.api.resource.v1",
            kinds.AccountStrategy,
        ),
        other(
            hooks,
            "v1",
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
            hooks_package,
            kinds.ConfigurationStrategy,
            printers.WEBHOOKS,
            namespaced=False,
        ),
        other(
            hooks,
            "v1",
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
            hooks_package,
            kinds.ConfigurationStrategy,
            printers.WEBHOOKS,
            namespaced=False,
        ),
    ]
