"""Flock passes both halves of the test kit for backends."""

from flock_scheduler import FlockScheduler
from grove_example_scheduler import definitions
from grove_example_scheduler.backend import LANE, Flock
from grove_sandbox.conformance import BackendConformance, served_by
from grove_sandbox.flow import BackendFlow


def lane(name: str) -> dict[str, object]:
    return {"apiVersion": "flock.example.com/v1", "kind": "Lane", "metadata": {"name": name}, "spec": {}}


LANES = ("main", "team-a", "team-b")


class TestFlock(BackendConformance):
    factory = Flock
    served = served_by(definitions(), objects=[lane(name) for name in LANES])
    queue_tag = ("annotations", LANE)


class TestFlockInACluster(BackendFlow):
    factory = Flock
    definitions = definitions()
    policy = FlockScheduler
    prerequisites = tuple(("/apis/flock.example.com/v1/lanes", lane(name)) for name in LANES)
    queue_tag = ("annotations", LANE)
