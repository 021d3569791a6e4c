"""API servers in processes of their own, so that only the client's CPU is counted: the embedded one, or a real one."""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from grove.runtime.credentials import FixedToken
from grove.runtime.kubeconfig import Cluster, from_kubeconfig
from grove.sandbox.apiserver import ApiServer
from grove.sandbox.http import serve


@contextmanager
def embedded() -> Iterator[Cluster]:
    """The embedded API server, with nobody who schedules pods or runs them."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_serve, args=(far,), daemon=True)
    process.start()
    try:
        yield Cluster(near.recv(), FixedToken())
    finally:
        near.close()
        process.join()


@contextmanager
def real() -> Iterator[Cluster]:
    """A kube-apiserver of the testbed with its controllers, and nobody who schedules."""
    from grove_testbed.cluster import Cluster as Testbed

    with Testbed.start() as cluster:
        yield from_kubeconfig([Path(cluster.kubeconfig("admin"))])


def _serve(pipe: Connection) -> None:
    async def until_the_pipe_closes() -> None:
        async with serve(ApiServer()) as address:
            pipe.send(address)
            closed = asyncio.Event()
            asyncio.get_running_loop().add_reader(pipe.fileno(), closed.set)
            await closed.wait()

    asyncio.run(until_the_pipe_closes())
