"""Carries admission reviews to webhooks over HTTPS, verified against the configuration's own CA bundle."""

import base64
import ssl
from typing import Any

import aiohttp


async def call_webhook(client_config: dict[str, Any], review: bytes, timeout: float) -> bytes:  # noqa: ASYNC109
    """The answer's body; raises OSError, TimeoutError or ValueError when there is none."""
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
