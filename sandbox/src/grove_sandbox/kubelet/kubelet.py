"""Plays the kubelet of every node: bound pods start, become ready, exit and stop as their annotations ask (`script`).

It uses only the runtime's client and informers, so it can also replace real kubelets at a real API server. It waits on
the event loop, so in virtual time it costs no time.

Each bound pod has one task. A pod that is ready at once costs one status write, a pod that becomes ready later two.
When a pod is deleted, its task is cancelled, the pod takes its time to stop (at most its grace period) and is then
removed. Pods on a node that is down are not touched.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import NoReturn

import msgspec
import structlog
from grove.runtime.cache.cache import Change
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.errors import Conflict, NotFound, RequestError
from grove.runtime.client.objects import ObjectKey

from grove_sandbox.kubelet.node_lifecycle import NodeLifecycle
from grove_sandbox.kubelet.objects import KubeletContainer, KubeletNode, KubeletPod
from grove_sandbox.kubelet.script import Script, ScriptError, script_of
from grove_sandbox.kubelet.status import ContainerRuntimeState, PodRuntimeState, initial_state, status_of
from grove_sandbox.timestamps import rfc3339, utc_now

log = structlog.get_logger(__name__)

# Runs in place of the init container of the same name, and returns its exit code.
Program = Callable[[KubeletPod], Awaitable[int]]

# The kubelet's CrashLoopBackOff: the pause before a restart doubles from the first value to the second.
RESTART_BACKOFF_SECONDS, LONGEST_RESTART_BACKOFF_SECONDS = 10.0, 300.0
# Retries of a write to the API server.
WRITE_BACKOFF_SECONDS, LONGEST_WRITE_BACKOFF_SECONDS = 0.5, 30.0


class Kubelet:
    """Reads pods and nodes from the informers of `lifecycle`, which must run as well.

    `programs` maps names of init containers to what they do. Other init containers exit with 0 at once.
    """

    def __init__(
        self,
        lifecycle: NodeLifecycle,
        *,
        programs: Mapping[str, Program] | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._lifecycle = lifecycle
        self._programs = programs or {}
        self._clock = clock
        self._task_group = asyncio.TaskGroup()
        self._tasks_by_uid: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()
        self._assigned_addresses = 0

    async def run(self) -> NoReturn:
        """Runs until cancelled. Call it only once."""
        await self._lifecycle.nodes.synced.wait()
        await self._lifecycle.pods.synced.wait()
        async with self._task_group:
            self._lifecycle.pods.cache.subscribe(self._on_pod_change)
            self._lifecycle.nodes.cache.subscribe(self._on_node_change)
            await asyncio.Event().wait()
        raise AssertionError("unreachable")

    def _on_node_change(self, change: Change[KubeletNode]) -> None:
        for pod in self._lifecycle.pods.cache.by_index("node", change.object.metadata.name or ""):
            self._sync_pod(pod)

    def _on_pod_change(self, change: Change[KubeletPod]) -> None:
        if change.new is None:
            self._cancel(change.object)
        else:
            self._sync_pod(change.new)

    def _sync_pod(self, pod: KubeletPod) -> None:
        if not self._lifecycle.is_up(pod.spec.node_name):
            self._cancel(pod)
        elif pod.metadata.deletion_timestamp is not None:
            if pod.uid not in self._stopping:
                self._cancel(pod)
                self._stopping.add(pod.uid)
                self._start_task(pod, self._stop_pod)
        elif pod.uid not in self._tasks_by_uid and pod.status.get("phase") not in ("Succeeded", "Failed"):
            self._start_task(pod, self._run_pod)

    def _start_task(self, pod: KubeletPod, act: Callable[[KubeletPod], Awaitable[None]]) -> None:
        self._tasks_by_uid[pod.uid] = self._task_group.create_task(
            _until_deleted(pod, act), name=f"pod {pod.key}"
        )

    def _cancel(self, pod: KubeletPod) -> None:
        self._stopping.discard(pod.uid)
        if task := self._tasks_by_uid.pop(pod.uid, None):
            task.cancel()

    async def _stop_pod(self, pod: KubeletPod) -> None:
        grace = float(pod.metadata.deletion_grace_period_seconds or 0)
        try:
            stop_seconds = script_of(pod).stop_seconds
        except ScriptError:
            stop_seconds = 0.0
        await asyncio.sleep(min(stop_seconds, grace))
        await self._retry(
            pod, lambda: self._lifecycle.pods.objects.delete(pod.key, uid=pod.uid, grace_seconds=0)
        )

    async def _run_pod(self, pod: KubeletPod) -> None:
        state = self._initial_state(pod)
        try:
            script = script_of(pod)
        except ScriptError as error:
            await self._write(
                pod, state.with_main(ContainerRuntimeState("CreateContainerConfigError", str(error)))
            )
            return
        if _is_ready(pod) and script.exit_after is None:
            return  # an earlier kubelet process has started it
        initialized = await self._initialize(pod, state, script)
        if initialized is None:
            return
        broken = [c for c in pod.spec.containers if script.cannot_pull(c.name)]
        if broken:
            states = initialized.with_main(ContainerRuntimeState(started=self._now(), ready=True)).main
            failing = {container.name: _cannot_pull(container) for container in broken}
            await self._write(pod, initialized.with_main_states({**states, **failing}))
            return
        await self._run_containers(pod, initialized, script)

    async def _initialize(
        self, pod: KubeletPod, state: PodRuntimeState, script: Script
    ) -> PodRuntimeState | None:
        """Runs the init containers in sequence. None if the pod can never get past them."""
        for container in pod.spec.init_containers:
            if script.cannot_pull(container.name):
                await self._write(pod, state.with_init(container.name, _cannot_pull(container)))
                return None
            if container.is_sidecar:
                state = state.with_init(
                    container.name, ContainerRuntimeState(started=self._now(), ready=True)
                )
                continue
            backoff = Backoff(RESTART_BACKOFF_SECONDS, LONGEST_RESTART_BACKOFF_SECONDS)
            while True:
                state, code = await self._run_init_container(pod, state, container, script)
                if code == 0:
                    break
                if pod.spec.restart_policy == "Never":
                    await self._write(pod, state.ended("Failed"))
                    return None
                waiting = state.init[container.name].wait_again(backoff.failures, container.name)
                state = state.with_init(container.name, waiting)
                await self._write(pod, state)
                await asyncio.sleep(backoff.next())
        return state

    async def _run_init_container(
        self, pod: KubeletPod, state: PodRuntimeState, container: KubeletContainer, script: Script
    ) -> tuple[PodRuntimeState, int]:
        container_state = state.init[container.name].run(self._now())
        program = self._programs.get(container.name)
        if program is not None or script.init_seconds:
            await self._write(pod, state.with_init(container.name, container_state))
        await asyncio.sleep(script.init_seconds)
        code = await program(pod) if program is not None else script.init_exit_code
        return state.with_init(container.name, container_state.exit(code, self._now())), code

    async def _run_containers(self, pod: KubeletPod, state: PodRuntimeState, script: Script) -> None:
        """Starts, readies, exits and restarts all main containers in step."""
        backoff = Backoff(RESTART_BACKOFF_SECONDS, LONGEST_RESTART_BACKOFF_SECONDS)
        clock = asyncio.get_running_loop().time
        container_state = next(iter(state.main.values()))
        while True:
            container_state, started = container_state.run(self._now()), clock()
            exit_after = script.exit_after if script.exits_again(backoff.failures) else None
            gets_ready = not script.never_ready and (exit_after is None or script.ready_after < exit_after)
            if script.ready_after or not gets_ready:
                await self._write(pod, state.with_main(container_state))
            if gets_ready:
                await asyncio.sleep(script.ready_after)
                container_state = container_state.become_ready()
                await self._write(pod, state.with_main(container_state))
            if exit_after is None:
                return
            await asyncio.sleep(started + exit_after - clock())
            container_state = container_state.exit(script.exit_code, self._now())
            policy, succeeded = pod.spec.restart_policy, script.exit_code == 0
            if policy == "Never" or (policy == "OnFailure" and succeeded):
                await self._write(
                    pod, state.with_main(container_state).ended("Succeeded" if succeeded else "Failed")
                )
                return
            container_state = container_state.wait_again(backoff.failures, pod.spec.containers[0].name)
            await self._write(pod, state.with_main(container_state))
            await asyncio.sleep(backoff.next())

    async def _write(self, pod: KubeletPod, state: PodRuntimeState) -> None:
        async def patch() -> None:
            current = self._lifecycle.pods.cache.by_uid(pod.uid) or pod
            status = status_of(current, state, self._now())
            body = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": status})
            await self._lifecycle.pods.objects.merge_patch(pod.key, body, subresource="status")

        await self._retry(pod, patch)

    async def _retry(self, pod: KubeletPod, write: Callable[[], Awaitable[None]]) -> None:
        """Retries a write until it succeeds or the pod is gone: no later event would trigger it again."""
        backoff = Backoff(WRITE_BACKOFF_SECONDS, LONGEST_WRITE_BACKOFF_SECONDS)
        while True:
            try:
                return await write()
            except NotFound:
                raise
            except RequestError as error:
                if isinstance(error, Conflict) and self._lifecycle.pods.cache.by_uid(pod.uid) is None:
                    raise
                log.info("writing the pod failed, will retry", pod=str(pod.key), error=str(error))
                await asyncio.sleep(backoff.next())

    def _initial_state(self, pod: KubeletPod) -> PodRuntimeState:
        self._assigned_addresses += 1
        number = self._assigned_addresses
        address = f"10.{128 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}"
        node = self._lifecycle.nodes.cache.get(ObjectKey("", pod.spec.node_name))
        return initial_state(pod, node, address, self._now())

    def _now(self) -> str:
        return rfc3339(self._clock())


async def _until_deleted(pod: KubeletPod, act: Callable[[KubeletPod], Awaitable[None]]) -> None:
    try:
        await act(pod)
    except (NotFound, Conflict):
        log.debug("pod was deleted meanwhile", pod=str(pod.key))


def _is_ready(pod: KubeletPod) -> bool:
    conditions = pod.status.get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _cannot_pull(container: KubeletContainer) -> ContainerRuntimeState:
    text = f'Back-off pulling image "{container.image}": ErrImagePull: an annotation of the pod asks for this error'
    return ContainerRuntimeState("ImagePullBackOff", text)
