"""Making the bodies of pods: by splicing the index into a template, beside serialising each pod from a dict."""

import msgspec
import orjson

from benchmarks.measure import Budget, cpu_per_object, finish, report
from grove.api import Clique, ObjectMeta, PodCliqueSet, PodCliqueSetSpec, PodCliqueSetTemplate
from grove.plan.gangs.membership import GangSettings, gangs_of_replica
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import standalone_clique
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.objects.pods import PodTemplate

PODS = 20_000
TEMPLATES = 500


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
    [gang] = gangs_of_replica(layout, 0, {}, GangSettings("default-scheduler", "default"))
    draft = PodDraft(scheduler_name="default-scheduler", gate="example.com/gang")

    def template() -> PodTemplate:
        return PodTemplate(layout, clique, gang, draft, init_image="grove-initc:1")

    made = template()
    pod = msgspec.json.decode(made.body(0))
    pods = cpu_per_object(
        {
            "spliced": lambda: [made.body(i) for i in range(PODS)],
            "orjson from a dict": lambda: [orjson.dumps(pod) for _ in range(PODS)],
        },
        PODS,
    )
    report(f"{PODS} pods of {len(made.body(0))} bytes", pods)
    templates = cpu_per_object({"a template": lambda: [template() for _ in range(TEMPLATES)]}, TEMPLATES)
    report(f"{TEMPLATES} templates, one for each clique", templates)
    finish(
        [
            Budget("spliced / orjson from a dict", pods["spliced"] / pods["orjson from a dict"], 0.5),
            Budget(
                "a template / orjson from a dict", templates["a template"] / pods["orjson from a dict"], 15
            ),
        ]
    )


if __name__ == "__main__":
    main()
