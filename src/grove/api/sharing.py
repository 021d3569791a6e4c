"""Resource claims that several pods share."""

from typing import Annotated, Literal

import msgspec
from msgspec import Raw

from grove.api.serialization.model import About, Model

SharingScope = Literal["AllReplicas", "PerReplica"]


class NamedClaimTemplate(Model):
    name: Annotated[str, About("The name by which resourceSharing refers to the template.")]
    template_spec: Annotated[
        Raw,
        About(
            "A resource.k8s.io/v1 ResourceClaimTemplateSpec.",
            schema={
                "type": "object",
                "required": ["spec"],
                "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
    ]


class CliqueResourceSharing(Model):
    name: Annotated[
        str,
        About(
            "The name of an entry of resourceClaimTemplates, or of a ResourceClaimTemplate in the cluster."
        ),
    ]
    namespace: Annotated[
        str | None,
        About(
            "The namespace of the ResourceClaimTemplate. Default: the namespace of the set. A template of another "
            "namespace must name the namespace of the set, or `*`, in its annotation "
            "`grove.io/shared-with-namespaces`, a list separated by commas."
        ),
    ] = None
    scope: Annotated[SharingScope, About("Whether all replicas share one claim, or each has its own.")]


class CliqueFilter(Model):
    child_clique_names: Annotated[list[str], About("The cliques whose pods use the claim.")] = []


class ScalingGroupResourceSharing(CliqueResourceSharing):
    filter: Annotated[
        CliqueFilter | None, About("Which pods use the claim. Default: all pods of the group.")
    ] = None


class SetFilter(CliqueFilter):
    child_scaling_group_names: Annotated[
        list[str], About("The scaling groups whose pods use the claim.")
    ] = []


class SetResourceSharing(CliqueResourceSharing):
    filter: Annotated[SetFilter | None, About("Which pods use the claim. Default: all pods of the set.")] = (
        None
    )


class _Devices(msgspec.Struct):
    requests: list[Raw] = []


class _ClaimSpec(msgspec.Struct):
    devices: _Devices = msgspec.field(default_factory=_Devices)


class _TemplateSpec(msgspec.Struct):
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)


def requests_devices(template: NamedClaimTemplate) -> bool:
    """Whether a claim created from the template requests any device."""
    try:
        return bool(msgspec.json.decode(template.template_spec, type=_TemplateSpec).spec.devices.requests)
    except msgspec.ValidationError:
        return False
