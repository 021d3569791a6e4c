"""Kubeconfigs of every kind, each used against a server that checks who is asking."""

import base64
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from grove.runtime.client.errors import TransportError
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import (
    ClusterConnection,
    KubeconfigError,
    find_cluster,
    from_kubeconfig,
    from_service_account,
)
from grove.runtime.client.transport import Request
from tests.unit.runtime.servers import server_tls, serving

GET = Request("GET", "/version")
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def write(
    path: Path, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, name: str = "main"
) -> Path:
    content = {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "http://localhost:1", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"ns-{name}"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


async def who(request: web.Request) -> web.Response:
    """Says who asked: the token, and the name in the client certificate."""
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert") or {}
    names = [value for (_, value) in certificate.get("subjectAltName", ())]
    return web.json_response([request.headers.get("Authorization"), names])


async def asked(cluster: ClusterConnection) -> Any:
    transport = HttpTransport(cluster)
    try:
        return json.loads((await transport.send(GET)).body)
    finally:
        await transport.close()


async def test_a_token(tmp_path: Path) -> None:
    async with serving(who) as address:
        config = write(tmp_path / "config", {"token": "t0"}, {"server": address})
        assert await asked(from_kubeconfig([config])) == ["Bearer t0", []]


async def test_a_token_file_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "my-token").write_text("t1\n")
    async with serving(who) as address:
        config = write(tmp_path / "config", {"tokenFile": "my-token"}, {"server": address})
        assert await asked(from_kubeconfig([config])) == ["Bearer t1", []]


@pytest.mark.parametrize("inline", [True, False], ids=["in the file", "in files of their own"])
async def test_a_client_certificate(tmp_path: Path, inline: bool) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("me.example")
    pem, key = issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()
    ca = authority.cert_pem.bytes()
    user: dict[str, Any] = {"client-certificate-data": encoded(pem), "client-key-data": encoded(key)}
    trust: dict[str, Any] = {"certificate-authority-data": encoded(ca)}
    if not inline:
        for name, data in (("tls.crt", pem), ("tls.key", key), ("ca.crt", ca)):
            (tmp_path / name).write_bytes(data)
        user = {"client-certificate": "tls.crt", "client-key": "tls.key"}
        trust = {"certificate-authority": "ca.crt"}
    async with serving(who, server_tls(authority, ask_for_certificate=True)) as address:
        config = write(tmp_path / "config", user, {"server": address, **trust})
        assert await asked(from_kubeconfig([config])) == [None, ["me.example"]]


async def test_a_server_name_other_than_the_address(tmp_path: Path) -> None:
    authority = trustme.CA()
    tls = server_tls(authority)
    authority.issue_cert("kubernetes.default").configure_cert(tls)
    trust = {"certificate-authority-data": encoded(authority.cert_pem.bytes())}
    async with serving(who, tls) as address:
        cluster = {"server": address, **trust, "tls-server-name": "kubernetes.default"}
        config = write(tmp_path / "config", {"token": "t"}, cluster)
        assert await asked(from_kubeconfig([config])) == ["Bearer t", []]


async def test_certificates_are_checked_unless_the_kubeconfig_says_not_to(tmp_path: Path) -> None:
    async with serving(who, server_tls(trustme.CA())) as address:
        with pytest.raises(TransportError, match="certificate"):
            await asked(from_kubeconfig([write(tmp_path / "a", cluster={"server": address})]))
        lax = write(tmp_path / "b", cluster={"server": address, "insecure-skip-tls-verify": True})
        assert await asked(from_kubeconfig([lax])) == [None, []]


def plugin(tmp_path: Path, status: str, **more: Any) -> dict[str, Any]:
    """A credential plugin that counts its runs in the token."""
    script = tmp_path / "plugin.py"
    script.write_text(
        "import json, os, pathlib\n"
        "runs = pathlib.Path(__file__).with_name('runs')\n"
        "n = int(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text(str(n))\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        f"status = {status}\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))\n"
    )
    api = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": api, "command": sys.executable, "args": [str(script)], **more}}


async def test_a_credential_plugin_runs_once_until_its_answer_expires(tmp_path: Path) -> None:
    now = NOW
    user = plugin(
        tmp_path,
        "{'token': os.environ['WHO'] + str(n), 'expirationTimestamp': '2030-01-01T01:00:00Z'}",
        env=[{"name": "WHO", "value": "me"}],
    )
    async with serving(who) as address:
        config = write(tmp_path / "config", user, {"server": address})
        cluster = from_kubeconfig([config], now=lambda: now)
        assert await asked(cluster) == ["Bearer me1", []]
        assert await asked(cluster) == ["Bearer me1", []]
        now += timedelta(hours=1)
        assert await asked(cluster) == ["Bearer me2", []]


async def test_a_credential_plugin_runs_again_when_its_token_is_refused(tmp_path: Path) -> None:
    async def only_second(request: web.Request) -> web.Response:
        token = request.headers["Authorization"]
        return web.json_response(token, status=200 if token == "Bearer 2" else 401)

    async with serving(only_second) as address:
        config = write(tmp_path / "config", plugin(tmp_path, "{'token': str(n)}"), {"server": address})
        assert await asked(from_kubeconfig([config])) == "Bearer 2"


