"""The address and credentials of the API server, from a kubeconfig file or from inside a pod.

We do not use a library: those that read kubeconfigs bring a second HTTP stack (lightkube: httpx) or take half a second
to import (kubernetes_asyncio). A kubeconfig that asks for what this module does not support (`proxy-url`,
impersonation, passwords, `auth-provider`) is an error, never ignored.
"""

import base64
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import yaml

from grove.runtime.client.credentials import Credentials, ExecPlugin, FixedToken, TokenFile, load_certificate
from grove.runtime.client.proxy import ProxyError, proxy_from_environment


class KubeconfigError(Exception):
    """The kubeconfig is unusable. The message names the file, the part and the reason."""


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """Everything that a transport needs to reach a cluster. `tls` is None for plain HTTP."""

    server: str
    credentials: Credentials
    tls: ssl.SSLContext | None = None
    tls_server_name: str | None = None
    namespace: str = "default"


SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def find_cluster(kubeconfig: str | None = None, context: str | None = None) -> ClusterConnection:
    """The cluster of the given file; else of $KUBECONFIG; else the cluster of this pod; else of ~/.kube/config.

    Raises `KubeconfigError`, also for a proxy of the environment that cannot be used.
    """
    cluster = _find_cluster(kubeconfig, context)
    try:
        proxy_from_environment(cluster.server)
    except ProxyError as e:
        raise KubeconfigError(str(e)) from e
    return cluster


def _find_cluster(kubeconfig: str | None, context: str | None) -> ClusterConnection:
    if kubeconfig:
        return from_kubeconfig([Path(kubeconfig)], context)
    if paths := os.environ.get("KUBECONFIG"):
        return from_kubeconfig([Path(p) for p in paths.split(os.pathsep) if p], context)
    if context is None and os.environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return from_service_account()
    return from_kubeconfig([Path.home() / ".kube" / "config"], context)


