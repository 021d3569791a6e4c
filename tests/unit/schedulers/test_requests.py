"""The resources that one pod of a template requests."""

from typing import Any

import pytest

from grove.api.serialization import codec
from grove.schedulers.requests import as_quantities, pod_requests, times, total


def container(restart: str = "", limits: Any = None, **requests: str) -> Any:
    return {
        "name": "c",
        "resources": {"requests": requests or None, "limits": limits},
        **({"restartPolicy": restart} if restart else {}),
    }


@pytest.mark.parametrize(
    ("spec", "requested"),
    [
        ({"containers": []}, {}),
        ({"containers": [{"name": "c"}]}, {}),
        ({"containers": [container(cpu="0")]}, {}),
        (
            {"containers": [container(cpu="1", memory="1Ki"), container(cpu="500m")]},
            {"cpu": "1500m", "memory": "1024"},
        ),
        ({"containers": [container(limits={"cpu": 2})]}, {"cpu": "2"}),
        ({"containers": [container(limits={"cpu": 2}, cpu="1")]}, {"cpu": "1"}),
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]}, {"cpu": "3"}),
        (
            {"containers": [container(cpu="1")], "initContainers": [container("Always", cpu="3")]},
            {"cpu": "4"},
        ),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [container("Always", cpu="1"), container(cpu="4")],
            },
            {"cpu": "5"},
        ),
        ({"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}, {"cpu": "1250m"}),
        (
            {"containers": [container(cpu="1", memory="1")], "resources": {"requests": {"cpu": "3"}}},
            {"cpu": "3", "memory": "1"},
        ),
    ],
)
def test_the_requests_of_a_pod(spec: Any, requested: dict[str, str]) -> None:
    assert as_quantities(pod_requests(codec.raw(spec))) == requested


def test_the_requests_of_several_pods_are_summed() -> None:
    one = pod_requests(codec.raw({"containers": [container(cpu="300m")]}))
    assert as_quantities(total([times(3, one), one])) == {"cpu": "1200m"}


@pytest.mark.parametrize("spec", [{"containers": 1}, {"containers": [container(cpu="lots")]}])
def test_an_invalid_pod_spec_raises(spec: Any) -> None:
    with pytest.raises(ValueError):
        pod_requests(codec.raw(spec))
