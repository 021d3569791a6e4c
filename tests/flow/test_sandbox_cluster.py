"""The embedded cluster as a whole: in virtual time, over HTTP, and as a command."""

import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.cluster import EmbeddedCluster
from grove_sandbox.http import serve

from tests.unit.sandbox.apiserver.calls import CONFIG_MAPS, PODS, Calls, config_map, pod


@pytest.mark.looptime
async def test_a_pod_is_scheduled_started_and_deleted_gracefully() -> None:
    async with EmbeddedCluster(nodes=2) as cluster:
        api = Calls(cluster.server)
        await api.create(PODS, pod("p"))
        await asyncio.sleep(5)
        running = await api.get(f"{PODS}/p")
        assert (running["spec"]["nodeName"], running["status"]["phase"]) == ("node-0", "Running")
        await api.delete(f"{PODS}/p")
        await asyncio.sleep(60)
        assert not await api.exists(f"{PODS}/p")


@pytest.mark.looptime
async def test_a_gated_pod_waits_for_hours_and_runs_when_its_gate_goes() -> None:
    async with EmbeddedCluster(nodes=1) as cluster:
        api = Calls(cluster.server)
        await api.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
        await asyncio.sleep(4 * 3600)
        waiting = await api.get(f"{PODS}/p")
        assert "nodeName" not in waiting["spec"]
        assert waiting["status"]["conditions"][0]["reason"] == "SchedulingGated"
        await api.patch(f"{PODS}/p", {"spec": {"schedulingGates": None}})
        await asyncio.sleep(5)
        assert (await api.get(f"{PODS}/p"))["status"]["phase"] == "Running"
        age = cluster.now() - cluster.now().fromisoformat(waiting["metadata"]["creationTimestamp"])
        assert age.total_seconds() >= 4 * 3600


@pytest.mark.looptime
async def test_a_settled_cluster_makes_no_writes() -> None:
    async with EmbeddedCluster(nodes=3, schedulers=["kube-1.37", "kai", "volcano", "koordinator"]) as cluster:
        api = Calls(cluster.server)
        for number in range(5):
            await api.create(PODS, pod(f"p{number}"))
        await asyncio.sleep(60)
        writes: list[object] = []
        cluster.on_write(writes.append)
        await asyncio.sleep(3600)
        assert writes == []


async def test_over_http_it_speaks_as_in_process() -> None:
    async with serve(ApiServer()) as url, aiohttp.ClientSession(url) as session:
        async with session.post(CONFIG_MAPS, json=config_map("a", k="v")) as made:
            assert made.status == 201
            assert (await made.json())["data"] == {"k": "v"}
        async with session.get(CONFIG_MAPS, params={"watch": "true", "timeoutSeconds": "1"}) as watch:
            event = json.loads(await watch.content.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
        async with session.get("/apis/apps/v1/deployments") as missing:
            assert (missing.status, await missing.text()) == (404, "404 page not found\n")


async def test_a_large_object_fits_and_a_huge_one_is_refused() -> None:
    headers = {"content-type": "application/json"}
    async with serve(ApiServer()) as url, aiohttp.ClientSession(url, headers=headers) as session:
        large = io.BytesIO(json.dumps(pod("large") | padding(1_500_000)).encode())
        async with session.post(PODS, data=large) as made:
            assert made.status == 201
        huge = io.BytesIO(json.dumps(pod("huge") | padding(4_000_000)).encode())
        async with session.post(PODS, data=huge) as refused:
            assert (refused.status, (await refused.json())["reason"]) == (413, "RequestEntityTooLarge")


def padding(size: int) -> dict[str, object]:
    return {"status": {"message": "x" * size}}


async def test_closing_the_server_ends_its_watches() -> None:
    server = ApiServer()
    async with (
        serve(server) as url,
        aiohttp.ClientSession(url) as session,
        session.get(CONFIG_MAPS, params={"watch": "true"}) as watch,
    ):
        await server.close()
        assert await watch.content.read() == b""


async def test_the_command_writes_a_kubeconfig_and_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "grove_sandbox.commands.sandbox",
        *("2", "0", "1.36", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert process.stdout is not None
    try:
        greeting = b""
        while b"Ctrl-C" not in greeting:
            line = await process.stdout.readline()
            assert line, greeting.decode()
            greeting += line
        assert f"export KUBECONFIG={kubeconfig}".encode() in greeting
        url = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        async with aiohttp.ClientSession(url) as session:
            async with session.get("/version") as version:
                assert (await version.json())["minor"] == "36"
            async with session.get("/api/v1/nodes") as nodes:
                assert len((await nodes.json())["items"]) == 2
    finally:
        process.send_signal(signal.SIGINT)
    rest = (await process.stdout.read()).decode()
    assert (await process.wait(), rest.strip()) == (0, "sandbox stopped")
    assert not kubeconfig.exists()
