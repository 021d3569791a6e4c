"""An existing PodClique or scaling group keeps the size that users and autoscalers gave it."""

import pytest

from grove.plan.objects.cliques import as_scaled, as_scaled_group
from tests.unit.api.sets import clique
from tests.unit.plan.samples import alone, group, layout


def test_a_new_clique_has_the_size_of_its_template() -> None:
    found = layout(clique("w", replicas=3, minAvailable=2))
    wanted = as_scaled(found, found.cliques["w"], alone(found, "w"), None)
    assert (wanted.spec.replicas, wanted.spec.min_available) == (3, 2)


@pytest.mark.parametrize(
    ("of_template", "of_existing", "minimum"),
    [(None, 5, 5), (None, None, 3), (2, 5, 2)],
    ids=["the minimum it was created with", "without a minimum", "the minimum that the user set"],
)
def test_an_existing_clique_keeps_its_replicas_and_a_minimum_that_the_user_left_open(
    of_template: int | None, of_existing: int | None, minimum: int
) -> None:
    own = {} if of_template is None else {"minAvailable": of_template}
    found = layout(clique("w", replicas=3, **own))
    existing = alone(found, "w")
    existing.spec.replicas, existing.spec.min_available = 5, of_existing
    wanted = alone(found, "w")
    scaled = as_scaled(found, found.cliques["w"], wanted, existing)
    assert (scaled.spec.replicas, scaled.spec.min_available) == (5, minimum)
    assert wanted == alone(found, "w")


def test_an_existing_scaling_group_keeps_its_copies() -> None:
    groups = [{"name": "g", "cliqueNames": ["w"], "replicas": 2, "minAvailable": 1}]
    found = layout(clique("w"), clique("v"), podCliqueScalingGroups=groups)
    existing = group(found, "g")
    existing.spec.replicas = 7
    assert as_scaled_group(group(found, "g"), existing).spec.replicas == 7
    assert as_scaled_group(group(found, "g"), None).spec.replicas == 2
