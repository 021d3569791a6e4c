"""Sends admission reviews to webhooks over HTTPS, verified with the CA bundle of the configuration."""

import base64
import ssl
from typing import Any

import aiohttp


async def call_webhook(client_config: dict[str, Any], review: bytes, timeout: float) -> bytes:  # noqa: ASYNC109
    """The body of the response. Raises OSError, TimeoutError or ValueError if the call fails."""
    bundle = client_config.get("caBundle")
    context: ssl.SSLContext | bool = True
    if bundle:
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    limits = aiohttp.ClientTimeout(total=timeout)
    headers = {"content-type": "application/json"}
    try:
        async with (
            aiohttp.ClientSession(timeout=limits) as session,
            session.post(client_config["url"], data=review, headers=headers, ssl=context) as response,
        ):
            body = await response.read()
            if response.status != 200:
                raise ValueError(f"{response.status} {body[:200].decode(errors='replace')}")
            return body
    except aiohttp.ClientError as error:
        raise OSError(str(error)) from error
