"""Building the bodies of pods, beside serialising a finished pod from a dict."""

import msgspec
import orjson

from benchmarks.measure import Budget, cpu_per_object, finish, report
from grove.api import Clique, ObjectMeta, PodCliqueSet, PodCliqueSetSpec, PodCliqueSetTemplate
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import standalone_clique
from grove.plan.objects.pod_draft import GroupDrafts, PodDraft
from grove.plan.objects.podgangs import GangScheduling, pod_gang
from grove.plan.objects.pods import PodBuilder

PODS = 20_000
BUILDERS = 500


def example() -> SetLayout:
    """A set whose pods are of usual size: about 4 KB each."""
    container = {
        "name": "worker",
        "image": "registry.example/worker:1",
        "command": ["python3", "-m", "worker", "--tensor-parallel-size", "8"],
        "env": [{"name": f"SETTING_{k}", "value": f"a value of usual length {k}"} for k in range(30)],
        "resources": {"requests": {"cpu": "16", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}},
        "volumeMounts": [{"name": f"volume-{k}", "mountPath": f"/mnt/{k}"} for k in range(6)],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 5},
    }
    volumes = [{"name": f"volume-{k}", "configMap": {"name": f"config-{k}"}} for k in range(6)]
    clique = Clique.of("worker", {"containers": [container], "volumes": volumes}, replicas=4)
    spec = PodCliqueSetSpec(replicas=1, template=PodCliqueSetTemplate(cliques=[clique]))
    return SetLayout(PodCliqueSet(metadata=ObjectMeta(name="llama", namespace="default", uid="u"), spec=spec))


def main() -> None:
    layout = example()
    clique = standalone_clique(layout, layout.standalone[0], 0)
    [members] = gang_members(layout, 0, {})
    gang = pod_gang(layout, members, GangScheduling("default-scheduler", "default"))
    drafts = GroupDrafts(PodDraft(scheduler_name="default-scheduler", gate="example.com/gang"))

    def builder() -> PodBuilder:
        return PodBuilder(layout, clique, gang, drafts, init_image="grove-initc:1", gates=frozenset())

    pods_of_clique, name = builder(), "llama-0-worker-bcdfg"
    body = pods_of_clique.body(0, name)
    pod = msgspec.json.decode(body)
    pods = cpu_per_object(
        {
            "a pod": lambda: [pods_of_clique.body(i, name) for i in range(PODS)],
            "orjson from a dict": lambda: [orjson.dumps(pod) for _ in range(PODS)],
        },
        PODS,
    )
    report(f"{PODS} pods of {len(body)} bytes", pods)
    builders = cpu_per_object({"a builder": lambda: [builder() for _ in range(BUILDERS)]}, BUILDERS)
    report(f"{BUILDERS} builders, one for each clique", builders)
    serialising = pods["orjson from a dict"]
    finish(
        [
            Budget("a pod / orjson from a dict", pods["a pod"] / serialising, 3),
            Budget("a builder / orjson from a dict", builders["a builder"] / serialising, 15),
        ]
    )


if __name__ == "__main__":
    main()
