"""The HTTP server for the kubelet's probes and for Prometheus."""

from collections.abc import Callable, Mapping

from aiohttp import web

from grove.runtime.telemetry.metrics import Metrics


class HealthServer:
    """`/healthz`, `/readyz` and `/metrics`.

    `ready` is called for every `/readyz`. It returns named conditions; the process is ready when all are true, and the
    answer names those that are not. `Manager.readiness` is such a function.
    """

    def __init__(self, metrics: Metrics, ready: Callable[[], Mapping[str, bool]]) -> None:
        self._metrics = metrics
        self._ready = ready
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics_text)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self, host: str, port: int) -> int:
        """Returns the port; for port 0, the free one that was chosen."""
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, request: web.Request) -> web.Response:
        waiting = [name for name, holds in self._ready().items() if not holds]
        if waiting:
            return web.Response(status=503, text="".join(f"waiting for {name}\n" for name in waiting))
        return web.Response(text="ok\n")

    async def _metrics_text(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
