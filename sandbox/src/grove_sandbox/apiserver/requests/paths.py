"""Parses a URL path into group, version, resource, namespace, name and subresource."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ResourcePath:
    """`name` is empty for a collection, `namespace` for all namespaces and for cluster scope."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse(path: str) -> ResourcePath | None:
    """None if the path does not begin with a group and a version."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if rest[0] == "namespaces" and len(rest) >= 3 and not _is_namespace_subresource(group, rest):
        return _resource(group, version, rest[1], rest[2:])
    return _resource(group, version, "", rest)


def _is_namespace_subresource(group: str, rest: list[str]) -> bool:
    """`namespaces/x/status` is the status of namespace x, not a resource called `status` in it."""
    return not group and len(rest) == 3 and rest[2] in ("status", "finalize")


def _resource(group: str, version: str, namespace: str, rest: list[str]) -> ResourcePath:
    plural, name = rest[0], rest[1] if len(rest) > 1 else ""
    return ResourcePath(group, version, plural, namespace, name, "/".join(rest[2:]))
