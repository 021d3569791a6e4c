"""What kube-scheduler reports in the conditions of PodGroups becomes the observation of a gang."""

from grove.schedulers.kube import Kubernetes
from tests.unit.schedulers.kube.gangs import Json, chat


def native(name: str, kind: str, status: str, reason: str, message: str) -> Json:
    condition = {"type": kind, "status": status, "reason": reason, "message": message}
    return {"kind": "PodGroup", "metadata": {"name": name}, "status": {"conditions": [condition]}}


def test_an_observation_has_each_message_once_with_the_names_of_cliques() -> None:
    kind = "PodGroupInitiallyScheduled"
    observation = Kubernetes({}).observe(
        chat("CompositePodGroup"),
        [
            native("chat-0.pg.chat-0-router", kind, "False", "Unschedulable", "root failed"),
            native("chat-0.pg.chat-0-prefill-0-leader", kind, "False", "Unschedulable", "root failed"),
            native(
                "chat-0.pg.chat-0-prefill-0-worker",
                kind,
                "False",
                "Unschedulable",
                "minCount (2): 1 scheduled",
            ),
            {"kind": "Workload", "metadata": {"name": "chat-0"}},
        ],
    )
    assert observation.reason == "Unschedulable"
    assert observation.message == (
        "chat-0-prefill-0-leader, chat-0-router: root failed; chat-0-prefill-0-worker: minCount (2): 1 scheduled"
    )


def test_scheduled_pod_groups_give_no_observation() -> None:
    objects = [native("chat-0.pg", "PodGroupScheduled", "True", "Scheduled", "done")]
    assert Kubernetes({}).observe(chat("PodGroupV1alpha2"), objects).message == ""


def test_the_single_pod_group_of_a_gang_is_called_the_gang() -> None:
    objects = [native("chat-0.pg", "PodGroupScheduled", "False", "SchedulerError", "no such priority")]
    observation = Kubernetes({}).observe(chat("PodGroupV1alpha2"), objects)
    assert (observation.reason, observation.message) == ("SchedulerError", "the gang: no such priority")