async def test_a_credential_plugin_may_hand_out_a_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("plugin.example")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
    issued.private_key_pem.write_to_path(tmp_path / "tls.key")
    status = (
        "{'clientCertificateData': runs.with_name('tls.crt').read_text(),"
        " 'clientKeyData': runs.with_name('tls.key').read_text()}"
    )
    trust = {"certificate-authority-data": encoded(authority.cert_pem.bytes())}
    async with serving(who, server_tls(authority, ask_for_certificate=True)) as address:
        config = write(tmp_path / "config", plugin(tmp_path, status), {"server": address, **trust})
        assert await asked(from_kubeconfig([config])) == [None, ["plugin.example"]]


async def test_a_credential_plugin_learns_about_the_cluster_if_it_wants_to(tmp_path: Path) -> None:
    user = plugin(
        tmp_path, "{'token': info['spec']['cluster']['config']['audience']}", provideClusterInfo=True
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "them"}}
    async with serving(who) as address:
        config = write(tmp_path / "config", user, {"server": address, "extensions": [extension]})
        assert await asked(from_kubeconfig([config])) == ["Bearer them", []]


@pytest.mark.parametrize(
    ("exec_entry", "says"),
    [
        (
            {"command": "no-such-plugin", "installHint": "brew install it"},
            "cannot be started.*brew install it",
        ),
        ({"command": sys.executable, "args": ["-c", "import sys; sys.exit('log in first')"]}, "log in first"),
        ({"command": sys.executable, "args": ["-c", "print('hello')"]}, "did not print an ExecCredential"),
    ],
)
async def test_a_credential_plugin_that_fails_says_why(
    tmp_path: Path, exec_entry: dict[str, Any], says: str
) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", **exec_entry}}
    cluster = from_kubeconfig([write(tmp_path / "config", user)])
    with pytest.raises(TransportError, match=says) as caught:
        await asked(cluster)
    assert not caught.value.sent


async def test_an_unusable_certificate_of_a_credential_plugin_is_an_error(tmp_path: Path) -> None:
    status = "{'clientCertificateData': 'none', 'clientKeyData': 'none'}"
    config = write(tmp_path / "config", plugin(tmp_path, status), {"server": "https://localhost:1"})
    with pytest.raises(TransportError, match="unusable certificate") as caught:
        await asked(from_kubeconfig([config]))
    assert not caught.value.sent


def test_a_context_can_be_chosen_and_files_are_merged(tmp_path: Path) -> None:
    one = write(tmp_path / "one", name="one", cluster={"server": "http://one"})
    two = write(tmp_path / "two", name="two", cluster={"server": "http://two/"})
    missing = tmp_path / "missing"
    assert from_kubeconfig([missing, one, two]).server == "http://one"
    chosen = from_kubeconfig([one, two], "two")
    assert (chosen.server, chosen.namespace) == ("http://two", "ns-two")
    with pytest.raises(KubeconfigError, match="no 'three' among the contexts"):
        from_kubeconfig([one, two], "three")


@pytest.mark.parametrize(
    ("user", "cluster", "says"),
    [
        ({"username": "u", "password": "p"}, {}, "password is not supported"),
        ({"as": "root"}, {}, "as is not supported"),
        ({"auth-provider": {"name": "gcp"}}, {}, "auth-provider is not supported"),
        ({}, {"proxy-url": "http://proxy"}, "proxy-url is not supported"),
        ({}, {"server": "https://x", "certificate-authority-data": "!!!"}, "not base64"),
        ({}, {"server": "https://x", "certificate-authority": "nowhere.crt"}, "nowhere.crt"),
        ({}, {"server": 3}, "is no kubeconfig"),
        ({}, {"server": "10.0.0.1:6443"}, "neither http:// nor https://"),
        ({}, {"server": "HTTPS://x", "certificate-authority": "nowhere.crt"}, "nowhere.crt"),
        ({"exec": {"command": "x", "apiVersion": "v1", "interactiveMode": "Always"}}, {}, "needs a terminal"),
    ],
)
def test_unsupported_parts_of_a_kubeconfig_are_refused(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], says: str
) -> None:
    config = write(tmp_path / "config", user, cluster)
    with pytest.raises(KubeconfigError, match=says) as caught:
        from_kubeconfig([config])
    assert str(config) in str(caught.value)


async def test_inside_a_pod_the_service_account_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("sa\n")
    (tmp_path / "namespace").write_text("grove-system")
    async with serving(who, server_tls(authority)) as address:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", address.rpartition(":")[2])
        cluster = from_service_account(tmp_path)
        assert cluster.namespace == "grove-system"
        assert await asked(cluster) == ["Bearer sa", []]


def test_a_named_file_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write(tmp_path / "one", cluster={"server": "http://one"})
    two = write(tmp_path / "two", cluster={"server": "http://two"})
    monkeypatch.setenv("KUBECONFIG", f"{two}:{one}")
    assert find_cluster().server == "http://two"
    assert find_cluster(str(one)).server == "http://one"
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(KubeconfigError, match="there is no kubeconfig at"):
        find_cluster()
