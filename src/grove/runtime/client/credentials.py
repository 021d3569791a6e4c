"""Credentials for an API server: tokens that rotate while the process runs, and certificates from an exec plugin.

A transport asks for the `Authorization` header before every request. So the next request uses a rotated token, and so
does the next watch.
"""

import asyncio
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec

from grove.runtime.client.errors import TransportError


class Credentials(Protocol):
    async def authorization(self) -> str | None:
        """The `Authorization` header. Called before every request, so it must be cheap while nothing changed."""

    async def renew(self, rejected: str | None) -> bool:
        """The server answered 401 to `rejected`: gets newer credentials, unless another request already has.

        Returns whether open connections must not be reused, because they were opened with an old certificate.
        """


class FixedToken:
    """A token that never changes; or none, for a client certificate or a server without authentication."""

    def __init__(self, token: str | None = None) -> None:
        self._header = f"Bearer {token}" if token else None

    async def authorization(self) -> str | None:
        return self._header

    async def renew(self, rejected: str | None) -> bool:
        return False


class TokenFile:
    """A token in a file that is rotated, as the kubelet rotates the token of a service account about once an hour."""

    def __init__(self, path: Path, *, reread_after: float = 60.0) -> None:
        self._path = path
        self._reread_after = reread_after
        self._header = ""
        self._read_at = float("-inf")

    async def authorization(self) -> str | None:
        if asyncio.get_running_loop().time() - self._read_at >= self._reread_after:
            self._read()
        return self._header

    async def renew(self, rejected: str | None) -> bool:
        if rejected == self._header:
            self._read()
        return False

    def _read(self) -> None:
        try:
            token = self._path.read_text().strip()
        except OSError as e:
            raise TransportError(f"cannot read the token file: {e}", sent=False) from e
        self._header = f"Bearer {token}"
        self._read_at = asyncio.get_running_loop().time()


class ExecPlugin:
    """A command that prints an `ExecCredential`: a token, a client certificate, or both, often with an expiry.

    The result is reused until shortly before it expires. A certificate is loaded into `tls`, which every connection
    uses that is opened from then on.
    """

    def __init__(
        self,
        command: list[str],
        *,
        now: Callable[[], datetime],
        api_version: str = "client.authentication.k8s.io/v1",
        env: Mapping[str, str] | None = None,
        cluster: Mapping[str, Any] | None = None,
        tls: ssl.SSLContext | None = None,
        hint: str = "",
    ) -> None:
        spec: dict[str, Any] = {"interactive": False}
        if cluster is not None:
            spec["cluster"] = cluster
        info = {"apiVersion": api_version, "kind": "ExecCredential", "spec": spec}
        self._command = command
        self._env = {**(env or {}), "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        self._tls = tls
        self._hint = hint
        self._now = now
        self._lock = asyncio.Lock()
        self._held: _ExecStatus | None = None

    async def authorization(self) -> str | None:
        async with self._lock:
            if self._held is None or self._held.expires_before(self._now() + EXPIRY_MARGIN):
                await self._run()
            return _header(self._held)

    async def renew(self, rejected: str | None) -> bool:
        async with self._lock:
            if rejected == _header(self._held):
                await self._run()
            return self._held is not None and self._held.client_certificate_data is not None

    async def _run(self) -> None:
        output = await self._output()
        try:
            found = msgspec.json.decode(output, type=_ExecCredential).status
        except msgspec.DecodeError as e:
            raise self._failed(f"did not print an ExecCredential: {e}") from e
        if found.client_certificate_data and found.client_key_data and self._tls is not None:
            try:
                load_certificate(self._tls, found.client_certificate_data, found.client_key_data)
            except ssl.SSLError as e:
                raise self._failed(f"printed an unusable certificate: {e}") from e
        self._held = found

    async def _output(self) -> bytes:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                env={**os.environ, **self._env},
            )
        except OSError as e:
            raise self._failed(f"cannot be started: {e}. {self._hint}".rstrip()) from e
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT_SECONDS):
                output, errors = await process.communicate()
        except TimeoutError as e:
            raise self._failed(f"did not exit within {PLUGIN_TIMEOUT_SECONDS:g} s") from e
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            stderr = errors.decode(errors="replace").strip()
            raise self._failed(f"exited with code {process.returncode}: {stderr}. {self._hint}".rstrip())
        return output

    def _failed(self, what: str) -> TransportError:
        return TransportError(f"credential plugin {self._command[0]!r} {what}", sent=False)


EXPIRY_MARGIN = timedelta(seconds=30)
PLUGIN_TIMEOUT_SECONDS = 60.0


class _ExecStatus(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None

    def expires_before(self, moment: datetime) -> bool:
        return self.expiration_timestamp is not None and self.expiration_timestamp < moment


class _ExecCredential(msgspec.Struct):
    status: _ExecStatus


def _header(held: _ExecStatus | None) -> str | None:
    return f"Bearer {held.token}" if held is not None and held.token else None


def load_certificate(tls: ssl.SSLContext, certificate: str, key: str) -> None:
    """Python loads certificates from files only. These exist only during the call, readable by this user alone."""
    with tempfile.TemporaryDirectory() as folder:
        certificate_file, key_file = Path(folder, "tls.crt"), Path(folder, "tls.key")
        certificate_file.write_text(certificate)
        key_file.write_text(key)
        tls.load_cert_chain(certificate_file, key_file)
