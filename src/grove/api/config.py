"""OperatorConfiguration: the operator's configuration file.

Unlike in objects of the cluster, an unknown field is an error: it would be a setting that silently does nothing. Fields
of the reference's file that this operator does not use are accepted; their descriptions say so.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Raw

from grove.api.groups import OPERATOR_CONFIG_V1ALPHA1
from grove.api.scalars import Duration
from grove.api.serialization import codec, yaml
from grove.api.serialization.model import About, Model, default

DEFAULT_SCHEDULER = "default-scheduler"

BUILT_IN_SCHEDULERS = (DEFAULT_SCHEDULER, "kai-scheduler", "koord-scheduler", "volcano", "yunikorn")
"""The profiles that are enabled if the file lists none."""

_OTHER_NAMES = {"": DEFAULT_SCHEDULER, "grove-scheduler": "kai-scheduler"}


class ClientConnection(Model):
    qps: Annotated[float, About("Not used: the client adapts to the API server.")] = default(0.0)
    burst: Annotated[int, About("Not used: see qps.", at_least=0)] = default(0)
    content_type: Annotated[str, About("Not used: the client uses JSON.")] = default("")
    accept_content_types: Annotated[str, About("Not used: the client uses JSON.")] = default("")


class LeaderElection(Model):
    enabled: Annotated[
        bool, About("Whether the replicas of the operator elect one leader, and only the leader works.")
    ] = default(False)
    lease_duration: Annotated[
        Duration, About("How long the other replicas wait for a leader that stopped renewing its Lease.")
    ] = default(Duration("15s"))
    renew_deadline: Annotated[
        Duration, About("How long a leader tries to renew its Lease before it exits.")
    ] = default(Duration("10s"))
    retry_period: Annotated[Duration, About("How often a replica tries to acquire or renew the Lease.")] = (
        default(Duration("2s"))
    )
    resource_lock: Annotated[Literal["leases"], About("The kind of the lock.")] = default("leases")
    resource_name: Annotated[str, About("The name of the Lease.", min_length=1)] = default(
        "grove-operator-leader-election"
    )
    resource_namespace: Annotated[
        str, About("The namespace of the Lease. Default: the namespace of the operator.")
    ] = default("")


class WebhookServerConfig(Model):
    bind_address: Annotated[str, About("The address to listen on. Default: all addresses.")] = default("")
    port: Annotated[int, About("The port to listen on.", at_least=0)] = default(2750)
    server_cert_dir: Annotated[str, About("The folder of the certificate.")] = default(
        "/etc/grove-operator/webhook-certs"
    )
    secret_name: Annotated[str, About("The Secret of the certificate.")] = default(
        "grove-webhook-server-cert"
    )
    cert_provision_mode: Annotated[
        Literal["auto", "manual"], About("Whether the operator issues the certificate.")
    ] = default("auto")


class HealthServerConfig(Model):
    enable: Annotated[bool, About("Whether the operator serves /healthz, /readyz and /metrics.")] = default(
        True
    )
    bind_address: Annotated[str, About("The address to listen on. Default: all addresses.")] = default("")
    port: Annotated[int, About("The port to listen on.", at_least=0)] = default(2751)


class MetricsServerConfig(Model):
    bind_address: Annotated[str, About("The address to listen on. Default: all addresses.")] = default("")
    port: Annotated[int, About("The port to listen on.", at_least=0)] = default(2752)


class Servers(Model):
    webhooks: Annotated[WebhookServerConfig, About("Not used yet: Grove has no admission webhooks.")] = (
        default(WebhookServerConfig())
    )
    health_probes: Annotated[HealthServerConfig, About("The server of health probes and metrics.")] = default(
        HealthServerConfig()
    )
    metrics: Annotated[
        MetricsServerConfig, About("Not used: the server of the health probes serves /metrics too.")
    ] = default(MetricsServerConfig())


class Debugging(Model):
    enable_profiling: Annotated[bool, About("Whether to serve profiles.")] = default(False)
    pprof_bind_host: Annotated[str, About("The address for profiles.")] = default("127.0.0.1")
    pprof_bind_port: Annotated[int, About("The port for profiles.", at_least=0)] = default(2753)


class ControllerSettings(Model):
    concurrent_syncs: Annotated[
        int, About("How many objects the controller reconciles at the same time.", above=0)
    ]


def _syncs(count: int) -> ControllerSettings:
    return ControllerSettings(concurrent_syncs=count)


class Controllers(Model):
    pod_clique_set: Annotated[ControllerSettings, About("PodCliqueSets.")] = default(_syncs(10))
    pod_clique: Annotated[ControllerSettings, About("PodCliques.")] = default(_syncs(10))
    pod_clique_scaling_group: Annotated[ControllerSettings, About("PodCliqueScalingGroups.")] = default(
        _syncs(5)
    )
    pod_gang: Annotated[ControllerSettings, About("PodGangs.")] = default(_syncs(5))


class Authorizer(Model):
    enabled: Annotated[bool, About("Whether only Grove may change the objects that it creates.")] = default(
        False
    )
    exempt_service_account_user_names: Annotated[
        list[str], About("Users that may change them too, as in system:serviceaccount:NAMESPACE:NAME.")
    ] = []
    reconciler_service_account_user_name: Annotated[
        str | None, About("Not used: the operator knows its own account.")
    ] = None


class TopologyAwareScheduling(Model):
    enabled: Annotated[
        bool, About("Whether sets may have topology constraints. If not, sets that have some are invalid.")
    ] = default(False)


class Network(Model):
    auto_mnnvl_enabled: Annotated[
        bool, About("Whether Grove creates ComputeDomains (NVLink) for sets that ask for them.")
    ] = msgspec.field(name="autoMNNVLEnabled", default_factory=lambda: False)


class SchedulerProfile(Model):
    name: Annotated[str, About("The scheduler that this profile enables.", min_length=1)]
    enabled: Annotated[
        bool,
        About(
            "Whether sets may use the scheduler. Set it to false to switch off a backend that is enabled by default."
        ),
    ] = default(True)
    separate: Annotated[
        bool,
        About(
            "Whether its backend runs as a deployment of its own (`grove backend --only NAME`), not in the operator."
        ),
    ] = default(False)
    config: Annotated[
        Raw | None,
        About(
            "Settings of the backend. The documentation of each backend lists them.",
            schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ),
    ] = None


class Schedulers(Model):
    profiles: Annotated[
        list[SchedulerProfile],
        About(
            "The schedulers that sets may use, and default-scheduler. Default, and if all are disabled ones: all "
            "built-in ones.",
            key="name",
        ),
    ] = []
    default_profile_name: Annotated[str, About("The scheduler of sets whose pods have no schedulerName.")] = (
        default(DEFAULT_SCHEDULER)
    )

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the enabled profiles. default-scheduler is among them unless its profile is disabled."""
        named = tuple(p.name for p in self.profiles if p.enabled)
        disabled = {p.name for p in self.profiles if not p.enabled}
        if not named:
            named = BUILT_IN_SCHEDULERS
        elif DEFAULT_SCHEDULER not in named:
            named = (*named, DEFAULT_SCHEDULER)
        return tuple(n for n in named if n not in disabled)

    @property
    def separate(self) -> frozenset[str]:
        """The profiles whose backends run as deployments of their own."""
        return frozenset(p.name for p in self.profiles if p.separate)

    def profile_for(self, scheduler_name: str) -> str | None:
        """The enabled profile that serves pods with this schedulerName."""
        if scheduler_name in self.enabled:
            return scheduler_name
        other = "koord-scheduler" if "koord" in scheduler_name else _OTHER_NAMES.get(scheduler_name)
        return other if other in self.enabled else None


