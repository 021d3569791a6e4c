"""How each scheduler is run beside a control plane: its kinds, its first objects, its processes.

Definitions of a scheduler's own kinds come from its Go module, as its authors ship them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grove_testbed import flags
from grove_testbed.build import cache_folder
from grove_testbed.components import Component, component
from grove_testbed.toolchain import find_go


@dataclass(frozen=True)
class Launch:
    """One process, which is up once its health address answers 200."""

    program: str
    arguments: Sequence[str]
    health: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Surroundings:
    """What a scheduler needs to know about the cluster it serves."""

    minor: str
    folder: Path
    kubeconfig: Path


@dataclass(frozen=True)
class Scheduler:
    """``launches`` are made from the surroundings and one free port per process."""

    programs: Sequence[str]
    launches: Callable[[Surroundings, Sequence[int]], list[Launch]]
    definitions: Sequence[str] = ()
    objects: str = ""

    def definition_files(self) -> list[Path]:
        if not self.definitions:
            return []
        root = source_folder(component(self.programs[0]))
        return [root / path for path in self.definitions]


def source_folder(component: Component) -> Path:
    """Where Go keeps the source of the module that a program is built from."""
    go = find_go(cache_folder(), lambda _: None)
    command = [str(go), "list", "-mod=readonly", "-f", "{{.Module.Dir}}", component.package]
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "0"}
    done = subprocess.run(
        command, cwd=component.module, env=environment, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def _kube(around: Surroundings, ports: Sequence[int]) -> list[Launch]:
    arguments = flags.kube_scheduler(around.minor, around.folder, ports[0])
    return [Launch("kube-scheduler", arguments, f"https://127.0.0.1:{ports[0]}/healthz")]


def _volcano(around: Surroundings, ports: Sequence[int]) -> list[Launch]:
    (around.folder / "volcano").mkdir(exist_ok=True)
    config = around.folder / "volcano" / "scheduler.conf"
    config.write_text(VOLCANO_CONFIG)
    common = [f"--kubeconfig={around.kubeconfig}", "--leader-elect=false", "--enable-healthz=true"]
    # Its log-level socket would otherwise be shared by all clusters of the machine.
    environment = {"DEBUG_SOCKET_DIR": str(around.folder / "volcano")}
    scheduler = [
        *common,
        f"--healthz-address=127.0.0.1:{ports[0]}",
        f"--scheduler-conf={config}",
        "--schedule-period=200ms",
        "--cache-dumper=false",
    ]
    # Only the queue controller: a pod that names no group must not get one by itself.
    manager = [*common, f"--healthz-address=127.0.0.1:{ports[1]}", "--controllers=+queue-controller"]
    return [
        Launch("vc-controller-manager", manager, f"http://127.0.0.1:{ports[1]}/healthz", environment),
        Launch("vc-scheduler", scheduler, f"http://127.0.0.1:{ports[0]}/healthz", environment),
    ]


def _koordinator(around: Surroundings, ports: Sequence[int]) -> list[Launch]:
    config = around.folder / "koord-scheduler.yaml"
    config.write_text(KOORDINATOR_CONFIG.format(kubeconfig=around.kubeconfig))
    arguments = [
        f"--config={config}",
        "--port=0",
        "--authentication-skip-lookup=true",
        "--enable-network-topology-manager=true",
        "--pod-max-in-unschedulable-pods-duration=10s",
        *flags.serving(around.folder, ports[0]),
    ]
    return [Launch("koord-scheduler", arguments, f"https://127.0.0.1:{ports[0]}/healthz")]


def _yunikorn(around: Surroundings, ports: Sequence[int]) -> list[Launch]:
    # It takes no flags, and its port is fixed: one YuniKorn per machine.
    environment = {"KUBECONFIG": str(around.kubeconfig), "NAMESPACE": "yunikorn"}
    return [
        Launch("yunikorn-scheduler", [], "http://127.0.0.1:9080/ws/v1/scheduler/healthcheck", environment)
    ]


def _kai(around: Surroundings, ports: Sequence[int]) -> list[Launch]:
    environment = {"KUBECONFIG": str(around.kubeconfig)}
    scheduler = [
        f"--listen-address=127.0.0.1:{ports[0]}",
        "--plugin-server-port=0",
        "--schedule-period=200ms",
        "--qps=1000",
        "--burst=2000",
    ]
    # Its health address answers 404, so its metrics must do.
    binder = [f"--metrics-bind-address=127.0.0.1:{ports[1]}", "--health-probe-bind-address=0"]
    return [
        Launch("kai-binder", binder, f"http://127.0.0.1:{ports[1]}/metrics", environment),
        Launch("kai-scheduler", scheduler, f"http://127.0.0.1:{ports[0]}/metrics", environment),
    ]


VOLCANO_CONFIG = """\
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
    arguments: {weight: 10}
