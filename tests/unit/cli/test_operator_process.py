"""`grove operator` as a process: it starts, reloads a changed configuration, and exits on a signal."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from grove.operator.process import new_identity

GROVE = Path(sys.executable).with_name("grove")
METRICS = Path(__file__).parents[3] / "docs" / "metrics.md"
PROBES_OFF = "server: {healthProbes: {enable: false}}\n"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of an embedded cluster in a process of its own."""
    path = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    command = [str(GROVE), "sandbox", "up", "--nodes", "0", "--kubeconfig", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        while "Ctrl-C" not in cluster.stdout.readline():
            assert cluster.poll() is None
        yield path
        cluster.terminate()


def said(log: IO[str], event: str) -> dict[str, Any]:
    """Reads the log until it says this; the test's timeout is the limit."""
    for line in log:
        if line.startswith("{") and event in (entry := json.loads(line))["event"]:
            found: dict[str, Any] = entry
            return found
    raise AssertionError(f"the process ended without saying {event!r}")


def test_a_changed_configuration_is_reloaded_and_an_invalid_one_is_ignored(
    kubeconfig: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(PROBES_OFF)
    command = [str(GROVE), "operator", "--config", str(config), "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as operator:
        assert operator.stderr is not None
        said(operator.stderr, "the cluster serves")
        config.write_text(PROBES_OFF + "scheduler: {profiles: [{name: nobody-knows-it}]}\n")
        operator.send_signal(signal.SIGHUP)
        assert "nobody-knows-it" in said(operator.stderr, "is ignored")["error"]
        config.write_text(PROBES_OFF + "scheduler: {profiles: [{name: default-scheduler}]}\n")
        operator.send_signal(signal.SIGHUP)
        said(operator.stderr, "the configuration changed")
        said(operator.stderr, "the cluster serves")
        operator.send_signal(signal.SIGTERM)
        operator.stderr.read()
        assert operator.wait() == 0


def test_metrics_are_served_and_documented(kubeconfig: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "config.yaml"
    config.write_text(f"server: {{healthProbes: {{bindAddress: 127.0.0.1, port: {port}}}}}\n")
    command = [str(GROVE), "operator", "--config", str(config), "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as operator:
        assert operator.stderr is not None
        said(operator.stderr, "the cluster serves")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        operator.send_signal(signal.SIGTERM)
        operator.stderr.read()
    counted = set(re.findall(r"^# HELP (\S+)", text, re.MULTILINE))
    documented = set(re.findall(r"^\| `(\w+)` \|", METRICS.read_text(encoding="utf-8"), re.MULTILINE))
    assert {c for c in counted if not c.endswith("_created")} == documented
    assert {"grove_backend_selections_total", "grove_gangs"} <= counted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["operator", "--kubeconfig", "/does/not/exist"], "/does/not/exist"),
        (["operator", "--config", "/does/not/exist"], "/does/not/exist: No such file"),
        (["backend", "--only", "nobody"], "there is no enabled backend 'nobody'"),
    ],
)
def test_an_operator_that_cannot_start_says_why(
    arguments: list[str], says: str, kubeconfig: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(PROBES_OFF)
    defaults = {"--config": str(config), "--kubeconfig": str(kubeconfig)}
    given = [*arguments, *(word for k, v in defaults.items() if k not in arguments for word in (k, v))]
    found = subprocess.run([GROVE, *given], capture_output=True, text=True, check=False, timeout=60)
    assert (found.returncode, says in found.stderr, "Traceback" in found.stderr) == (2, True, False), (
        found.stderr
    )


def test_an_address_in_use_is_reported(kubeconfig: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config.write_text(f"server: {{healthProbes: {{bindAddress: 127.0.0.1, port: {port}}}}}\n")
        command = [str(GROVE), "operator", "--config", str(config), "--kubeconfig", str(kubeconfig)]
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 2
    assert f"127.0.0.1:{port}" in found.stderr
    assert "server.healthProbes" in found.stderr


def test_two_processes_with_one_hostname_and_process_id_have_different_identities() -> None:
    assert new_identity() != new_identity()
