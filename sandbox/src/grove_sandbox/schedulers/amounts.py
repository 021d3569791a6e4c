"""How much a pod needs and a node has, in whole numbers: cpu in thousandths, the rest in units, rounded up."""

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
    """What the pod needs at its most demanding moment: all containers together, or one of the init containers
    beside the sidecars that were started before it. And one place among the pods of its node."""
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
