"""Bound pods run, get ready, exit and stop, as their annotations ask (`script`).

It serves every node of the cluster, through the runtime's client and informers alone, so it can stand in for real
kubelets at a real API server too. All waiting is on the event loop: in virtual time it takes no time.

A pod that needs no waiting gets one status write, one that gets ready later two. A deleted pod is stopped and then
removed for good. Pods of a node that is down are left alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import NoReturn

import msgspec
import structlog
from grove.runtime.cache.cache import Change
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.errors import Conflict, NotFound, RequestError
from grove.runtime.client.objects import ObjectKey

from grove_sandbox.kubelet.objects import KubeletContainer, KubeletNode, KubeletPod
from grove_sandbox.kubelet.script import Script, ScriptError, script_of
from grove_sandbox.kubelet.status import ContainerRuntimeState, PodRuntimeState, initial_state, status_of
from grove_sandbox.nodes import NodeLifecycle

log = structlog.get_logger(__name__)

# What the init container of that name does: returns its exit code when it is done.
Program = Callable[[KubeletPod], Awaitable[int]]

# How long a container that exited waits to be started again.
FIRST_BACK_OFF, LONGEST_BACK_OFF = 10.0, 300.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Kubelet:
    """`keeper` knows the nodes and pods, and must run too. Init containers without a program end at once."""

    def __init__(
        self,
        keeper: NodeLifecycle,
        *,
        programs: Mapping[str, Program] | None = None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._keeper = keeper
        self._programs = programs or {}
        self._clock = clock
        self._tasks = asyncio.TaskGroup()
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()
        self._addresses = 0

    async def run(self) -> NoReturn:
        """Until cancelled; once only."""
        await self._keeper.nodes.synced.wait()
        await self._keeper.pods.synced.wait()
        async with self._tasks:
            self._keeper.pods.cache.subscribe(self._notice)
            self._keeper.nodes.cache.subscribe(self._notice_node)
            await asyncio.Event().wait()
        raise AssertionError("unreachable")

    def _notice_node(self, change: Change[KubeletNode]) -> None:
        """A node that came, went, or went silent."""
        for pod in self._keeper.pods.cache.by_index("node", change.object.metadata.name or ""):
            self._look_at(pod)

    def _notice(self, change: Change[KubeletPod]) -> None:
        if change.new is None:
            self._end(change.object)
        else:
            self._look_at(change.new)

    def _look_at(self, pod: KubeletPod) -> None:
        if not self._keeper.is_up(pod.spec.node_name):
            self._end(pod)
        elif pod.metadata.deletion_timestamp is not None:
            if pod.uid not in self._stopping:
                self._end(pod)
                self._stopping.add(pod.uid)
                self._begin(pod, self._stop)
        elif pod.uid not in self._lives and pod.status.get("phase") not in ("Succeeded", "Failed"):
            self._begin(pod, self._live)

    def _begin(self, pod: KubeletPod, act: Callable[[KubeletPod], Awaitable[None]]) -> None:
        self._lives[pod.uid] = self._tasks.create_task(_until_gone(pod, act), name=f"pod {pod.key}")

    def _end(self, pod: KubeletPod) -> None:
        self._stopping.discard(pod.uid)
        if task := self._lives.pop(pod.uid, None):
            task.cancel()

    async def _stop(self, pod: KubeletPod) -> None:
        grace = float(pod.metadata.deletion_grace_period_seconds or 0)
        try:
            wanted = script_of(pod).stop_seconds
        except ScriptError:
            wanted = 0.0
        await asyncio.sleep(min(wanted, grace))
        await self._insist(
            pod, lambda: self._keeper.pods.objects.delete(pod.key, uid=pod.uid, grace_seconds=0)
        )

    async def _live(self, pod: KubeletPod) -> None:
        life = self._new_life(pod)
        try:
            script = script_of(pod)
        except ScriptError as error:
            await self._write(
                pod, life.with_main(ContainerRuntimeState("CreateContainerConfigError", str(error)))
            )
            return
        if _is_ready(pod) and script.exit_after is None:
            return  # from before a restart of this kubelet
        initialized = await self._initialize(pod, life, script)
        if initialized is None:
            return
        broken = [c for c in pod.spec.containers if script.cannot_pull(c.name)]
        if broken:
            states = initialized.with_main(ContainerRuntimeState(started=self._now(), ready=True)).main
            failing = {container.name: _cannot_pull(container) for container in broken}
            await self._write(pod, initialized.with_states({**states, **failing}))
            return
        await self._run_containers(pod, initialized, script)

    async def _initialize(
        self, pod: KubeletPod, life: PodRuntimeState, script: Script
    ) -> PodRuntimeState | None:
        """Runs the init containers one after another; None if that is as far as the pod ever gets."""
        for container in pod.spec.init_containers:
            if script.cannot_pull(container.name):
                await self._write(pod, life.with_init(container.name, _cannot_pull(container)))
                return None
            if container.is_sidecar:
                life = life.with_init(container.name, ContainerRuntimeState(started=self._now(), ready=True))
                continue
            back_off = Backoff(FIRST_BACK_OFF, LONGEST_BACK_OFF)
            while True:
                life, code = await self._run_init_container(pod, life, container, script)
                if code == 0:
                    break
                if pod.spec.restart_policy == "Never":
                    await self._write(pod, life.ended("Failed"))
                    return None
                waiting = life.init[container.name].wait_again(back_off.failures, container.name)
                life = life.with_init(container.name, waiting)
                await self._write(pod, life)
                await asyncio.sleep(back_off.next())
        return life

    async def _run_init_container(
        self, pod: KubeletPod, life: PodRuntimeState, container: KubeletContainer, script: Script
    ) -> tuple[PodRuntimeState, int]:
        state = life.init[container.name].run(self._now())
        program = self._programs.get(container.name)
        if program is not None or script.init_seconds:
            await self._write(pod, life.with_init(container.name, state))
        await asyncio.sleep(script.init_seconds)
        code = await program(pod) if program is not None else script.init_exit_code
        return life.with_init(container.name, state.exit(code, self._now())), code

    async def _run_containers(self, pod: KubeletPod, life: PodRuntimeState, script: Script) -> None:
        """All containers of a pod do the same at the same time."""
        back_off = Backoff(FIRST_BACK_OFF, LONGEST_BACK_OFF)
        clock = asyncio.get_running_loop().time
        state = next(iter(life.main.values()))
        while True:
            state, started = state.run(self._now()), clock()
            exit_after = script.exit_after if script.exits_again(back_off.failures) else None
            gets_ready = not script.never_ready and (exit_after is None or script.ready_after < exit_after)
            if script.ready_after or not gets_ready:
                await self._write(pod, life.with_main(state))
            if gets_ready:
                await asyncio.sleep(script.ready_after)
                state = state.become_ready()
                await self._write(pod, life.with_main(state))
            if exit_after is None:
                return
            await asyncio.sleep(started + exit_after - clock())
            state = state.exit(script.exit_code, self._now())
            policy, succeeded = pod.spec.restart_policy, script.exit_code == 0
            if policy == "Never" or (policy == "OnFailure" and succeeded):
                await self._write(pod, life.with_main(state).ended("Succeeded" if succeeded else "Failed"))
                return
            state = state.wait_again(back_off.failures, pod.spec.containers[0].name)
            await self._write(pod, life.with_main(state))
            await asyncio.sleep(back_off.next())

    async def _write(self, pod: KubeletPod, life: PodRuntimeState) -> None:
        async def patch() -> None:
            current = self._keeper.pods.cache.by_uid(pod.uid) or pod
            status = status_of(current, life, self._now())
            body = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": status})
            await self._keeper.pods.objects.merge_patch(pod.key, body, subresource="status")

        await self._insist(pod, patch)

    async def _insist(self, pod: KubeletPod, write: Callable[[], Awaitable[None]]) -> None:
        """Tries until it succeeds or the pod is gone: nobody else will ever do this for the pod."""
        waits = Backoff(0.5, 30.0)
        while True:
            try:
                return await write()
            except NotFound:
                raise
            except RequestError as error:
                if isinstance(error, Conflict) and self._keeper.pods.cache.by_uid(pod.uid) is None:
                    raise
                log.info("write is tried again", pod=str(pod.key), error=str(error))
                await asyncio.sleep(waits.next())

    def _new_life(self, pod: KubeletPod) -> PodRuntimeState:
        self._addresses += 1
        number = self._addresses
        address = f"10.{128 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}"
        node = self._keeper.nodes.cache.get(ObjectKey("", pod.spec.node_name))
        return initial_state(pod, node, address, self._now())

    def _now(self) -> str:
        return self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")


async def _until_gone(pod: KubeletPod, act: Callable[[KubeletPod], Awaitable[None]]) -> None:
    try:
        await act(pod)
    except (NotFound, Conflict):
        log.debug("the pod went away meanwhile", pod=str(pod.key))


def _is_ready(pod: KubeletPod) -> bool:
    conditions = pod.status.get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _cannot_pull(container: KubeletContainer) -> ContainerRuntimeState:
    text = f'Back-off pulling image "{container.image}": ErrImagePull: the sandbox was asked not to find it'
    return ContainerRuntimeState("ImagePullBackOff", text)
