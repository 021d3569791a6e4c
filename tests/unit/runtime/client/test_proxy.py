"""Whether a request to the API server goes through a proxy is decided by the environment."""

import asyncio

import pytest
import trustme

from grove.runtime.client.credentials import FixedToken
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.proxy import ProxyError, proxy_from_environment
from grove.runtime.client.transport import Request
from tests.unit.runtime.client.test_http_transport import client_tls, hello
from tests.unit.runtime.servers import server_tls, serving

VARIABLES = (
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
)


@pytest.fixture(autouse=True)
def no_proxy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "server", "expected"),
    [
        ({}, "https://10.0.0.1:6443", None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "https://10.0.0.1:6443", "http://proxy:3128"),
        ({"https_proxy": "proxy:3128"}, "https://10.0.0.1:6443", "http://proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://10.0.0.1:8080", None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "https://127.0.0.1:6443", None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "https://localhost:6443", None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "https://[::1]:6443", None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.1"}, "https://10.0.0.1:6443", None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, "https://10.0.0.1:6443", None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".svc,10.0.0.0/8"}, "https://10.0.0.1", None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "fd00::/8"}, "https://[fd00::1]:443", None),
        (
            {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.1.0.0/16,host"},
            "https://10.0.0.1",
            "http://proxy:3128",
        ),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example.com"}, "https://api.example.com", None),
        (
            {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.0/8"},
            "https://api.example.com",
            "http://proxy:3128",
        ),
    ],
)
def test_the_environment_names_the_proxy_and_what_is_exempt(
    environment: dict[str, str], server: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_from_environment(server) == expected


def test_a_proxy_that_is_not_http_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://proxy:1080")
    with pytest.raises(ProxyError, match="not supported"):
        proxy_from_environment("https://10.0.0.1:6443")


async def test_a_request_to_an_https_server_is_tunnelled_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority, asked = trustme.CA(), list[bytes]()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        port = int(asked[-1].split()[1].decode().rpartition(":")[2])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
    async with serving(hello, server_tls(authority)) as address:
        server = address.replace("127.0.0.1", "api.example")
        connection = ClusterConnection(
            server, FixedToken(), tls=client_tls(authority), tls_server_name="127.0.0.1"
        )
        transport = HttpTransport(connection)
        answer = await transport.send(Request("GET", "/x"))
        await transport.close()
    proxy.close()
    assert answer.status == 200
    assert len(asked) == 1
    assert asked[0].startswith(b"CONNECT " + server.removeprefix("https://").encode())


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()