"""

KOORDINATOR_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 1000, burst: 2000}}
leaderElection: {{leaderElect: false}}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: Coscheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: CoschedulingArgs
      defaultTimeout: 60s
      awareNetworkTopology: true
      enablePreemption: false
      defaultMatchPolicy: waiting-and-running
  plugins:
    preEnqueue: {{enabled: [{{name: Coscheduling}}]}}
    preFilter: {{enabled: [{{name: Reservation}}, {{name: Coscheduling}}, {{name: ElasticQuota}}]}}
    filter: {{enabled: [{{name: Reservation}}]}}
    postFilter:
      disabled: [{{name: "*"}}]
      enabled: [{{name: Reservation}}, {{name: Coscheduling}}, {{name: ElasticQuota}}, {{name: DefaultPreemption}}]
    preScore: {{enabled: [{{name: Reservation}}, {{name: Coscheduling}}]}}
    score: {{enabled: [{{name: Reservation, weight: 5000}}, {{name: Coscheduling, weight: 1}}]}}
    reserve: {{enabled: [{{name: Reservation}}, {{name: Coscheduling}}, {{name: ElasticQuota}}]}}
    permit: {{enabled: [{{name: Coscheduling}}]}}
    preBind: {{enabled: [{{name: Reservation}}, {{name: Coscheduling}}, {{name: DefaultPreBind}}]}}
    bind:
      disabled: [{{name: "*"}}]
      enabled: [{{name: Reservation}}, {{name: DefaultBinder}}]
    postBind: {{enabled: [{{name: Coscheduling}}]}}
"""

# Its scheduler keeps the root of all quotas there.
KOORDINATOR_NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: koordinator-system}
"""

# Queues of a usual KAI installation, without quotas.
_UNLIMITED = "{quota: -1, limit: -1, overQuotaWeight: 1}"
KAI_QUEUES = f"""\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: default-parent-queue}}
spec: {{resources: {{cpu: {_UNLIMITED}, gpu: {_UNLIMITED}, memory: {_UNLIMITED}}}}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: default-queue}}
spec:
  parentQueue: default-parent-queue
  resources: {{cpu: {_UNLIMITED}, gpu: {_UNLIMITED}, memory: {_UNLIMITED}}}
"""

# The label of a pod names its queue; without one the namespace does.
YUNIKORN_CONFIG = """\
apiVersion: v1
kind: Namespace
metadata: {name: yunikorn}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: yunikorn-configs, namespace: yunikorn}
data:
  service.schedulingInterval: 200ms
  queues.yaml: |
    partitions:
    - name: default
      placementrules:
      - {name: provided, create: true}
      - {name: tag, value: namespace, create: true}
      queues:
      - {name: root, submitacl: '*'}
"""

SCHEDULERS = {
    "default": Scheduler(("kube-scheduler",), _kube),
    "volcano": Scheduler(
        ("vc-scheduler", "vc-controller-manager"),
        _volcano,
        definitions=[
            f"config/crd/volcano/bases/{name}.yaml"
            for name in (
                "bus.volcano.sh_commands",
                "nodeinfo.volcano.sh_numatopologies",
                "scheduling.volcano.sh_podgroups",
                "scheduling.volcano.sh_queues",
                "topology.volcano.sh_hypernodes",
            )
        ],
    ),
    "koordinator": Scheduler(
        ("koord-scheduler",),
        _koordinator,
        definitions=[
            f"config/crd/bases/{name}.yaml"
            for name in (
                "scheduling.koordinator.sh_clusternetworktopologies",
                "scheduling.koordinator.sh_devices",
                "scheduling.koordinator.sh_reservations",
                "scheduling.sigs.k8s.io_elasticquotas",
                "scheduling.sigs.k8s.io_podgroups",
            )
        ],
        objects=KOORDINATOR_NAMESPACE,
    ),
    "yunikorn": Scheduler(("yunikorn-scheduler",), _yunikorn, objects=YUNIKORN_CONFIG),
    "kai": Scheduler(
        ("kai-scheduler", "kai-binder"),
        _kai,
        definitions=[
            f"deployments/kai-scheduler/crds/{name}.yaml"
            for name in (
                "kai.scheduler_topologies",
                "scheduling.run.ai_bindrequests",
                "scheduling.run.ai_podgroups",
                "scheduling.run.ai_queues",
            )
        ],
        objects=KAI_QUEUES,
    ),
}
