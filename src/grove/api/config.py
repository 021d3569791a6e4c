"""OperatorConfiguration: the file that the operator is started with.

Unlike objects in the cluster, a field that is not known here is an error: it would otherwise be a setting that silently
does nothing. Fields of the reference's file that have no meaning in this operator are accepted, and say so.
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
"""The profiles that are enabled when the file names none."""

_OTHER_NAMES = {"": DEFAULT_SCHEDULER, "grove-scheduler": "kai-scheduler"}


class ClientConnection(Model):
    qps: Annotated[float, About("Not used: the client follows what the API server can take.")] = default(0.0)
    burst: Annotated[int, About("Not used: see qps.", at_least=0)] = default(0)
    content_type: Annotated[str, About("Not used: the client speaks JSON.")] = default("")
    accept_content_types: Annotated[str, About("Not used: the client speaks JSON.")] = default("")


class LeaderElection(Model):
    enabled: Annotated[bool, About("Whether several operators may run, of which one works.")] = default(False)
    lease_duration: Annotated[Duration, About("How long others wait for a leader that went silent.")] = (
        default(Duration("15s"))
    )
    renew_deadline: Annotated[Duration, About("How long a leader tries to renew before it stops.")] = default(
        Duration("10s")
    )
    retry_period: Annotated[Duration, About("How often an operator tries to become or stay leader.")] = (
        default(Duration("2s"))
    )
    resource_lock: Annotated[Literal["leases"], About("What the lock is kept in.")] = default("leases")
    resource_name: Annotated[str, About("The name of the Lease.", min_length=1)] = default(
        "grove-operator-leader-election"
    )
    resource_namespace: Annotated[
        str, About("The namespace of the Lease; by default the operator's own.")
    ] = default("")


class WebhookServerConfig(Model):
    bind_address: Annotated[str, About("The address to listen on; empty means all.")] = default("")
    port: Annotated[int, About("The port to listen on.", at_least=0)] = default(2750)
    server_cert_dir: Annotated[str, About("Where the certificate is mounted.")] = default(
        "/etc/grove-operator/webhook-certs"
    )
    secret_name: Annotated[str, About("The Secret that holds the certificate.")] = default(
        "grove-webhook-server-cert"
    )
    cert_provision_mode: Annotated[
        Literal["auto", "manual"], About("Whether the operator makes the certificate or somebody else does.")
    ] = default("auto")


class HealthServerConfig(Model):
    enable: Annotated[bool, About("Whether /healthz and /readyz are served.")] = default(True)
    bind_address: Annotated[str, About("The address to listen on; empty means all.")] = default("")
    port: Annotated[int, About("The port to listen on.", at_least=0)] = default(2751)


class MetricsServerConfig(Model):
    bind_address: Annotated[str, About("The address to listen on; empty means all.")] = default("")
    port: Annotated[int, About("The port to listen on.", at_least=0)] = default(2752)


class Servers(Model):
    webhooks: Annotated[WebhookServerConfig, About("The admission webhooks.")] = default(
        WebhookServerConfig()
    )
    health_probes: Annotated[HealthServerConfig, About("The health probes.")] = default(HealthServerConfig())
    metrics: Annotated[MetricsServerConfig, About("Prometheus metrics.")] = default(MetricsServerConfig())


class Debugging(Model):
    enable_profiling: Annotated[bool, About("Whether profiles are served.")] = default(False)
    pprof_bind_host: Annotated[str, About("The address for profiles.")] = default("127.0.0.1")
    pprof_bind_port: Annotated[int, About("The port for profiles.", at_least=0)] = default(2753)


class ControllerSettings(Model):
    concurrent_syncs: Annotated[int, About("How many objects are worked on at a time.", above=0)]


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
    enabled: Annotated[bool, About("Whether only Grove may change what it made.")] = default(False)
    exempt_service_account_user_names: Annotated[
        list[str], About("Users that may change it too, as in system:serviceaccount:NAMESPACE:NAME.")
    ] = []
    reconciler_service_account_user_name: Annotated[
        str | None, About("Not used: the operator knows who it is.")
    ] = None


class TopologyAwareScheduling(Model):
    enabled: Annotated[
        bool, About("Whether topology constraints are honoured; otherwise they are refused.")
    ] = default(False)


class Network(Model):
    auto_mnnvl_enabled: Annotated[
        bool, About("Whether NVLink domains are made for sets that ask for them.")
    ] = msgspec.field(name="autoMNNVLEnabled", default_factory=lambda: False)


class SchedulerProfile(Model):
    name: Annotated[str, About("The scheduler that this profile enables.", min_length=1)]
    separate: Annotated[
        bool,
        About(
            "Whether its backend runs as its own deployment, `grove backend --only`, and not in the operator."
        ),
    ] = default(False)
    config: Annotated[
        Raw | None,
        About(
            "Settings of the backend; which ones, says the backend's page.",
            schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ),
    ] = None


class Schedulers(Model):
    profiles: Annotated[
        list[SchedulerProfile],
        About("The schedulers that sets may use; none listed means all built-in ones.", key="name"),
    ] = []
    default_profile_name: Annotated[str, About("The scheduler of sets that name none.")] = default(
        DEFAULT_SCHEDULER
    )

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names that are enabled; the plain kube-scheduler always is."""
        named = tuple(p.name for p in self.profiles)
        if not named:
            return BUILT_IN_SCHEDULERS
        return named if DEFAULT_SCHEDULER in named else (*named, DEFAULT_SCHEDULER)

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
    """How the operator runs."""

    api_version: Literal["operator.config.grove.io/v1alpha1"] = default(OPERATOR_CONFIG_V1ALPHA1)
    kind: Literal["OperatorConfiguration"] = default("OperatorConfiguration")
    runtime_client_connection: Annotated[
        ClientConnection, About("Kept for the reference's files; has no effect.")
    ] = default(ClientConnection())
    leader_election: Annotated[LeaderElection, About("How several operators agree on one.")] = default(
        LeaderElection()
    )
    server: Annotated[Servers, About("What the operator serves.")] = default(Servers())
    debugging: Annotated[Debugging | None, About("Profiles of the running operator.")] = None
    controllers: Annotated[Controllers, About("How much is done at a time.")] = default(Controllers())
    log_level: Annotated[Literal["debug", "info", "error"], About("How much is logged.")] = default("info")
    log_format: Annotated[Literal["json", "text"], About("For machines or for people.")] = default("json")
    authorizer: Annotated[Authorizer, About("Protection of what Grove made.")] = default(Authorizer())
    topology_aware_scheduling: Annotated[TopologyAwareScheduling, About("Topology constraints.")] = default(
        TopologyAwareScheduling()
    )
    network: Annotated[Network, About("NVLink domains.")] = default(Network())
    scheduler: Annotated[Schedulers, About("Which schedulers there are.")] = default(Schedulers())

    @classmethod
    def from_yaml(cls, text: str) -> "OperatorConfiguration":
        """Reads a configuration file. Raises DecodeError (with path and line) or YamlError."""
        document = yaml.load_one(text)
        try:
            return codec.decode_strictly(codec.encode(document.value), cls)
        except codec.DecodeError as e:
            raise codec.DecodeError(e.path, f"{e.message} (line {document.line_of(e.path)})") from e
