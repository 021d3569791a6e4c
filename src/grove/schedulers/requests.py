"""What one pod of a template asks for: its containers together, or the most demanding of its init containers.

    request = overhead + max over time of what runs at once

Init containers run one after the other, before the containers; one that restarts always stays beside all that follow.
A container that has a limit and no request is given its limit as request, as the API server does. What the pod as a
whole requests (`spec.resources`) stands in place of the sums.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

import msgspec
from msgspec import Raw

from grove.schema.quantity import Quantity

Requests = dict[str, Fraction]


def pod_requests(pod_spec: Raw) -> Requests:
    """By resource; empty for a pod that asks for nothing. Raises ValueError for what is no PodSpec."""
    try:
        spec = msgspec.json.decode(pod_spec, type=_PodSpec)
    except msgspec.ValidationError as e:
        raise ValueError(str(e)) from e
    running: Requests = {}
    peak: Requests = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            running = total([running, _of(container)])
            peak = _larger(peak, running)
        else:
            peak = _larger(peak, total([running, _of(container)]))
    running = total([running, *(_of(c) for c in spec.containers)])
    needed = _larger(peak, running) | _of(spec)
    return total([needed, _amounts(spec.overhead or {})])


def total(parts: Iterable[Mapping[str, Fraction]]) -> Requests:
    found: Requests = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, Fraction(0)) + amount
    return {name: amount for name, amount in found.items() if amount}


def times(count: int, requests: Mapping[str, Fraction]) -> Requests:
    return {name: count * amount for name, amount in requests.items()}


def written(requests: Mapping[str, Fraction]) -> dict[str, str]:
    """As Kubernetes writes quantities, by name: whole numbers, or thousandths, rounded up."""
    return {name: _quantity(amount) for name, amount in sorted(requests.items())}


def _quantity(amount: Fraction) -> str:
    return str(amount.numerator) if amount.denominator == 1 else f"{ceil(amount * 1000)}m"


def _of(part: "_Container | _PodSpec") -> Requests:
    resources = part.resources or _Resources()
    return _amounts((resources.limits or {}) | (resources.requests or {}))


def _amounts(quantities: Mapping[str, str | int | float]) -> Requests:
    return {name: Quantity(quantity).amount for name, quantity in quantities.items()}


def _larger(a: Requests, b: Requests) -> Requests:
    return {name: max(a.get(name, Fraction(0)), b.get(name, Fraction(0))) for name in a.keys() | b.keys()}


class _Resources(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class _Container(msgspec.Struct, rename="camel"):
    resources: _Resources | None = None
    restart_policy: str | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    containers: list[_Container] = []
    init_containers: list[_Container] | None = None
    overhead: dict[str, str | int | float] | None = None
    resources: _Resources | None = None
