"""Each replica of a set has one headless Service, which selects exactly its pods."""

import pytest

from grove.plan.objects.services import headless_service
from tests.unit.api.sets import clique
from tests.unit.plan.samples import alone, layout, pod


def test_a_service_selects_the_pods_of_its_replica() -> None:
    found = layout(clique("w"))
    selector = headless_service(found, 3)["spec"]["selector"]
    assert selector.items() <= pod(found, alone(found, "w", i=3))["metadata"]["labels"].items()
    assert not selector.items() <= pod(found, alone(found, "w", i=2))["metadata"]["labels"].items()


def test_a_service_has_the_name_in_the_environment_of_the_pods() -> None:
    found = layout(clique("w"))
    spec = pod(found, alone(found, "w", i=3))["spec"]
    service = headless_service(found, 3)
    assert service["metadata"]["name"] == spec["subdomain"] == "train-3"
    address = {v["name"]: v.get("value") for v in spec["containers"][0]["env"]}["GROVE_HEADLESS_SERVICE"]
    assert address == "train-3.default.svc.cluster.local"


@pytest.mark.parametrize("wanted", [True, False])
def test_pods_have_addresses_before_they_are_ready_if_the_user_wants(wanted: bool) -> None:
    found = layout(clique("w"), headlessServiceConfig={"publishNotReadyAddresses": wanted})
    assert headless_service(found, 0)["spec"]["publishNotReadyAddresses"] is wanted
    assert headless_service(layout(clique("w")), 0)["spec"]["publishNotReadyAddresses"] is True
