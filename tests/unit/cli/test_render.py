"""`grove render` prints what the operator would create, or says why it cannot."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from grove.api.podgang import PodGang, PodGroup
from grove.cli.main import app
from grove.cli.output import CommandError
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers import registry
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, Refusal, SchedulerObject, Served
from tests.unit.api.sets import clique, pcs_json
from tests.unit.plan.samples import DEVICE, share

Json = dict[str, Any]

EXAMPLES = Path(__file__).parents[3] / "examples"
POD_GROUP = ObjectKind("example.com", "v1", "podgroups", "PodGroup")


class Example(Backend):
    """A backend with one object per gang."""

    name = "example"
    scheduler_name = "default-scheduler"
    gate = "example.com/gang"
    kinds = (POD_GROUP,)

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("default-scheduler", "kai-scheduler")

    def translate(self, gang: PodGang, served: Served) -> list[SchedulerObject]:
        assert POD_GROUP in served
        assert served.has(POD_GROUP, "spec.minMember")
        return [SchedulerObject(POD_GROUP, {"metadata": {"name": gang.metadata.name}, "spec": {}})]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        if gang.spec.priority_class_name == "refused":
            raise Refusal("no such priority here", "choose another one")
        pod.annotations["example.com/group"] = f"{gang.metadata.name}/{group.name}"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "installed", lambda: {"example": lambda settings: Example()})


def grove_render(*args: str, given: Json | list[Json] | str = "") -> Result:
    text = given if isinstance(given, str) else "---\n".join(yaml.dump(d) for d in _list(given))
    return CliRunner().invoke(app, ["render", *args, *([] if "-f" in args else ["-f", "-"])], input=text)


def _list(given: Json | list[Json]) -> list[Json]:
    return given if isinstance(given, list) else [given]


def objects(*args: str, given: Json | list[Json] | str = "") -> list[Json]:
    found = grove_render(*args, "-o", "json", given=given)
    assert (found.exit_code, found.exception) == (0, None), found.output
    made: list[Json] = json.loads(found.stdout)
    return made


GROUPED = pcs_json(
    clique("r", replicas=1),
    clique("w", replicas=3),
    podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["w"]}],
)


def test_yaml_and_json_output_are_equal_and_repeatable() -> None:
    text = grove_render(given=GROUPED).stdout
    assert list(yaml.safe_load_all(text)) == objects(given=GROUPED)
    assert grove_render(given=GROUPED).stdout == text


def test_examples_render() -> None:
    assert {"PodClique", "PodGang", "Pod", "Service"} <= {o["kind"] for o in objects("-f", str(EXAMPLES))}


def test_replicas_and_copies_can_be_overridden() -> None:
    count = Counter(o["kind"] for o in objects("--replicas", "2", "--scale", "g=3", given=GROUPED))
    assert (count["PodClique"], count["Pod"], count["PodGang"]) == (8, 20, 6)


def test_the_backend_validates_the_set() -> None:
    found = objects(given=GROUPED)
    (group,) = [o for o in found if o["kind"] == "PodGroup"]
    assert (group["apiVersion"], group["metadata"]["namespace"]) == ("example.com/v1", "default")
    assert group["metadata"]["ownerReferences"][0]["uid"] == "<uid of PodGang/train-0>"
    pods = [o for o in found if o["kind"] == "Pod"]
    assert {p["spec"]["schedulingGates"][0]["name"] for p in pods} == {"example.com/gang"}
    assert pods[0]["metadata"]["annotations"] == {"example.com/group": "train-0/train-0-r"}


def test_an_invalid_set_is_reported_as_validate_does() -> None:
    found = grove_render(given=pcs_json(clique("Bad_Name")))
    assert (found.exit_code, found.stdout) == (1, "")
    assert "error: spec.template.cliques[0].name" in found.stderr


def test_warnings_are_printed_to_standard_error() -> None:
    env = [{"name": "GROVE_PCS_NAME", "value": "x"}]
    container = {"name": "c", "image": "i", "env": env}
    found = grove_render(given=pcs_json(clique("w", podSpec={"containers": [container]})))
    assert found.exit_code == 0
    assert "warning: " in found.stderr
    assert "warning: " not in found.stdout


@pytest.mark.parametrize(
    ("args", "given", "says", "hint"),
    [
        (("--scale", "g"), GROUPED, "this is not GROUP=N", "--scale prefill=3"),
        (("--scale", "h=2"), GROUPED, "there is no such group", "the groups are g"),
        (("-o", "table"), GROUPED, "do not fit into a table", "use --output yaml or json"),
        ((), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n", "there is no PodCliqueSet", "-f"),
        (("-f", "/does/not/exist"), "", "/does/not/exist: No such file", ""),
        ((), pcs_json(clique("w"), priorityClassName="refused"), "no such priority here; choose another", ""),
        (
            (),
            GROUPED | {"metadata": {"name": "t", "annotations": {"grove.io/scheduler-backend": "nope"}}},
            "asks for the backend 'nope'",
            "",
        ),
    ],
)
def test_a_render_that_fails_says_why(args: tuple[str, ...], given: Any, says: str, hint: str) -> None:
    error = grove_render(*args, given=given).exception
    assert isinstance(error, CommandError)
    assert says in str(error)
    assert hint in error.hint


def test_references_to_missing_files_give_a_note_and_others_are_used() -> None:
    given = pcs_json(
        clique("w", topologyConstraint={"topologyName": "racks", "pack": {"required": "rack"}}),
        resourceSharing=[share("t", "AllReplicas")],
    )
    missing = grove_render(given=given)
    assert missing.exit_code == 0
    assert "the ClusterTopologyBinding racks is not among the files" in missing.stderr
    assert "the ResourceClaimTemplate default/t is not among the files" in missing.stderr
    binding = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": "racks"},
        "spec": {"levels": [{"domain": "rack", "key": "example.com/rack"}]},
    }
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": DEVICE},
    }
    found = objects(given=[binding, template, given])
    (gang,) = [o for o in found if o["kind"] == "PodGang"]
    assert gang["spec"]["podgroups"][0]["topologyConstraint"] == {
        "packConstraint": {"required": "example.com/rack"}
    }
    assert [o["spec"] for o in found if o["kind"] == "ResourceClaim"] == [DEVICE]