def from_service_account(folder: Path = SERVICE_ACCOUNT) -> ClusterConnection:
    """The cluster of this pod. The kubelet rotates the token in place."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return ClusterConnection(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        credentials=TokenFile(folder / "token"),
        tls=ssl.create_default_context(cafile=str(folder / "ca.crt")),
        namespace=(folder / "namespace").read_text().strip(),
    )


def from_kubeconfig(
    paths: list[Path], context: str | None = None, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> ClusterConnection:
    """The cluster of a context, by default the current one. If two files define the same name, the first wins."""
    files = [_read(path) for path in paths if path.exists()]
    if not files:
        raise KubeconfigError(f"there is no kubeconfig at {', '.join(str(p) for p in paths)}")
    name = context or next((f.content.current_context for f in files if f.content.current_context), "")
    if not name:
        raise KubeconfigError(f"{files[0].path} has no current-context: name a context")
    _, chosen = _find(files, "contexts", name)
    cluster_file, cluster = _find(files, "clusters", chosen.cluster)
    user_file, user = _find(files, "users", chosen.user) if chosen.user else (files[0], _User())
    _refuse_unsupported(cluster_file, cluster, {"proxy_url": "proxy-url"})
    _refuse_unsupported(
        user_file,
        user,
        {"username": "a user name with password", "impersonate": "as", "auth_provider": "auth-provider"},
    )
    scheme = urlsplit(cluster.server).scheme
    if scheme not in ("http", "https"):
        raise KubeconfigError(f"{cluster_file.path}: {cluster.server!r} is neither http:// nor https://")
    tls = _tls(cluster_file, cluster) if scheme == "https" else None
    return ClusterConnection(
        server=cluster.server.rstrip("/"),
        credentials=_credentials(user_file, user, cluster_file, cluster, tls, now),
        tls=tls,
        tls_server_name=cluster.tls_server_name,
        namespace=chosen.namespace or "default",
    )


class _ClusterEntry(msgspec.Struct, rename="kebab"):
    server: str
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None
    extensions: list[dict[str, Any]] = []


class _ExecEntry(msgspec.Struct, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[dict[str, str]] | None = None
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False


class _User(msgspec.Struct, rename="kebab"):
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    exec: _ExecEntry | None = None
    username: str | None = None
    impersonate: str | None = msgspec.field(name="as", default=None)
    auth_provider: dict[str, Any] | None = None


class _Context(msgspec.Struct):
    cluster: str
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _ClusterEntry


class _NamedUser(msgspec.Struct):
    name: str
    user: _User = msgspec.field(default_factory=_User)


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context


class _Content(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    content: _Content

    def resolve(self, name: str) -> Path:
        """Paths in a kubeconfig are relative to the file that names them."""
        return self.path.parent / name


def _read(path: Path) -> _File:
    try:
        loaded = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
        return _File(path, msgspec.convert(loaded or {}, _Content))
    except (yaml.YAMLError, msgspec.ValidationError, OSError) as e:
        raise KubeconfigError(f"{path} is no kubeconfig: {e}") from e


def _find(files: list[_File], section: str, name: str) -> tuple[_File, Any]:
    for file in files:
        for entry in getattr(file.content, section) or ():
            if entry.name == name:
                return file, getattr(entry, section.removesuffix("s"))
    raise KubeconfigError(
        f"{', '.join(str(f.path) for f in files)}: there is no {name!r} among the {section}"
    )


def _tls(file: _File, cluster: _ClusterEntry) -> ssl.SSLContext:
    authority = _pem(file, cluster.certificate_authority_data, cluster.certificate_authority)
    try:
        context = ssl.create_default_context(cadata=authority)
    except ssl.SSLError as e:
        raise KubeconfigError(
            f"{file.path}: the certificate authority of {cluster.server} is unusable: {e}"
        ) from e
    if cluster.insecure_skip_tls_verify:  # the user asked for it explicitly
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _credentials(
    file: _File,
    user: _User,
    cluster_file: _File,
    cluster: _ClusterEntry,
    tls: ssl.SSLContext | None,
    now: Callable[[], datetime],
) -> Credentials:
    if tls is not None and (certificate := _pem(file, user.client_certificate_data, user.client_certificate)):
        try:
            load_certificate(tls, certificate, _pem(file, user.client_key_data, user.client_key) or "")
        except ssl.SSLError as e:
            raise KubeconfigError(f"{file.path}: the client certificate is unusable: {e}") from e
    if user.exec is not None:
        return _exec_plugin(file, user.exec, cluster_file, cluster, tls, now)
    if user.token_file and not user.token:
        return TokenFile(file.resolve(user.token_file))
    return FixedToken(user.token)


def _refuse_unsupported(file: _File, entry: Any, names: Mapping[str, str]) -> None:
    for field, name in names.items():
        if getattr(entry, field):
            raise KubeconfigError(f"{file.path}: {name} is not supported")


def _exec_plugin(
    file: _File,
    plugin: _ExecEntry,
    cluster_file: _File,
    cluster: _ClusterEntry,
    tls: ssl.SSLContext | None,
    now: Callable[[], datetime],
) -> ExecPlugin:
    if plugin.interactive_mode == "Always":
        raise KubeconfigError(
            f"{file.path}: credential plugin {plugin.command!r} needs a terminal (interactiveMode: Always)"
        )
    command = str(file.resolve(plugin.command)) if os.sep in plugin.command else plugin.command
    return ExecPlugin(
        [command, *(plugin.args or ())],
        now=now,
        api_version=plugin.api_version,
        env={e["name"]: e["value"] for e in plugin.env or ()},
        cluster=_cluster_info(cluster_file, cluster) if plugin.provide_cluster_info else None,
        tls=tls,
        hint=plugin.install_hint,
    )


def _cluster_info(file: _File, cluster: _ClusterEntry) -> Mapping[str, Any]:
    info: dict[str, Any] = {"server": cluster.server}
    if authority := _pem(file, cluster.certificate_authority_data, cluster.certificate_authority):
        info["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    for extension in cluster.extensions:
        if extension.get("name") == "client.authentication.k8s.io/exec":
            info["config"] = extension.get("extension")
    return info


def _pem(file: _File, data: str | None, name: str | None) -> str | None:
    """A certificate or key: base64 in the kubeconfig, or a file that the kubeconfig names."""
    try:
        if data:
            return base64.b64decode(data, validate=True).decode()
        return file.resolve(name).read_text() if name else None
    except OSError as e:
        raise KubeconfigError(f"{file.path} names a file that cannot be read: {e}") from e
    except ValueError as e:
        raise KubeconfigError(f"{file.path}: a certificate or key is not base64 of a PEM file: {e}") from e
