"""The string formats that a Kubernetes API server checks. Like the server, it ignores all others."""

import base64
import binascii
import datetime as dt
import ipaddress
import re
from collections.abc import Callable
from email.utils import parseaddr
from urllib.parse import urlsplit

from grove.schema.name_syntax import is_dns_label, is_dns_subdomain

_NUMERIC = {"integer": ("int32", "int64"), "number": ("float", "double")}


def normal_format(name: str, types: tuple[str, ...]) -> str:
    """The server's name of a format (`datetime` for `date-time`), or "" for a format that the server ignores."""
    if not name:
        return ""
    if types in ((), ("string",)):
        normal = name if name.startswith("k8s-") else name.replace("-", "")
        return normal if normal in FORMATS else ""
    if len(types) == 1 and name in _NUMERIC.get(types[0], ()):
        return name
    return ""


_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_LOOSE_DURATION = re.compile(
    r"\d+\s*(ns|us|µs|ms|s|sec|m|min|h|hr|d|w|wk|nano|micro|milli|hour|day|week)", re.IGNORECASE
)
_HOSTNAME = re.compile(
    r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*\.?"
)
_MAC = re.compile(r"([0-9a-fA-F]{2}([:-])){5,7}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2,3}[0-9a-fA-F]{4}")


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return test


def _date(text: str) -> bool:
    return len(text) == 10 and _parses(dt.date.fromisoformat)(text)


def _datetime(text: str) -> bool:
    day, _, time = text.lower().partition("t")
    found = _TIME.fullmatch(time)
    return bool(_date(day) and found and found[1] <= "23" and found[2] <= "59" and found[3] <= "59")


def _duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text) or _LOOSE_DURATION.search(text))


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _uuid(version: str = "[0-9a-f]", variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    groups = ("[0-9a-f]{8}", "[0-9a-f]{4}", version + "[0-9a-f]{3}", variant + "[0-9a-f]{3}", "[0-9a-f]{12}")
    shape = re.compile("-?".join(groups), re.IGNORECASE)
    return lambda text: shape.fullmatch(text) is not None


FORMATS: dict[str, Callable[[str], bool]] = {
    "byte": _byte,
    "cidr": _parses(lambda text: ipaddress.ip_interface(text) if "/" in text else int("no mask")),
    "date": _date,
    "datetime": _datetime,
    "duration": _duration,
    "email": lambda text: "@" in parseaddr(text)[1],
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "k8s-long-name": is_dns_subdomain,
    "k8s-short-name": is_dns_label,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "password": lambda text: True,
    "uri": _uri,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
