"""Which HTTP proxy leads to the API server, as the environment says.

urllib reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in upper or lower case. Beyond urllib, `NO_PROXY` may name
address ranges such as `10.96.0.0/12`, because clusters usually exempt their Service addresses this way.
"""

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


class ProxyError(Exception):
    """The environment names a proxy that cannot be used."""


def proxy_from_environment(server: str) -> str | None:
    """The URL of the proxy for the server at this URL, or None if it is reached directly."""
    proxies = getproxies()
    url = urlsplit(server)
    host = url.hostname or ""
    proxy = proxies.get(url.scheme)
    if not proxy or _is_local(host) or proxy_bypass(host) or _is_exempt(host, proxies.get("no", "")):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise ProxyError(
            f"the proxy {proxy!r} of the environment is not supported: name one with http:// or https://"
        )
    return proxy


def _is_local(host: str) -> bool:
    """A server on this machine is always reached directly, as kubectl does it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_exempt(host: str, no_proxy: str) -> bool:
    """Whether the host is an address in one of the ranges of `NO_PROXY`."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in _networks(no_proxy))


def _networks(no_proxy: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    for entry in no_proxy.split(","):
        try:
            found.append(ipaddress.ip_network(entry.strip(), strict=False))
        except ValueError:
            continue  # a host name, which urllib has compared
    return found
