"""`grove` as a process: output and exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

GROVE = Path(sys.executable).with_name("grove")
EXAMPLES = Path(__file__).parents[3] / "examples"
BAD = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: A}\nspec: {template: {cliques: []}}\n"


def grove(*args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GROVE, *args], input=stdin, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )


def test_help_and_version() -> None:
    assert "validate" in grove("--help").stdout
    assert grove("--version").stdout.startswith("grove 0.")
    assert grove().returncode == 2


def test_as_a_kubectl_plugin_it_prints_kubectl_grove_as_its_name() -> None:
    plugin = GROVE.with_name("kubectl-grove")
    assert (
        "Usage: kubectl grove"
        in subprocess.run([plugin, "--help"], capture_output=True, text=True, check=True).stdout
    )


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
sys.argv = ["grove", "--help"]
from grove.cli.main import run
try:
    run()
finally:
    print(*sys.modules)
"""
    loaded = set(run_python(code).stdout.split())
    assert "grove.cli.validate" in loaded
    assert not {"msgspec", "aiohttp", "yaml", "orjson", "asyncio", "cel_expr_python", "cryptography"} & loaded


def test_shell_completion_completes() -> None:
    found = grove(_GROVE_COMPLETE="complete_bash", COMP_WORDS="grove val", COMP_CWORD="1")
    assert found.stdout.strip() == "validate"


def test_crds_are_five_and_can_be_named() -> None:
    documents = list(yaml.safe_load_all(grove("crds").stdout))
    assert [d["spec"]["names"]["kind"] for d in documents] == [
        "PodCliqueSet",
        "PodClique",
        "PodCliqueScalingGroup",
        "ClusterTopologyBinding",
        "PodGang",
    ]
    assert [d["metadata"]["name"] for d in json.loads(grove("crds", "pg", "-o", "json").stdout)] == [
        "podgangs.scheduler.grove.io"
    ]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("crds", "nope"), "the kinds are PodCliqueSet"),
        (("crds", "--output", "table"), "use --output yaml or json"),
        (("validate", "-f", "/does/not/exist"), "/does/not/exist: No such file"),
        (("validate", "-f", "-", "--config", "/does/not/exist"), "/does/not/exist: No such file"),
        (("validate",), "Missing option"),
        (("frobnicate",), "No such command"),
    ],
)
def test_usage_errors_have_a_message_and_no_traceback(args: tuple[str, ...], says: str) -> None:
    found = grove(*args)
    assert (found.returncode, says in found.stderr, "Traceback" in found.stderr) == (2, True, False)


def test_valid_manifests_pass() -> None:
    found = grove("validate", "-f", str(EXAMPLES))
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("ok (")


def test_invalid_manifests_are_listed_like_a_compiler_does() -> None:
    found = grove("validate", "-f", "-", stdin=BAD)
    assert found.returncode == 1
    assert "<stdin>:3: error: metadata.name: " in found.stdout
    assert "    help: rename it" in found.stdout
    assert found.stdout.endswith("2 errors, 0 warnings (1 object checked)\n")


def test_findings_are_data_for_scripts() -> None:
    found = grove("validate", "-f", "-", "--output", "json", stdin=BAD)
    report = json.loads(found.stdout)
    assert (found.returncode, report["valid"], report["errors"]) == (1, False, 2)
    assert [f["line"] for f in report["findings"]] == [3, 4]
    assert yaml.safe_load(grove("validate", "-f", "-", "-o", "yaml", stdin=BAD).stdout) == report


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "tabs.json").write_text('{\n\t"apiVersion": "v1",\n\t"kind": "Pod"\n}')
    found = grove("validate", "-f", str(tmp_path))
    assert found.returncode == 2
    assert "bad.yaml:3" in found.stdout
    assert "1 of other kinds skipped" in found.stdout
    assert "binary.yaml: this is not UTF-8 text" in found.stderr


def test_the_operators_configuration_decides_what_is_enabled(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("scheduler: {profiles: [{name: volcano}], defaultProfileName: volcano}")
    topology = str(EXAMPLES / "topology.yaml")
    assert grove("validate", "-f", topology).returncode == 0
    found = grove("validate", "-f", topology, "--config", str(config))
    assert "topology-aware scheduling is disabled" in found.stdout
    config.write_text("schedulr: {}")
    found = grove("validate", "-f", topology, "--config", str(config))
    assert (found.returncode, "schedulr: there is no field" in found.stderr) == (2, True)


def test_a_closed_pipe_is_no_error() -> None:
    found = subprocess.run(f"{GROVE} crds | head -1", shell=True, capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("apiVersion: apiextensions.k8s.io/v1\n", "")


def test_a_bug_is_reported_as_one_without_a_traceback() -> None:
    code = """
import sys
sys.argv = ["grove", "crds"]
import grove.api.serialization.crds
grove.api.serialization.crds.KINDS = None
from grove.cli.main import run
run()
"""
    found = run_python(code)
    said = "this is a bug in Grove" in found.stderr
    assert (found.returncode, said, "Traceback" in found.stderr) == (70, True, False)
