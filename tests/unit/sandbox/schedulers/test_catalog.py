"""The catalog: every scheduler with its name and CRDs."""

import pytest
from grove_sandbox.schedulers.catalog import CATALOG

from grove.schema import check_schema


@pytest.mark.parametrize("name", CATALOG)
def test_every_kind_that_is_read_and_not_native_is_defined(name: str) -> None:
    entry = CATALOG[name]
    defined = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"])
        for crd in entry.definitions()
        for version in crd["spec"]["versions"]
    }
    read = {(r.group, r.version, r.plural) for r in entry.make().reads if r.group != "scheduling.k8s.io"}
    assert read <= defined


@pytest.mark.parametrize("name", CATALOG)
def test_every_definition_is_structural(name: str) -> None:
    for crd in CATALOG[name].definitions():
        for version in crd["spec"]["versions"]:
            assert check_schema(version["schema"]["openAPIV3Schema"]) == []


def test_each_scheduler_answers_to_its_own_name() -> None:
    names = {name: entry.make().scheduler_name for name, entry in CATALOG.items()}
    assert names["kai"] == "kai-scheduler"
    assert names["koordinator"] == "koord-scheduler"
    assert names["volcano"] == "volcano"
    assert names["yunikorn"] == "yunikorn"
    assert {names[name] for name in names if name.startswith("kube")} == {"default-scheduler"}
