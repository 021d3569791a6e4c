"""Requests of pods and resources of nodes in whole numbers, rounded up: cpu in thousandths, others in units."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import ceil

from grove.schema.quantity import Quantity

from grove_sandbox.schedulers.objects import SchedulerPod

Amounts = dict[str, int]


def amounts(quantities: Mapping[str, str | int | float]) -> Amounts:
    return {name: _whole(name, quantity) for name, quantity in quantities.items()}


def add(total: Amounts, more: Mapping[str, int]) -> Amounts:
    return {name: total.get(name, 0) + more.get(name, 0) for name in total.keys() | more.keys()}


def total(all_amounts: Iterable[Mapping[str, int]]) -> Amounts:
    result: Amounts = {}
    for more in all_amounts:
        result = add(result, more)
    return result


def request_of(pod: SchedulerPod) -> Amounts:
    """The request of a pod as kube-scheduler computes it, plus one of the resource `pods`.

    It is the maximum over the pod's life: all containers and sidecars together, or one init container beside the
    sidecars that were started before it.
    """
    running: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        need = amounts(container.resources.requests)
        if container.restart_policy == "Always":
            running = add(running, need)
            need = {}
        peak = _larger(peak, add(running, need))
    for container in pod.spec.containers:
        running = add(running, amounts(container.resources.requests))
    return add(add(_larger(peak, running), amounts(pod.spec.overhead)), {"pods": 1})


def _larger(a: Amounts, b: Amounts) -> Amounts:
    return {name: max(a.get(name, 0), b.get(name, 0)) for name in a.keys() | b.keys()}


@lru_cache(maxsize=4096)
def _whole(name: str, quantity: str | float) -> int:
    return ceil(Quantity(quantity).amount * (1000 if name == "cpu" else 1))
