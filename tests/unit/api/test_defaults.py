"""Defaults of a PodCliqueSet."""

import json

from grove.api import PodCliqueSet
from grove.api.defaults import with_defaults
from tests.unit.api.sets import clique, pcs, pcs_json


def test_defaults_are_those_of_the_reference() -> None:
    given = pcs_json(
        clique(autoScalingConfig={"maxReplicas": 5}),
        podCliqueScalingGroups=[
            {"name": "g", "cliqueNames": ["worker"], "replicas": 3, "scaleConfig": {"maxReplicas": 5}}
        ],
    )
    found = with_defaults(PodCliqueSet.from_json(json.dumps(given))).to_dict()
    template = found["spec"]["template"]
    assert found["metadata"]["namespace"] == "default"
    assert template["terminationDelay"] == "4h0m0s"
    assert template["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    spec = template["cliques"][0]["spec"]
    assert spec["minAvailable"] == 2
    assert spec["autoScalingConfig"] == {"minReplicas": 2, "maxReplicas": 5}
    assert spec["podSpec"]["restartPolicy"] == "Always"
    assert spec["podSpec"]["terminationGracePeriodSeconds"] == 30
    group = template["podCliqueScalingGroups"][0]
    assert (group["minAvailable"], group["scaleConfig"]["minReplicas"]) == (1, 3)


def test_defaults_do_not_override_values() -> None:
    given = pcs(
        clique(
            minAvailable=1,
            podSpec={"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": []},
        ),
        terminationDelay="1h",
        headlessServiceConfig={"publishNotReadyAddresses": False},
    )
    given.metadata.namespace = "other"
    assert with_defaults(given).to_json() == given.to_json()


def test_no_replicas_means_one() -> None:
    spec = with_defaults(pcs(clique(replicas=0))).spec.template.cliques[0].spec
    assert (spec.replicas, spec.min_available) == (1, 1)


def test_the_given_set_is_not_changed() -> None:
    given = pcs()
    before = given.to_json()
    with_defaults(given)
    assert given.to_json() == before


def test_defaults_are_appended_to_a_pod_spec_that_keeps_its_bytes() -> None:
    written = b'{"z":1.50,"containers":[{"name": "c"}]'
    text = json.dumps(pcs_json(clique(podSpec="HERE"))).encode().replace(b'"HERE"', written + b"}")
    found = with_defaults(PodCliqueSet.from_json(text)).to_json()
    assert written + b',"restartPolicy":"Always"' in found
