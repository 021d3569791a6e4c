"""The resources that one pod of a template requests.

    request = overhead + the maximum over time of what runs at once

Init containers run one after the other, before the containers. One with restartPolicy Always keeps running beside all
that follow. A container with a limit and no request gets its limit as its request, as in the API server. Requests of
the pod as a whole (`spec.resources`) replace the sums.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

import msgspec
from msgspec import Raw

from grove.schema.quantity import Quantity

Requests = dict[str, Fraction]
"""Amounts by the name of the resource."""


def pod_requests(pod_spec: Raw) -> Requests:
    """Empty for a pod that requests nothing. Raises ValueError for JSON that is no PodSpec."""
    try:
        spec = msgspec.json.decode(pod_spec, type=_PodSpecResources)
    except msgspec.ValidationError as e:
        raise ValueError(str(e)) from e
    running: Requests = {}
    peak: Requests = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            running = total([running, _effective_requests(container)])
            peak = _maximum(peak, running)
        else:
            peak = _maximum(peak, total([running, _effective_requests(container)]))
    running = total([running, *(_effective_requests(c) for c in spec.containers)])
    needed = _maximum(peak, running) | _effective_requests(spec)
    return total([needed, _amounts(spec.overhead or {})])


def total(parts: Iterable[Mapping[str, Fraction]]) -> Requests:
    """The sum, without resources whose amount is zero."""
    sums: Requests = {}
    for part in parts:
        for name, amount in part.items():
            sums[name] = sums.get(name, Fraction(0)) + amount
    return {name: amount for name, amount in sums.items() if amount}


def times(count: int, requests: Mapping[str, Fraction]) -> Requests:
    return {name: count * amount for name, amount in requests.items()}


def as_quantities(requests: Mapping[str, Fraction]) -> dict[str, str]:
    """As Kubernetes writes quantities, sorted by name: whole numbers, or thousandths, rounded up."""
    return {name: _quantity(amount) for name, amount in sorted(requests.items())}


def _quantity(amount: Fraction) -> str:
    return str(amount.numerator) if amount.denominator == 1 else f"{ceil(amount * 1000)}m"


def _effective_requests(part: "_ContainerResources | _PodSpecResources") -> Requests:
    resources = part.resources or _ResourceRequirements()
    return _amounts((resources.limits or {}) | (resources.requests or {}))


def _amounts(quantities: Mapping[str, str | int | float]) -> Requests:
    return {name: Quantity(quantity).amount for name, quantity in quantities.items()}


def _maximum(a: Requests, b: Requests) -> Requests:
    return {name: max(a.get(name, Fraction(0)), b.get(name, Fraction(0))) for name in a.keys() | b.keys()}


class _ResourceRequirements(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class _ContainerResources(msgspec.Struct, rename="camel"):
    resources: _ResourceRequirements | None = None
    restart_policy: str | None = None


class _PodSpecResources(msgspec.Struct, rename="camel"):
    containers: list[_ContainerResources] = []
    init_containers: list[_ContainerResources] | None = None
    overhead: dict[str, str | int | float] | None = None
    resources: _ResourceRequirements | None = None