class OperatorConfiguration(Model):
    """The configuration of the operator."""

    api_version: Literal["operator.config.grove.io/v1alpha1"] = default(OPERATOR_CONFIG_V1ALPHA1)
    kind: Literal["OperatorConfiguration"] = default("OperatorConfiguration")
    runtime_client_connection: Annotated[
        ClientConnection, About("Not used; accepted because the reference's files have it.")
    ] = default(ClientConnection())
    leader_election: Annotated[
        LeaderElection, About("Leader election among the replicas of the operator.")
    ] = default(LeaderElection())
    server: Annotated[Servers, About("The servers of the operator.")] = default(Servers())
    debugging: Annotated[Debugging | None, About("Not used: the operator serves no profiles.")] = None
    controllers: Annotated[Controllers, About("The concurrency of each controller.")] = default(Controllers())
    log_level: Annotated[Literal["debug", "info", "error"], About("The lowest level that is logged.")] = (
        default("info")
    )
    log_format: Annotated[Literal["json", "text"], About("JSON for machines, text for people.")] = default(
        "json"
    )
    authorizer: Annotated[Authorizer, About("Not used yet: it needs the admission webhooks.")] = default(
        Authorizer()
    )
    topology_aware_scheduling: Annotated[TopologyAwareScheduling, About("Topology constraints.")] = default(
        TopologyAwareScheduling()
    )
    network: Annotated[Network, About("NVLink domains.")] = default(Network())
    scheduler: Annotated[Schedulers, About("The schedulers that sets may use.")] = default(Schedulers())

    @classmethod
    def from_yaml(cls, text: str) -> "OperatorConfiguration":
        """Reads a configuration file. Raises DecodeError (with path and line) or YamlError."""
        document = yaml.load_one(text)
        try:
            return codec.decode_strictly(codec.encode(document.value), cls)
        except codec.DecodeError as e:
            raise codec.DecodeError(e.path, f"{e.message} (line {document.line_of(e.path)})") from e
