"""Rules for the operator's configuration: bounds, timing of the leader election, scheduler profiles."""

from collections.abc import Iterator

from grove.api.config import LeaderElection, OperatorConfiguration, Schedulers
from grove.api.validation.bounds import check_bounds
from grove.api.validation.problem import Problem, duplicate, invalid, required, unsupported
from grove.schema.errors import Path


def check_configuration(configuration: OperatorConfiguration) -> list[Problem]:
    problems = list(check_bounds(configuration))
    if configuration.leader_election.enabled:
        problems += _check_leader_election(configuration.leader_election)
    return problems + list(_check_schedulers(configuration.scheduler))


def _check_leader_election(election: LeaderElection) -> Iterator[Problem]:
    path: Path = ("leaderElection",)
    for field, value in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if value.nanoseconds <= 0:
            yield invalid((*path, field), value, "must be more than 0", "remove it to use the default")
    if election.lease_duration.nanoseconds <= election.renew_deadline.nanoseconds:
        yield invalid(
            (*path, "leaseDuration"),
            election.lease_duration,
            f"must be longer than renewDeadline, which is {election.renew_deadline}",
            "otherwise two operators could work at once: raise leaseDuration or lower renewDeadline",
        )
    if not election.resource_name:
        yield required((*path, "resourceName"), "the Lease has a name", "remove it to use the default")


def _check_schedulers(schedulers: Schedulers) -> Iterator[Problem]:
    path: Path = ("scheduler",)
    names = [p.name for p in schedulers.profiles]
    for i, name in enumerate(names):
        here = (*path, "profiles", i, "name")
        if not name:
            yield required(here, "a profile names a scheduler", "name one, such as kai-scheduler")
        elif name in names[:i]:
            yield duplicate(here, name, "another profile has this name too", "remove one of them")
    if schedulers.default_profile_name not in schedulers.enabled:
        yield unsupported(
            (*path, "defaultProfileName"),
            schedulers.default_profile_name,
            list(schedulers.enabled),
            "name one of the profiles, or add a profile for it",
        )
