"""`grove explain`: terminal output, formats, exit codes."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.cluster import CRDS, EmbeddedCluster
from grove_sandbox.commands.sandbox import write_kubeconfig
from grove_sandbox.http import serve
from rich.console import Console

from grove.api.reasons import RunReason
from grove.api.serialization.crds import all_crds
from grove.cli.explain.terminal import MAX_CLIQUE_ROWS, renderable
from grove.plan.explain import CliqueCounts, Explanation, Finding, Quote
from grove.runtime.client.transport import Request
from tests.unit.api.sets import pcs_json

GROVE = Path(sys.executable).with_name("grove")
SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"


def answer(*findings: Finding, cliques: tuple[CliqueCounts, ...] = ()) -> Explanation:
    first = findings[0]
    return Explanation(
        kind="PodCliqueSet",
        namespace="default",
        name="train",
        state="Running" if first.reason.fine else "NotRunning",
        reason=first.reason,
        about=first.about,
        message=first.message,
        pods=first.pods,
        meaning=first.reason.meaning,
        step=first.reason.step,
        next=first.reason.actor,
        remedy=first.reason.remedy,
        said=first.said,
        backend="default",
        scheduler="default-scheduler",
        chosen_by="default: its pods name no scheduler",
        dialect="PodGroupV1beta1",
        findings=findings,
        cliques=cliques,
    )


def row(name: str, reason: RunReason = RunReason.RUNNING) -> CliqueCounts:
    ready = 4 if reason.fine else 0
    return CliqueCounts(name, "train-0", 4, 3, 4, 1, ready, ready, reason)


def drawn(found: Explanation, width: int = 80, *, terminal: bool = False) -> str:
    console = Console(
        width=width, force_terminal=terminal, highlight=False, color_system="standard" if terminal else None
    )
    with console.capture() as text:
        console.print(renderable(found))
    return text.get()


UNSCHEDULABLE = Finding(
    RunReason.UNSCHEDULABLE,
    "PodGang/train-0",
    "train-0-worker-a has no node",
    (Quote("sched", "no room"),),
    8,
)


def test_an_answer_shows_cause_step_actor_remedy_and_counts() -> None:
    text = drawn(answer(UNSCHEDULABLE, cliques=(row("train-0-worker", RunReason.UNSCHEDULABLE),)), width=100)
    for line in (
        r"^PodCliqueSet default/train does not run: Unschedulable",
        r"what +PodGang/train-0: 8 pods, e\.g\. train-0-worker-a has no node",
        r"said +sched: no room",
        r"step .* gates > \[scheduled\] > started",
        r"next +the scheduler",
        r"do +Free resources",
        r"more +docs/troubleshooting\.md#unschedulable",
        r"backend +default, scheduler default-scheduler",
        r"train-0-worker +4 +3 +4 +1 +0 +0 +Unschedulable",
    ):
        assert re.search(line, text, re.MULTILINE), (line, text)


def test_a_running_set_has_no_remedy() -> None:
    text = drawn(
        answer(Finding(RunReason.RUNNING, "PodCliqueSet/train", "4 pods ready"), cliques=(row("a"),))
    )
    assert "default/train runs: Running" in text
    assert not re.search(r"^ +(do|next|step) ", text, re.MULTILINE)


def test_other_reasons_are_listed_once_each() -> None:
    waiting = [Finding(RunReason.WAITING_FOR_BASE_GANG, f"PodGang/train-0-g-{n}", "waits") for n in range(3)]
    note = Finding(RunReason.WEAKER_THAN_ASKED, "PodGang/train-0", "less")
    text = drawn(answer(UNSCHEDULABLE, *waiting, note))
    assert "also  WaitingForBaseGang PodGang/train-0-g-0: waits (and 2 more)" in text
    assert "note  WeakerThanAsked PodGang/train-0: less" in text
    assert text.count("WaitingForBaseGang") == 1


def test_a_large_set_lists_the_cliques_that_do_not_run_first() -> None:
    rows = (*(row(f"train-{n}-worker") for n in range(50)), row("train-50-worker", RunReason.NOT_READY))
    text = drawn(answer(UNSCHEDULABLE, cliques=rows))
    assert "train-50-worker" in text
    assert f"and {51 - MAX_CLIQUE_ROWS} more" in text


def test_a_terminal_gets_colours_and_no_line_too_long() -> None:
    long = Finding(RunReason.INVALID_SET, "PodCliqueSet/train", "wrong " * 100)
    text = drawn(answer(long, cliques=(row("train-0-" + "x" * 60),)), terminal=True)
    assert "\x1b[1;31m" in text
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in text.splitlines()) <= 80


@dataclass
class Shell:
    """A cluster behind HTTP, with Grove's kinds, a set and no operator."""

    kubeconfig: Path
    server: ApiServer

    async def explain(self, *args: str) -> tuple[int, str, str]:
        child = await asyncio.create_subprocess_exec(
            GROVE,
            "explain",
            *args,
            "--kubeconfig",
            str(self.kubeconfig),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await child.communicate()
        return child.returncode or 0, out.decode(), err.decode()


@asynccontextmanager
async def shell(folder: Path) -> AsyncIterator[Shell]:
    async with EmbeddedCluster(nodes=0) as cluster, serve(cluster.server) as url:
        for crd in all_crds():
            await cluster.create(CRDS, crd)
        await cluster.create(SETS, pcs_json())
        write_kubeconfig(folder / "kubeconfig", url)
        yield Shell(folder / "kubeconfig", cluster.server)


async def test_the_answer_is_also_the_exit_code_and_data(tmp_path: Path) -> None:
    async with shell(tmp_path) as grove:
        code, out, err = await grove.explain("train", "-o", "json")
        found = json.loads(out)
        assert (code, err) == (1, "")
        assert (found["reason"], found["next"], found["step"]) == ("NotSeenYet", "Grove", "validated")
        assert found["cliques"][0]["reason"] == "WaitingForParts"
        code, out, _ = await grove.explain("pcs/train", "--output", "yaml")
        assert yaml.safe_load(out) == found
        code, out, _ = await grove.explain("train")
        assert out.startswith("PodCliqueSet default/train does not run: NotSeenYet\n")
        assert "\x1b" not in out
        patch = b'{"spec":{"replicas":0},"status":{"observedGeneration":2}}'
        for path in (f"{SETS}/train", f"{SETS}/train/status"):
            headers = {"content-type": "application/merge-patch+json"}
            assert (await grove.server.send(Request("PATCH", path, {}, headers, patch))).status == 200
        assert (await grove.explain("train"))[0] == 0


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("nothing",), 1, "there is no set, gang, scaling group, clique or pod 'nothing'"),
        (("train", "-n", "elsewhere"), 1, "in the namespace elsewhere"),
        (("deploy/train",), 2, "there is no kind 'deploy' to explain"),
        (("train", "--context", "nope"), 2, "nope"),
    ],
)
async def test_an_explain_that_fails_says_why(
    tmp_path: Path, args: tuple[str, ...], code: int, says: str
) -> None:
    async with shell(tmp_path) as grove:
        found = await grove.explain(*args)
        assert (found[0], found[1]) == (code, "")
        assert says in found[2]
        assert "Traceback" not in found[2]


async def test_a_cluster_that_does_not_answer_is_no_bug_of_grove(tmp_path: Path) -> None:
    async with shell(tmp_path) as grove:
        pass
    code, _, err = await grove.explain("train")
    assert (code, "Traceback" in err) == (1, False)
    assert "is the right cluster and is running" in err
