"""Requests as values: what goes on the wire for each verb."""

import pytest

from grove.runtime.client import requests
from grove.runtime.client.objects import APIResource
from grove.runtime.client.requests import DeleteOptions, Preconditions
from tests.unit.runtime.scripted import PODS

SETS = APIResource("grove.io", "v1alpha1", "podcliquesets", "PodCliqueSet")
NODES = APIResource("", "v1", "nodes", "Node", namespaced=False)


def test_core_and_group_resources_have_their_own_roots() -> None:
    assert requests.get(PODS, "ns", "a").request.path == "/api/v1/namespaces/ns/pods/a"
    assert (
        requests.get(SETS, "ns", "a").request.path == "/apis/grove.io/v1alpha1/namespaces/ns/podcliquesets/a"
    )
    assert requests.get(NODES, None, "n").request.path == "/api/v1/nodes/n"
    assert requests.list_page(PODS, None).request.path == "/api/v1/pods"


def test_a_subresource_follows_the_name() -> None:
    call = requests.update(SETS, "ns", "a", b"{}", subresource="status")
    assert call.request.path.endswith("/podcliquesets/a/status")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a?b", "a%2fb"])
def test_a_name_that_would_mean_another_path_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a valid name of a Pod"):
        requests.delete(PODS, "ns", name, DeleteOptions())


def test_a_namespaced_object_without_a_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="Pod is namespaced"):
        requests.get(PODS, None, "a")
    with pytest.raises(ValueError, match="Pod is namespaced"):
        requests.delete_collection(PODS, "", DeleteOptions())


def test_a_delete_carries_its_preconditions_and_options() -> None:
    options = DeleteOptions(
        preconditions=Preconditions(uid="u"), propagation_policy="Foreground", grace_period_seconds=0
    )
    assert requests.delete(PODS, "ns", "a", options).request.body == (
        b'{"kind":"DeleteOptions","apiVersion":"v1",'
        b'"preconditions":{"uid":"u"},"propagationPolicy":"Foreground","gracePeriodSeconds":0}'
    )
    assert (
        requests.delete(PODS, "ns", "a", DeleteOptions()).request.body
        == b'{"kind":"DeleteOptions","apiVersion":"v1"}'
    )


def test_only_a_create_with_a_generated_name_must_not_be_retried() -> None:
    assert requests.create(PODS, "ns", b"{}").repeatable
    assert not requests.create(PODS, "ns", b"{}", generate_name=True).repeatable


def test_each_kind_of_patch_has_its_content_type() -> None:
    call = requests.patch(PODS, "ns", "a", b"{}", requests.APPLY_PATCH, field_manager="me", force=True)
    assert call.request.headers == {"content-type": "application/apply-patch+yaml"}
    assert call.request.query == {"fieldManager": "me", "force": "true"}
