"""The YuniKorn application of a gang.

A gang starts with application 1. When YuniKorn is done with an application, the gang's pods need the next one. The
dialect of the gang records both the number and whether pods of the application have been placed: `Application2`,
`Application2Placed`.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podgang import PodGang
from grove.plan.pod_state import is_present
from grove.schedulers.recorded_dialect import dialect_of

APPLICATION_ID = "yunikorn.apache.org/app-id"
"""The label of a pod that names its application."""

# The reasons of pods that YuniKorn fails when it gives up their application.
GIVEN_UP_REASONS = ("ResourceReservationTimeout", "ApplicationRejected")

_DIALECT = re.compile("Application([0-9]+)(Placed)?")


@dataclass(frozen=True)
class Application:
    """`is_placed` is whether any pod of the application has been placed."""

    number: int = 1
    is_placed: bool = False

    @property
    def dialect(self) -> str:
        return f"Application{self.number}{'Placed' if self.is_placed else ''}"


def application_of(gang: PodGang) -> Application:
    """The recorded application of a gang; the first one if none is recorded."""
    recorded = _DIALECT.fullmatch(dialect_of(gang))
    return Application(int(recorded[1]), bool(recorded[2])) if recorded else Application()


def application_id(gang: PodGang, number: int) -> str:
    """Unique in the cluster, and never reused.

    The id becomes a part of the names of placeholders, so it has only letters, digits and dashes.
    """
    meta = gang.metadata
    name = f"{meta.namespace}-{meta.name}".replace(".", "-")[:50].rstrip("-")
    return f"{name}-{hashlib.sha256(f'{meta.uid}/{number}'.encode()).hexdigest()[:8]}"


def current_application(gang: PodGang, pods: Sequence[Pod]) -> Application:
    """The application that pods join now, from the gang's pods and placeholders: the next one if the last is over."""
    recorded = application_of(gang)
    current_id = application_id(gang, recorded.number)
    own_pods = [p for p in pods if p.metadata.labels.get(APPLICATION_ID) == current_id]
    placeholders = [p for p in own_pods if is_placeholder(p)]
    members = [p for p in own_pods if not is_placeholder(p)]
    given_up = any(map(is_given_up, members))
    if not given_up and any(p.spec.node_name and is_present(p) for p in members):
        return Application(recorded.number, is_placed=True)
    is_over = given_up or recorded.is_placed or _has_lost_its_pods(members, placeholders)
    return Application(recorded.number + 1 if is_over else recorded.number)


def is_outdated(gang: PodGang, pod: Pod) -> bool:
    """Whether a pod belongs to an earlier application, so that YuniKorn will never place it with its gang.

    This includes a pod that was placed in the moment in which YuniKorn gave its application up: it runs alone.
    """
    current = application_of(gang)
    own_id = pod.metadata.labels.get(APPLICATION_ID, "")
    if not pod.spec.node_name:
        return own_id != application_id(gang, current.number)
    # A pod that was placed so late belongs to one of the last few applications.
    earlier = range(max(1, current.number - 3), current.number)
    return not current.is_placed and own_id in [application_id(gang, n) for n in earlier]


def is_given_up(pod: Pod) -> bool:
    """Whether YuniKorn failed the pod because it gave up the application."""
    return pod.status.phase == "Failed" and pod.status.reason in GIVEN_UP_REASONS


def is_placeholder(pod: Pod) -> bool:
    return labels.STAND_IN_FOR in pod.metadata.labels


def _has_lost_its_pods(members: Sequence[Pod], placeholders: Sequence[Pod]) -> bool:
    """Whether all members are gone, or the first one: it owns the placeholders, which are deleted with it for good."""
    present = {p.metadata.uid for p in members if is_present(p)}
    owners = {o.uid for p in placeholders for o in p.metadata.owner_references}
    return (bool(members) and not present) or not owners <= present
