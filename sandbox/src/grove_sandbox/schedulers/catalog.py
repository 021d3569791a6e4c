"""All simulated schedulers by name, and the CRDs that each needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from grove_sandbox.schedulers.kai.scheduler import KaiScheduler
from grove_sandbox.schedulers.koordinator.scheduler import KoordinatorScheduler
from grove_sandbox.schedulers.kube.scheduler import V1_36, V1_37, V1_37_FLAT, KubeScheduler
from grove_sandbox.schedulers.kube.scheduler_135 import KubeScheduler134, KubeScheduler135
from grove_sandbox.schedulers.objects import Json
from grove_sandbox.schedulers.policy import Policy
from grove_sandbox.schedulers.volcano.scheduler import VolcanoScheduler
from grove_sandbox.schedulers.yunikorn.scheduler import YuniKornScheduler


@dataclass(frozen=True)
class CatalogEntry:
    """`make` takes no arguments. `crds` is a file beside this module, empty for a scheduler without CRDs."""

    make: Callable[[], Policy]
    crds: str = ""

    def definitions(self) -> list[Json]:
        """The CRDs of the scheduler, to create in a cluster that lacks them."""
        if not self.crds:
            return []
        path = Path(__file__).parent / self.crds
        return list(yaml.load_all(path.read_text(), yaml.CSafeLoader))


# The API server of the same release serves the native kinds of kube-scheduler.
CATALOG: Mapping[str, CatalogEntry] = {
    "kube-1.34": CatalogEntry(KubeScheduler134),
    "kube-1.35": CatalogEntry(KubeScheduler135),
    "kube-1.36": CatalogEntry(lambda: KubeScheduler(V1_36)),
    "kube-1.37": CatalogEntry(lambda: KubeScheduler(V1_37)),
    "kube-1.37-flat": CatalogEntry(lambda: KubeScheduler(V1_37_FLAT)),
    "kai": CatalogEntry(KaiScheduler, "kai/crds.yaml"),
    "koordinator": CatalogEntry(KoordinatorScheduler, "koordinator/crds.yaml"),
    "volcano": CatalogEntry(VolcanoScheduler, "volcano/crds.yaml"),
    "yunikorn": CatalogEntry(YuniKornScheduler),
}
