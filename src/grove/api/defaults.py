"""Defaults of a PodCliqueSet. The operator and the offline commands apply the same ones."""

import msgspec
from msgspec import Raw

from grove.api.podclique import AutoScalingConfig, PodCliqueSpec
from grove.api.podcliqueset import Clique, HeadlessServiceConfig, PodCliqueSet, ScalingGroup
from grove.api.scalars import Duration
from grove.api.serialization.model import replace

TERMINATION_DELAY = Duration("4h0m0s")
POD_DEFAULTS = {"restartPolicy": Raw(b'"Always"'), "terminationGracePeriodSeconds": Raw(b"30")}


def with_defaults(pcs: PodCliqueSet) -> PodCliqueSet:
    """A copy of the set with every default filled in.

    A clique with `replicas: 0` gets 1, as if the field were absent. Its `minAvailable` defaults to its replicas.
    """
    template = pcs.spec.template
    template = replace(
        template,
        cliques=[_clique(c) for c in template.cliques],
        pod_clique_scaling_groups=[_group(g) for g in template.pod_clique_scaling_groups],
        termination_delay=template.termination_delay or TERMINATION_DELAY,
        headless_service_config=template.headless_service_config or HeadlessServiceConfig(),
    )
    metadata = replace(pcs.metadata, namespace=pcs.metadata.namespace or "default")
    return replace(pcs, metadata=metadata, spec=replace(pcs.spec, template=template))


def _clique(clique: Clique) -> Clique:
    return replace(clique, spec=_clique_spec(clique.spec))


def _clique_spec(spec: PodCliqueSpec) -> PodCliqueSpec:
    replicas = spec.replicas or 1
    return replace(
        spec,
        pod_spec=_pod_spec(spec.pod_spec),
        replicas=replicas,
        min_available=replicas if spec.min_available is None else spec.min_available,
        auto_scaling_config=_autoscaling(spec.auto_scaling_config, replicas),
    )


def _group(group: ScalingGroup) -> ScalingGroup:
    return replace(group, scale_config=_autoscaling(group.scale_config, group.replicas))


def _autoscaling(config: AutoScalingConfig | None, replicas: int) -> AutoScalingConfig | None:
    if config is None or config.min_replicas is not None:
        return config
    return replace(config, min_replicas=replicas)


def _pod_spec(pod_spec: Raw) -> Raw:
    """Appends the missing fields. What the user wrote keeps its bytes and its order."""
    try:
        given = msgspec.json.decode(pod_spec, type=dict[str, Raw])
    except msgspec.ValidationError:
        return pod_spec  # not an object: validation reports it
    missing = {k: v for k, v in POD_DEFAULTS.items() if bytes(given.get(k, b"null")) in (b"null", b'""')}
    return Raw(msgspec.json.encode(given | missing)) if missing else pod_spec
