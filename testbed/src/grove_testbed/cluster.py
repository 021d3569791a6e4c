"""A real control plane on loopback: etcd, kube-apiserver and, on request, controllers and a scheduler.

Every cluster has its own folder, ports, certificate authority and tokens, so several run side by side. Its
processes are children of this one and end with it, however it ends (see ``leash``).
"""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grove_testbed import flags
from grove_testbed.access import IDENTITIES, write_access
from grove_testbed.build import built
from grove_testbed.components import DEFAULT_K8S, GROUPS, Component, component, component_for
from grove_testbed.nodes.cluster_nodes import ClusterNodes, identities, names, parent_folder
from grove_testbed.nodes.configuration import KUBERNETES_SERVICE, node_monitor_grace_seconds
from grove_testbed.pki import write_certificates
from grove_testbed.ports import free_ports
from grove_testbed.processes import Process, StartError, answers_ok
from grove_testbed.schedulers import SCHEDULERS, Scheduler, Surroundings

# Counts requests by verb, resource and client; see ``accounting``.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""

# The programs of a test live shortly and memory is there: collecting garbage less often saves a tenth of their time.
GO = {"GOGC": "400"}


class KubectlError(RuntimeError):
    """kubectl refused, or the server did; the message is what it said."""


@dataclass
class Cluster:
    """A running control plane. ``token`` and ``kubeconfig`` take a name from ``IDENTITIES``."""

    k8s: str
    folder: Path
    port: int
    etcd_port: int
    tokens: dict[str, str]
    processes: dict[str, Process] = field(default_factory=dict)
    components: list[Component] = field(default_factory=list)
    keep_logs: bool = False
    nodes: ClusterNodes | None = None

    @classmethod
    @contextmanager
    def start(
        cls,
        k8s: str = DEFAULT_K8S,
        *,
        controllers: bool = True,
        definitions: Sequence[Mapping[str, Any]] = (),
        scheduler: str = "",
        nodes: int | Sequence[Mapping[str, Any]] = 0,
        real_nodes: int = 0,
        skip_admission: Sequence[str] = (),
    ) -> Iterator[Cluster]:
        """A cluster of a Kubernetes minor version, for the time of a ``with`` block.

        ``controllers`` runs kube-controller-manager (garbage collection, namespaces, service accounts),
        ``definitions`` are of custom kinds that it shall know from the start (it looks for new ones only every
        half minute), ``scheduler`` is a name from ``SCHEDULERS``, ``nodes`` how many fake nodes to join or the
        nodes themselves (a kubelet serves them), ``real_nodes`` how many nodes with containers (see ``nodes``),
        ``skip_admission`` names admission plugins to leave out. Logs stay on disk if the block fails.
        """
        programs = ["etcd", "kube-apiserver", *(["kube-controller-manager"] if controllers else [])]
        if scheduler:
            programs += SCHEDULERS[scheduler].programs
        if real_nodes:
            programs += GROUPS["node"]
        for program in programs:
            built(component_for(program, k8s))  # raises before anything is started
        cluster = cls._prepare(k8s, real_nodes)
        try:
            cluster.start_api(controllers=controllers, skip_admission=skip_admission)
            cluster.define(definitions, SCHEDULERS[scheduler].definition_files() if scheduler else ())
            if controllers:
                cluster.start_controllers(fake_nodes=nodes if isinstance(nodes, int) else len(nodes))
            if nodes:
                cluster.start_machines(nodes)
            if cluster.nodes:
                cluster.components += [component_for(program, k8s) for program in GROUPS["node"]]
                cluster.nodes.join(cluster.kubectl, cluster.processes)
            if scheduler:
                cluster.start_scheduler(scheduler)
            yield cluster
        except BaseException:
            cluster.keep_logs = True
            raise
        finally:
            cluster.close()

    def start_api(self, *, controllers: bool, skip_admission: Sequence[str]) -> None:
        (peer_port,) = free_ports(1)
        self._start("etcd", flags.etcd(self.folder / "data", self.etcd_port, peer_port))
        self._start(
            "kube-apiserver",
            flags.kube_apiserver(
                self.k8s,
                self.folder,
                self.port,
                self.etcd_port,
                controllers=controllers,
                skip_admission=skip_admission,
                addresses=self.nodes.addresses if self.nodes else None,
            ),
        )
        self.wait_until_ready()

    def define(self, definitions: Sequence[Mapping[str, Any]], files: Sequence[Path]) -> None:
        """Adds custom kinds, and waits until they are served."""
        own = self.folder / "definitions.json"
        own.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(definitions)}))
        arguments = [f"--filename={file}" for file in (*files, *([own] if definitions else []))]
        if arguments:
            self.kubectl("create", *arguments)
            # `kubectl wait` gives up on a definition that has no status yet.
            self.processes["kube-apiserver"].wait_until(self._serves_all)

    def _serves_all(self) -> bool:
        found = json.loads(self.kubectl("get", "customresourcedefinitions", "--output=json"))
        said = [d.get("status", {}).get("conditions") or [] for d in found["items"]]
        return all(any((c["type"], c["status"]) == ("Established", "True") for c in s) for s in said)

    def start_controllers(self, *, fake_nodes: int = 0) -> None:
        (port,) = free_ports(1)
        grace = node_monitor_grace_seconds(fake_nodes) if self.nodes else 0
        arguments = flags.kube_controller_manager(
            self.k8s, self.folder, port, node_monitor_grace_seconds=grace
        )
        process = self._start("kube-controller-manager", arguments)
        process.wait_until(answers_ok(f"https://127.0.0.1:{port}/healthz", self.tls()))

    def start_scheduler(self, name: str) -> None:
        """Creates a scheduler's first objects, and runs it. Its kinds are there."""
        scheduler = SCHEDULERS[name]
        if scheduler.objects:
            self.kubectl("create", "--filename=-", stdin=scheduler.objects)
        self._launch(scheduler)

    def restart_scheduler(self, name: str) -> None:
        """Restarts it: its memory is gone. Call it on the thread that started the cluster."""
        scheduler = SCHEDULERS[name]
        for program in scheduler.programs:
            self.processes[program].stop()
        self._launch(scheduler)

    def _launch(self, scheduler: Scheduler) -> None:
        around = Surroundings(self.k8s, self.folder, self.kubeconfig("other-scheduler"))
        for launch in scheduler.launches(around, free_ports(len(scheduler.programs))):
            process = self._start(launch.program, launch.arguments, launch.environment)
            tls = self.tls() if launch.health.startswith("https") else None
            process.wait_until(answers_ok(launch.health, tls))

    def start_machines(self, nodes: int | Sequence[Mapping[str, Any]]) -> None:
        """Joins fake nodes and runs a kubelet for their pods."""
        # Imported here: only this part of the testbed needs Grove itself.
        from grove_sandbox.nodes import nodes as numbered

        from grove_testbed import machines

        file = self.folder / "nodes.json"
        file.write_text(json.dumps(numbered(nodes) if isinstance(nodes, int) else list(nodes)))
        real = names(self.nodes.count) if self.nodes else []
        command = [sys.executable, "-m", "grove_testbed.machines", str(self.kubeconfig("kubelet")), str(file)]
        command += real
        log = self.logs / "machines.log"
        process = self.processes["machines"] = Process.start("machines", command, log)
        process.wait_until(lambda: machines.READY in log.read_text())

    @property
    def url(self) -> str:
        return f"https://{self.nodes.addresses.control_plane if self.nodes else '127.0.0.1'}:{self.port}"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.crt"

    def tls(self) -> ssl.SSLContext:
        """Trusts this cluster's certificates and no others."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def token(self, who: str = "admin") -> str:
        return self.tokens[who]

    def kubeconfig(self, who: str = "admin") -> Path:
        return self.folder / f"{who}.kubeconfig"

    def kubectl(self, *arguments: str, who: str = "admin", stdin: str | None = None) -> str:
        """The output of kubectl; ``KubectlError`` with its complaint if it fails."""
        command = self.kubectl_command(*arguments, who=who)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True)
        if done.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def kubectl_command(self, *arguments: str, who: str = "admin") -> list[str]:
        """The command line of kubectl, for callers who run it themselves."""
        # What it remembers of a server is worthless to the next one.
        options = [f"--kubeconfig={self.kubeconfig(who)}", f"--cache-dir={self.folder / 'kubectl'}"]
        return [str(built(component("kubectl", self.k8s))), *options, *arguments]

    def kill(self, name: str) -> None:
        """Ends one process like a power cut."""
        self.processes[name].kill()

    def revive(self, name: str) -> None:
        """Starts a killed process again, on its data. Call it on the thread that started the cluster."""
        self.processes[name] = self.processes[name].restarted()

    def wait_until_ready(self) -> None:
        """Until the API server says that it is."""
        ready = answers_ok(f"{self.url}/readyz", self.tls())
        etcd = self.processes["etcd"]

        def ready_or_etcd_gone() -> bool:
            if etcd.popen.poll() is not None:
                raise StartError(f"etcd ended with code {etcd.popen.returncode}. {etcd.last_words()}")
            return ready()

        self.processes["kube-apiserver"].wait_until(ready_or_etcd_gone)

    def compact(self) -> None:
        """Forgets every version but the present, as an API server of the same cluster does now and then.

        Lists and pages of older versions expire within the 15 s in which API servers notice.
        """
        revision = self._etcd("range", {"key": _base64("compact_rev_key")})["header"]["revision"]
        self._etcd("put", {"key": _base64("compact_rev_key"), "value": _base64(revision)})
        self._etcd("compaction", {"revision": revision})

    def close(self) -> None:
        # Nodes first: nothing in them can end well without an API server.
        if self.nodes:
            self.nodes.close()
        for process in reversed(self.processes.values()):
            process.stop()
        shutil.rmtree(self.folder / "nodes", ignore_errors=True)
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        if not self.keep_logs:
            shutil.rmtree(self.folder)

    @classmethod
    def _prepare(cls, k8s: str, real_nodes: int) -> Cluster:
        """A folder with everything the processes read, and ports for them."""
        port, etcd_port = free_ports(2)
        cluster = cls(
            k8s,
            Path(tempfile.mkdtemp(prefix="grove-testbed-", dir=parent_folder() if real_nodes else None)),
            port,
            etcd_port,
            {},
        )
        cluster.logs.mkdir()
        who_is_who = IDENTITIES
        if real_nodes:
            nodes = cluster.nodes = ClusterNodes.prepare(k8s, cluster.folder, real_nodes)
            who_is_who = {**IDENTITIES, **identities(real_nodes)}
            nodes.furnish()
            own = (nodes.addresses.control_plane, nodes.addresses.kubernetes_service)
            write_certificates(cluster.folder, KUBERNETES_SERVICE, own, nodes.leaves())
        else:
            write_certificates(cluster.folder)
        cluster.tokens.update({who: secrets.token_hex(16) for who in who_is_who})
        write_access(cluster.folder, cluster.url, cluster.tokens, who_is_who)
        (cluster.folder / "audit-policy.yaml").write_text(AUDIT_POLICY)
        scheduler = flags.SCHEDULER_CONFIG.format(kubeconfig=cluster.kubeconfig("scheduler"))
        (cluster.folder / "scheduler.yaml").write_text(scheduler)
        return cluster

    def _start(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Process:
        wanted = component_for(name, self.k8s)
        command = [str(built(wanted)), *arguments]
        if wanted not in self.components:
            self.components.append(wanted)
        process = Process.start(name, command, self.logs / f"{name}.log", GO | dict(environment or {}))
        self.processes[name] = process
        return process

    def _etcd(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.etcd_port}/v3/kv/{operation}"
        with urllib.request.urlopen(url, data=json.dumps(body).encode(), timeout=10) as answer:
            result: dict[str, Any] = json.load(answer)
            return result


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
