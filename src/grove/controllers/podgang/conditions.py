"""The conditions of a PodGang that tell how far it is: Initialized, BackendSynced, SchedulerDialect, Unschedulable."""

from datetime import datetime

from grove.api import PodGang
from grove.api.conditions import ConditionType, Reason
from grove.api.meta import Condition, ConditionStatus
from grove.controllers.scheduler_objects.sync import SyncResult
from grove.plan.gangs.completion import GangCompletion
from grove.plan.status.conditions import is_true, put, without
from grove.schedulers.types import Observation
from grove.schema.name_syntax import is_condition_reason

MAX_MESSAGE_CHARS = 1000
MAX_LISTED_GROUPS = 5


class GangConditions:
    """The conditions of one gang, changed step by step. Each names the generation of the gang that it is about."""

    def __init__(self, gang: PodGang, conditions: list[Condition], now: datetime) -> None:
        self._gang = gang
        self._now = now
        self.conditions = conditions

    def set_initialized(self, completion: GangCompletion) -> None:
        kind = ConditionType.INITIALIZED
        if completion.complete:
            message = f"all pods of its {len(self._gang.spec.pod_groups)} groups exist"
            self._put(kind, "True", Reason.PODS_CREATED, message)
            return
        missing = [f"{count} of {group}" for group, count in completion.missing.items()]
        message = f"waiting for pods to be created: {_listed(missing)}"
        self._put(kind, "False", Reason.PODS_CREATION_PENDING, message)

    def set_synced(self, result: SyncResult) -> None:
        if result.dialect:
            message = "the API of its scheduler that the objects and pods of this gang are made for"
            self._put(ConditionType.DIALECT, "True", result.dialect, message)
        status: ConditionStatus = "True" if result.ok else "False"
        self._put(ConditionType.BACKEND_SYNCED, status, result.reason, result.message)

    def set_observed(self, observation: Observation) -> None:
        """Some schedulers never clear what they said about a gang, so for a scheduled gang it is ignored."""
        kind = ConditionType.UNSCHEDULABLE
        if observation.message and not is_true(self.conditions, ConditionType.SCHEDULED):
            self._put(kind, "True", *_reason_and_message(observation))
        else:
            self.conditions = without(self.conditions, kind)

    def _put(self, kind: str, status: ConditionStatus, reason: str, message: str) -> None:
        self.conditions = put(
            self.conditions,
            kind,
            status,
            reason,
            message[:MAX_MESSAGE_CHARS],
            self._now,
            observed_generation=self._gang.metadata.generation,
        )


def _reason_and_message(observation: Observation) -> tuple[str, str]:
    """A text that an API server does not accept as the reason of a condition goes into the message."""
    reason, message = observation.reason, observation.message
    if is_condition_reason(reason):
        return reason, message
    return ConditionType.UNSCHEDULABLE, f"{reason}: {message}" if reason else message


def _listed(groups: list[str]) -> str:
    shown = ", ".join(groups[:MAX_LISTED_GROUPS])
    left = len(groups) - MAX_LISTED_GROUPS
    return f"{shown} and {left} more groups" if left > 0 else shown
