"""Quantities are stored in canonical form."""

import pytest
from grove_sandbox.apiserver.errors import StatusError
from grove_sandbox.apiserver.schema.quantities import canonical


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        (1, "1"),
        ("2000", "2k"),
        ("1e3", "1e3"),
        ("0", "0"),
    ],
)
def test_quantities_are_stored_in_their_shortest_form(given: str | int, stored: str) -> None:
    assert canonical(given) == stored


def test_a_malformed_quantity_is_refused() -> None:
    with pytest.raises(StatusError, match="quantities must match"):
        canonical("lots")
