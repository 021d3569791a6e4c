"""Errors of pods are the same for all pods of a clique."""

from msgspec import Raw

from grove.api import PodClique
from grove.api.meta import ObjectMeta
from grove.api.podclique import PodCliqueSpec
from grove.controllers.podclique.pods import without_pod_name
from grove.runtime.client.errors import Forbidden, Status


def test_an_error_does_not_name_the_pod() -> None:
    clique = PodClique(
        metadata=ObjectMeta(name="train-0-worker"),
        spec=PodCliqueSpec(role_name="worker", pod_spec=Raw(b"{}"), replicas=1),
    )
    error = Forbidden(Status(message='pods "train-0-worker-x7k2b" is forbidden: quota'), "POST pods")
    found = without_pod_name(error, clique, "train-0-worker-x7k2b")
    assert isinstance(found, Forbidden)
    assert found.status.message == 'pods "train-0-worker-*" is forbidden: quota'
