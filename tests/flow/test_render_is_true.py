"""What `grove render` prints is what the operator creates."""

from collections.abc import Callable
from typing import Any

import pytest

from grove.api import labels
from grove.api.config import OperatorConfiguration
from grove.cli.render.offline import Offline
from grove.plan.difference import difference
from grove.plan.render import Sizes
from tests.flow.operating import GroveCluster, Json, example, running

pytestmark = pytest.mark.looptime


def in_part(manifest: Json) -> Json:
    """With pods beyond the minimum."""
    manifest["spec"]["template"]["cliques"][0]["spec"] |= {"replicas": 5, "minAvailable": 3}
    return manifest


@pytest.mark.parametrize(
    "manifest",
    [lambda: example("disaggregated"), lambda: in_part(example("simple"))],
    ids=["groups", "surplus"],
)
async def test_rendered_objects_are_those_in_the_cluster(manifest: Callable[[], Json]) -> None:
    shown = Offline([manifest()], OperatorConfiguration()).render(Sizes())
    async with running(dialect="1.37") as grove:
        await grove.apply(manifest())
        await grove.settle()
        made = {_identity(o): o for o in await _everything(grove, shown)}
    assert made.keys() == {_identity(o) for o in shown}
    for obj in shown:
        assert difference(_comparable(made[_identity(obj)]), _comparable(obj)) is None, _identity(obj)


async def _everything(grove: GroveCluster, shown: list[Json]) -> list[Json]:
    """All objects of a set of the kinds that were shown."""
    found: list[Json] = []
    for version, kind in sorted({(o["apiVersion"], o["kind"]) for o in shown}):
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        answer = await grove.call("GET", f"{path}/namespaces/default/{kind.lower()}s")
        head = {"apiVersion": version, "kind": kind}
        found += [head | o for o in answer["items"] if o["metadata"].get("ownerReferences")]
    return found


def _identity(obj: Json) -> tuple[str, ...]:
    """Pods have a name of which only a cluster knows the end."""
    tags = obj["metadata"].get("labels", {})
    if obj["kind"] == "Pod":
        return ("Pod", tags[labels.POD_CLIQUE], tags[labels.POD_INDEX])
    return (obj["kind"], obj["metadata"]["name"])


def _comparable(obj: Json) -> Json:
    """Without what only a cluster knows, and without gates, which are open by now."""
    found: Json = {k: v for k, v in obj.items() if k != "status"}
    found["metadata"] = {
        k: v for k, v in obj["metadata"].items() if k in ("namespace", "labels", "annotations")
    }
    spec: dict[str, Any] = dict(found.get("spec", {}))
    spec.pop("schedulingGates", None)
    if obj["kind"] == "PodGang":
        spec["podgroups"] = [g | {"podReferences": len(g["podReferences"])} for g in spec["podgroups"]]
    return found | ({"spec": spec} if spec else {})
