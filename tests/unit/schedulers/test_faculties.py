"""What a backend can do is a matter of its class, so that the framework asks once per class."""

from typing import Any

import pytest

from grove.schedulers import backend as contract
from grove.schedulers.backend import Backend, faculty
from grove.schedulers.registry import installed

PROTOCOLS = [
    p
    for p in vars(contract).values()
    if getattr(p, "_is_runtime_protocol", False) and p.__module__ == contract.__name__
]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "koordinator": [{"networkTopology": t} for t in ("managed", "existing", "off")],
}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("name", installed())
def test_a_faculty_does_not_depend_on_settings(name: str, protocol: Any) -> None:
    backends: list[Backend] = [installed()[name](s) for s in ({}, *SETTINGS.get(name, []))]
    assert {isinstance(b, protocol) for b in backends} == {faculty(backends[0], protocol) is not None}
