"""The hash of a pod template: it tells when two templates are the same, so an update restarts only changed pods.

    hash(clique) = digest(canonical(labels, annotations, podSpec))
    hash(set)    = digest(sorted (name, hash(clique)))

Canonical means: the order of keys, nulls, empty lists, explicit defaults and different spellings of one quantity make
no difference, and neither does the version of this program. The hash leaves out what the pods do not receive: the
gang's priority, replicas, minimums, the order of cliques.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from grove.api.podcliqueset import Clique, PodCliqueSetTemplate
from grove.schema.quantity import Quantity

# No vowels and no look-alikes, as in the hashes that Kubernetes itself puts into labels.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 10


def template_hash(clique: Clique) -> str:
    """The hash of one clique's pod template; a valid label value."""
    return _template_hash(
        tuple(sorted(clique.labels.items())),
        tuple(sorted(clique.annotations.items())),
        bytes(clique.spec.pod_spec),
    )


def generation_hash(template: PodCliqueSetTemplate) -> str:
    """The hash of all pod templates of a set."""
    return _digest(sorted((c.name, template_hash(c)) for c in template.cliques))


def is_own_hash(text: str) -> bool:
    """Whether this program made the hash. The Go reference writes up to twenty characters of the same alphabet.

    A later version of this program that computes hashes differently must also give them another length.
    """
    return len(text) == _LENGTH and all(c in _ALPHABET for c in text)


# A hash takes about half a millisecond, and many versions of many sets have the same template.
@lru_cache(maxsize=4096)
def _template_hash(labels: tuple[Any, ...], annotations: tuple[Any, ...], pod_spec: bytes) -> str:
    return _digest([labels, annotations, canonical_pod_spec(orjson.loads(pod_spec))])


def _digest(value: Any) -> str:
    number = int.from_bytes(hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).digest())
    characters = []
    for _ in range(_LENGTH):
        number, rest = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[rest])
    return "".join(characters)


def canonical_pod_spec(spec: Any) -> Any:
    """A core/v1 PodSpec without anything that makes no difference. Keys keep their order."""
    return _without(_tidy(spec), _POD_SPEC)


def _tidy(value: Any) -> Any:
    """Drops nulls and empty lists, which mean the same as absent fields; turns whole numbers into integers."""
    if isinstance(value, dict):
        tidied = {k: _tidy(v) for k, v in value.items()}
        return {k: v for k, v in tidied.items() if v is not None and v != []}
    if isinstance(value, list):
        return [_tidy(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@dataclass(frozen=True)
class _Defaults:
    """The defaults of one object of the Kubernetes API, and of the objects within it."""

    values: dict[str, Any] = field(default_factory=dict)
    within: "dict[str, _Defaults]" = field(default_factory=dict)
    rewrite: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def _without(value: Any, defaults: _Defaults) -> Any:
    """The value without explicit defaults, at every depth that the table knows."""
    if isinstance(value, list):
        return [_without(v, defaults) for v in value]
    if not isinstance(value, dict):
        return value
    inner = {k: _without(v, defaults.within[k]) if k in defaults.within else v for k, v in value.items()}
    kept = {k: v for k, v in inner.items() if k not in defaults.values or not _same(v, defaults.values[k])}
    return defaults.rewrite(kept) if defaults.rewrite else kept


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _pull_policy(container: dict[str, Any]) -> dict[str, Any]:
    """Drops a default pull policy: Always for images with the tag `latest` or none, IfNotPresent for others."""
    image = container.get("image")
    if not isinstance(image, str):
        return container
    name = image.rpartition("/")[2]
    latest = "@" not in name and (":" not in name or name.endswith(":latest"))
    default = "Always" if latest else "IfNotPresent"
    if container.get("imagePullPolicy") != default:
        return container
    return {k: v for k, v in container.items() if k != "imagePullPolicy"}


def _amounts(resources: dict[str, Any]) -> dict[str, Any]:
    """Each quantity in one spelling: 1000m, 1 and "1" are the same."""
    return {k: _amount(v) for k, v in resources.items()}


def _amount(value: Any) -> Any:
    try:
        return str(Quantity(value).amount) if isinstance(value, str | int | float) else value
    except ValueError:
        return value  # no quantity: the API server will reject it and say why


def _each(names: Iterable[str], defaults: _Defaults) -> dict[str, _Defaults]:
    return dict.fromkeys(names, defaults)


_FIELD_REF = _Defaults({"apiVersion": "v1"})
_HTTP_GET = _Defaults({"scheme": "HTTP", "path": "/"})
_PROBE = _Defaults(
    {
        "initialDelaySeconds": 0,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    },
    {"httpGet": _HTTP_GET, "grpc": _Defaults({"service": ""})},
)
_HANDLER = _Defaults(within={"httpGet": _HTTP_GET})
_RESOURCES = _Defaults(
    {"requests": {}, "limits": {}}, _each(("requests", "limits"), _Defaults(rewrite=_amounts))
)
_CONTAINER = _Defaults(
    {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        "securityContext": {},
        "stdin": False,
        "stdinOnce": False,
        "tty": False,
    },
    {
        "ports": _Defaults({"protocol": "TCP"}),
        "env": _Defaults(
            {"value": ""},
            {
                "valueFrom": _Defaults(
                    within={"fieldRef": _FIELD_REF, "resourceFieldRef": _Defaults({"divisor": "0"})}
                )
            },
        ),
        "volumeMounts": _Defaults({"readOnly": False}),
        "resources": _RESOURCES,
        **_each(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
        "lifecycle": _Defaults(within=_each(("postStart", "preStop"), _HANDLER)),
    },
    _pull_policy,
)
_DOWNWARD_ITEMS = {"items": _Defaults(within={"fieldRef": _FIELD_REF})}
_VOLUME = _Defaults(
    {"emptyDir": {}},
    {
        **_each(("secret", "configMap"), _Defaults({"defaultMode": 420})),
        "downwardAPI": _Defaults({"defaultMode": 420}, _DOWNWARD_ITEMS),
        "projected": _Defaults(
            {"defaultMode": 420},
            {
                "sources": _Defaults(
                    within={
                        "serviceAccountToken": _Defaults({"expirationSeconds": 3600}),
                        "downwardAPI": _Defaults(within=_DOWNWARD_ITEMS),
                    }
                )
            },
        ),
        "hostPath": _Defaults({"type": ""}),
    },
)
_POD_SPEC = _Defaults(
    {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "",
        "securityContext": {},
        "enableServiceLinks": True,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "nodeSelector": {},
        "overhead": {},
        "affinity": {},
    },
    {
        **_each(("containers", "initContainers"), _CONTAINER),
        "volumes": _VOLUME,
        "resources": _RESOURCES,
    },
)
