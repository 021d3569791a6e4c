"""Grove's own custom kinds on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from grove_testbed.cluster import Cluster

pytestmark = pytest.mark.real


@pytest.fixture(scope="session")
def definitions() -> str:
    """What ``grove crds`` prints."""
    command = [str(Path(sys.executable).with_name("grove")), "crds"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_definition_is_accepted_whole_and_established(cluster: Cluster, definitions: str) -> None:
    cluster.kubectl("apply", "--validate=strict", "-f", "-", stdin=definitions)
    names = [f"crd/{document['metadata']['name']}" for document in yaml.safe_load_all(definitions)]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    for name in names:
        conditions = json.loads(cluster.kubectl("get", name, "-o=json"))["status"]["conditions"]
        assert {c["type"]: c["status"] for c in conditions} == {
            "NamesAccepted": "True",
            "Established": "True",
        }
