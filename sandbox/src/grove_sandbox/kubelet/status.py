"""The status that a kubelet writes on a pod, from the states of its containers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grove_sandbox.kubelet.objects import Json, KubeletContainer, KubeletNode, KubeletPod


@dataclass(frozen=True)
class ContainerRuntimeState:
    """One container: waiting for `reason`, running since `started`, or terminated with `exit_code`."""

    reason: str = "PodInitializing"
    message: str = ""
    started: str = ""
    finished: str = ""
    exit_code: int | None = None
    ready: bool = False
    restarts: int = 0
    last: Json = field(default_factory=dict)

    @property
    def running(self) -> bool:
        return bool(self.started) and self.exit_code is None

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    def run(self, now: str) -> "ContainerRuntimeState":
        return ContainerRuntimeState(started=now, restarts=self.restarts, last=self.last)

    def exit(self, code: int, now: str) -> "ContainerRuntimeState":
        return replace(self, exit_code=code, finished=now, ready=False)

    def become_ready(self) -> "ContainerRuntimeState":
        return replace(self, ready=True)

    def wait_again(self, failures: int, container: str) -> "ContainerRuntimeState":
        """The container exited and waits for its restart, in CrashLoopBackOff."""
        seconds = min(10 * 2**failures, 300)
        text = f"back-off {seconds}s restarting failed container={container}"
        return ContainerRuntimeState(
            "CrashLoopBackOff", text, restarts=self.restarts + 1, last=self.as_json()
        )

    def as_json(self) -> Json:
        if self.exit_code is not None:
            return {
                "terminated": {
                    "exitCode": self.exit_code,
                    "reason": "Completed" if self.exit_code == 0 else "Error",
                    "startedAt": self.started,
                    "finishedAt": self.finished,
                }
            }
        if self.started:
            return {"running": {"startedAt": self.started}}
        return {"waiting": {"reason": self.reason, **({"message": self.message} if self.message else {})}}


@dataclass(frozen=True)
class PodRuntimeState:
    """All containers of a pod at one moment. `phase` is set only for a pod that has ended: Succeeded or Failed."""

    init: Mapping[str, ContainerRuntimeState]
    main: Mapping[str, ContainerRuntimeState]
    started: str
    pod_ip: str
    host_ip: str
    phase: str = ""

    def with_init(self, name: str, state: ContainerRuntimeState) -> "PodRuntimeState":
        return replace(self, init={**self.init, name: state})

    def with_main(self, state: ContainerRuntimeState) -> "PodRuntimeState":
        return replace(self, main=dict.fromkeys(self.main, state))

    def with_main_states(self, main: Mapping[str, ContainerRuntimeState]) -> "PodRuntimeState":
        return replace(self, main=main)

    def ended(self, phase: str) -> "PodRuntimeState":
        return replace(self, phase=phase)


def initial_state(pod: KubeletPod, node: KubeletNode | None, address: str, now: str) -> PodRuntimeState:
    """No container runs yet. Keeps the IP, start time and restart counts that an earlier kubelet process wrote."""
    addresses = (node.status.get("addresses") or []) if node else []
    known = {status["name"]: status for status in pod.status.get("containerStatuses") or ()}
    reason = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
    return PodRuntimeState(
        init={container.name: ContainerRuntimeState() for container in pod.spec.init_containers},
        main={
            container.name: ContainerRuntimeState(
                reason,
                restarts=known.get(container.name, {}).get("restartCount", 0),
                last=known.get(container.name, {}).get("lastState") or {},
            )
            for container in pod.spec.containers
        },
        started=pod.status.get("startTime") or now,
        pod_ip=pod.status.get("podIP") or address,
        host_ip=next((a["address"] for a in addresses if a["type"] == "InternalIP"), "127.0.0.1"),
    )


def status_of(pod: KubeletPod, state: PodRuntimeState, now: str) -> Json:
    """The status to patch. Conditions of types that a kubelet does not own are kept."""
    has_run = all(main.started or main.restarts for main in state.main.values())
    phase = state.phase or ("Running" if has_run else "Pending")
    return {
        "phase": phase,
        "conditions": _conditions(pod, state, phase, now),
        "startTime": state.started,
        "hostIP": state.host_ip,
        "hostIPs": [{"ip": state.host_ip}],
        "podIP": state.pod_ip,
        "podIPs": [{"ip": state.pod_ip}],
        **(
            {"initContainerStatuses": _container_statuses(pod.spec.init_containers, state.init)}
            if pod.spec.init_containers
            else {}
        ),
        "containerStatuses": _container_statuses(pod.spec.containers, state.main),
    }


def _conditions(pod: KubeletPod, state: PodRuntimeState, phase: str, now: str) -> list[Json]:
    sidecars = {c.name for c in pod.spec.init_containers if c.is_sidecar}
    incomplete = [
        name for name, s in state.init.items() if not (s.running if name in sidecars else s.succeeded)
    ]
    unready = [name for name, s in state.main.items() if not s.ready]
    if phase in ("Succeeded", "Failed"):
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        ready = ("False", reason, "")
    elif unready:
        ready = ("False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    else:
        ready = ("True", "", "")
    if incomplete and phase == "Pending":
        text = f"containers with incomplete status: [{' '.join(incomplete)}]"
        initialized = ("False", "ContainersNotInitialized", text)
    else:
        initialized = ("True", "PodCompleted" if phase == "Succeeded" else "", "")
    wanted = {
        "PodReadyToStartContainers": ("True" if phase not in ("Succeeded", "Failed") else "False", "", ""),
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": ready,
    }
    known = {c["type"]: c for c in pod.status.get("conditions") or ()}
    others = [c for c in known.values() if c["type"] not in wanted]
    return [_condition(kind, *text, known.get(kind), now) for kind, text in wanted.items()] + others


def _condition(kind: str, status: str, reason: str, message: str, known: Json | None, now: str) -> Json:
    since = known["lastTransitionTime"] if known and known["status"] == status else now
    optional = {"reason": reason, "message": message}
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        **{name: text for name, text in optional.items() if text},
    }


def _container_statuses(
    containers: Sequence[KubeletContainer], states: Mapping[str, ContainerRuntimeState]
) -> list[Json]:
    return [
        {
            "name": container.name,
            "image": container.image,
            "imageID": f"sandbox://{container.image}" if state.started else "",
            "ready": state.ready or (state.succeeded and not container.is_sidecar),
            "started": state.running,
            "restartCount": state.restarts,
            "state": state.as_json(),
            "lastState": state.last,
            **({"containerID": f"sandbox://{container.name}-{state.restarts}"} if state.started else {}),
        }
        for container in containers
        for state in (states[container.name],)
    ]
