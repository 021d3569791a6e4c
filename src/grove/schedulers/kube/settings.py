"""The settings of the profile for kube-scheduler."""

from typing import Literal

import msgspec


class KubernetesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `config` of the profile."""

    strict: bool = False
    """Refuse gangs that ask for more than the cluster guarantees, instead of reporting it."""
    disruption: Literal["gang", "pod"] = "gang"
    """What preemption evicts: the whole gang, or single pods of it."""
