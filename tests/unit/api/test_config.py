"""The operator's configuration file: defaults of the reference, and no setting that silently does nothing."""

import pytest

from grove.api import DecodeError, OperatorConfiguration
from grove.api.validation import check_configuration

# Every field that the reference's chart renders.
REFERENCE = """
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
runtimeClientConnection: {qps: 100, burst: 150}
leaderElection:
  enabled: true
  leaseDuration: 15s
  renewDeadline: 10s
  retryPeriod: 2s
  resourceLock: leases
  resourceName: grove-operator-leader-election
  resourceNamespace: grove
server:
  webhooks: {bindAddress: "", port: 9443, serverCertDir: /etc/certs, secretName: s, certProvisionMode: auto}
  healthProbes: {enable: true, bindAddress: "", port: 9444}
  metrics: {bindAddress: "", port: 9445}
debugging: {enableProfiling: false, pprofBindHost: 127.0.0.1, pprofBindPort: 2753}
controllers:
  podCliqueSet: {concurrentSyncs: 3}
  podClique: {concurrentSyncs: 3}
  podCliqueScalingGroup: {concurrentSyncs: 3}
scheduler:
  profiles: [{name: default-scheduler, config: {gangScheduling: true}}, {name: kai-scheduler}]
logLevel: info
logFormat: json
topologyAwareScheduling: {enabled: false}
network: {autoMNNVLEnabled: false}
authorizer:
  enabled: false
  exemptServiceAccountUserNames: ["system:serviceaccount:kube-system:generic-garbage-collector"]
  reconcilerServiceAccountUserName: "system:serviceaccount:grove:grove-operator"
"""


def test_the_references_configuration_file_is_accepted_unchanged() -> None:
    found = OperatorConfiguration.from_yaml(REFERENCE)
    assert check_configuration(found) == []
    assert found.server.metrics.port == 9445
    assert found.controllers.pod_gang.concurrent_syncs == 5
    assert found.scheduler.enabled == ("default-scheduler", "kai-scheduler")


def test_an_empty_file_is_the_defaults() -> None:
    found = OperatorConfiguration.from_yaml("kind: OperatorConfiguration")
    assert found == OperatorConfiguration()
    assert (found.server.webhooks.port, found.server.health_probes.port, found.server.metrics.port) == (
        2750,
        2751,
        2752,
    )
    assert found.scheduler.default_profile_name == "default-scheduler"
    assert "kai-scheduler" in found.scheduler.enabled


def test_defaults_are_not_shared_between_configurations() -> None:
    OperatorConfiguration().server.metrics.port = 1
    assert OperatorConfiguration().server.metrics.port == 2752


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("server:\n  metric: {}", r"server.metric: there is no field 'metric' here \(line 2\)"),
        ("scheduler:\n  profiles:\n  - name: a\n    cfg: 1", r"scheduler.profiles\[0\].cfg: .* \(line 4\)"),
        ("logLevel: trace", "logLevel: Invalid enum value 'trace'"),
        (
            "leaderElection: {leaseDuration: 15}",
            "leaderElection.leaseDuration: Expected `Duration`, got `int`",
        ),
        ("server: {metrics: {port: x}}", "server.metrics.port: Expected `int`, got `str`"),
    ],
)
def test_a_field_that_is_not_known_is_an_error_with_its_path_and_line(text: str, says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        OperatorConfiguration.from_yaml(text)


@pytest.mark.parametrize(
    ("scheduler_name", "profile"),
    [
        ("", "default-scheduler"),
        ("default-scheduler", "default-scheduler"),
        ("grove-scheduler", "kai-scheduler"),
        ("my-koordinator", "koord-scheduler"),
        ("unheard-of", None),
    ],
)
def test_schedulers_are_known_by_their_names(scheduler_name: str, profile: str | None) -> None:
    assert OperatorConfiguration().scheduler.profile_for(scheduler_name) == profile
