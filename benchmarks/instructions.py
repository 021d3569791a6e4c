"""How many instructions the operator takes per pod: a count that is the same on a busy machine and on a quiet one.

    python -m benchmarks.instructions

CPU time depends on a machine's neighbours by more than most changes of code do. So the operator runs under valgrind,
which counts instructions, and brings up two sets; what the larger one takes more, by the pods that it has more, is the
result. What the kernel does for it is not in it. The API server is the embedded one, behind TLS, and answers one
request at a time, as does a real one that is slower than the operator: answers come one by one and not in batches.
"""

import asyncio
import multiprocessing
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import trustme
import uvloop

from benchmarks.measure import Budget, finish
from benchmarks.operator_costs import bring_up
from benchmarks.servers import Server
from grove.runtime.credentials import FixedToken
from grove.runtime.kubeconfig import Cluster
from grove.runtime.logs import configure
from grove.runtime.transport import Request, Response, Stream
from grove.sandbox.apiserver import ApiServer
from grove.sandbox.http import serve

SMALL, LARGE, PODS_PER_GANG = 30, 80, 2
# Seconds that an answer takes: about as much longer than on a real server as valgrind makes the operator slower.
PACE = 0.012


class Address(NamedTuple):
    url: str
    authority: str


class OneByOne:
    """An API server that deals with one request after the other."""

    def __init__(self, inner: ApiServer) -> None:
        self._inner = inner
        self._turn = asyncio.Lock()

    async def send(self, request: Request) -> Response:
        async with self._turn:
            await asyncio.sleep(PACE)
            return await self._inner.send(request)

    async def stream(self, request: Request) -> Stream:
        return await self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@contextmanager
def slow_server() -> Iterator[Address]:
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_serve, args=(far,), daemon=True)
    process.start()
    far.close()
    try:
        yield near.recv()
    finally:
        near.close()
        process.join()


def _serve(pipe: Connection) -> None:
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)

    async def until_the_pipe_closes() -> None:
        async with serve(OneByOne(ApiServer()), tls=tls) as url:
            pipe.send(Address(url, authority.cert_pem.bytes().decode()))
            closed = asyncio.Event()
            asyncio.get_running_loop().add_reader(pipe.fileno(), closed.set)
            await closed.wait()

    asyncio.run(until_the_pipe_closes())


def count(gangs: int) -> int:
    """Instructions of a process that brings up so many gangs, its start included."""
    with slow_server() as address, tempfile.TemporaryDirectory() as folder:
        authority = Path(folder, "authority.pem")
        authority.write_text(address.authority)
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind"]
        operator = [sys.executable, "-m", __spec__.name, address.url, str(authority), str(gangs)]
        done = subprocess.run([*valgrind, *operator], capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or counted is None:
        raise SystemExit(f"the operator failed under valgrind:\n{done.stdout}\n{done.stderr}")
    print(f"{gangs} gangs: {int(counted[1]) / 1e6:.0f} million instructions", flush=True)
    return int(counted[1])


def operate(url: str, authority: str, gangs: int) -> None:
    """What is counted, in a process of its own."""
    configure("error", "text")
    cluster = Cluster(url, FixedToken(), tls=ssl.create_default_context(cafile=authority))
    server = Server(cluster, cluster)

    async def run() -> None:
        recorder = server.recorder()
        await bring_up(server, recorder, gangs, PODS_PER_GANG, nullcontext())
        await recorder.close()

    uvloop.run(run())


def main() -> None:
    if len(sys.argv) > 1:
        operate(sys.argv[1], sys.argv[2], int(sys.argv[3]))
        return
    if shutil.which("valgrind") is None:
        print("skipped: instructions are counted by valgrind, which is not installed")
        return
    pods = (LARGE - SMALL) * PODS_PER_GANG
    per_pod = (count(LARGE) - count(SMALL)) / pods / 1e6
    finish([Budget("instructions per pod, millions (Python 3.11)", per_pod, 5.0)])


if __name__ == "__main__":
    main()
