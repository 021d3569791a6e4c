"""Quantities mean, and are printed as, what Kubernetes' `resource.Quantity` (apimachinery 0.37.1) makes of them."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grove.schema.quantity import Quantity, QuantityFormat, parse_quantity

NANO = Fraction(1, 10**9)

# Text, amount, canonical form; recorded from Go.
READ = [
    ("0", 0, "0"),
    ("-0", 0, "0"),
    ("0Ki", 0, "0"),
    ("100m", Fraction(1, 10), "100m"),
    ("1.5", Fraction(3, 2), "1500m"),
    ("1.0", 1, "1"),
    ("0.5", Fraction(1, 2), "500m"),
    (".5", Fraction(1, 2), "500m"),
    ("+.5", Fraction(1, 2), "500m"),
    ("1000m", 1, "1"),
    ("2000", 2000, "2k"),
    ("1024", 1024, "1024"),
    ("-1k", -1000, "-1k"),
    ("5E", 5 * 10**18, "5E"),
    ("9223372036854775808", 2**63, "9223372036854775808"),
    ("1234567890123456789012", 1234567890123456789012, "1234567890123456789012"),
    # exponents
    ("1e3", 1000, "1e3"),
    ("12e1", 120, "120"),
    ("100e-2", 1, "1"),
    ("1E-2", Fraction(1, 100), "10e-3"),
    ("1e21", 10**21, "1e21"),
    ("1e31", 10**31, "10e30"),
    ("1e400", 10**400, "10e399"),
    # rounding, away from zero
    ("1e-9", NANO, "1e-9"),
    ("1e-10", NANO, "1e-9"),
    ("1e-31", NANO, "1e-9"),
    ("1.5n", 2 * NANO, "2n"),
    ("-1.5n", -2 * NANO, "-2n"),
    ("0.0000000001Ki", 103 * NANO, "103n"),
    # powers of two
    ("16Gi", 16 * 2**30, "16Gi"),
    ("1024Ki", 2**20, "1Mi"),
    ("1.5Gi", 3 * 2**29, "1536Mi"),
    ("1000Ki", 1024000, "1000Ki"),
    ("0.5Ki", 512, "512"),
    ("-1.5Ki", -1536, "-1536"),
    ("1.1Ki", Fraction(11264, 10), "1126400m"),
    ("8Ei", 2**63 - 1, "9223372036854775807"),
    ("-8Ei", 1 - 2**63, "-9223372036854775807"),
]

REFUSED = ["", "1mm", "1 Gi", "1gi", "1Zi", "1iK", "0x1", "1_000", "NaN", "inf", "1e", "1e+", "1e3.5"]
REFUSED += ["1..2", "1.2.3", "--1", "+-1", "١", "٣", "1٣", "1e٣", "½", "1\n2"]


@pytest.mark.parametrize(("text", "amount", "canonical"), READ)
def test_a_quantity_is_read_exactly_and_printed_as_kubernetes_prints_it(
    text: str, amount: Fraction | int, canonical: str
) -> None:
    assert Quantity(text).amount == amount
    assert Quantity(text).canonical() == canonical


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_kubernetes_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


@pytest.mark.parametrize("text", ["m", "k", "+", ".", "e3", "1e1000", "1e-1000", "1e3000000000"])
def test_a_text_without_digits_or_with_a_huge_exponent_is_refused_though_kubernetes_accepts_it(
    text: str,
) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


@pytest.mark.parametrize(
    ("text", "canonical"), [("+5", "5"), ("007", "7"), ("1E3", "1e3"), ("1.G", "1G"), ("1000E", "1e21")]
)
def test_the_canonical_form_is_normalized_where_kubernetes_keeps_the_spelling_or_loses_the_exponent(
    text: str, canonical: str
) -> None:
    assert Quantity(text).canonical() == canonical


@pytest.mark.parametrize(
    ("number", "amount"), [(3, 3), (0.25, Fraction(1, 4)), (1e22, 10**22), (1e-7, 100 * NANO)]
)
def test_a_json_number_is_a_quantity(number: float, amount: Fraction | int) -> None:
    assert Quantity(number).amount == amount


def test_space_around_a_json_text_is_ignored_and_kept() -> None:
    assert Quantity(" 1Gi\n") == Quantity("1Gi")
    assert Quantity(" 1Gi\n").written == " 1Gi\n"
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(" 1Gi")


def test_quantities_compare_and_add_by_amount() -> None:
    assert Quantity("1000m") == Quantity(1)
    assert Quantity("1Gi") > Quantity("1G")
    assert str(Quantity("500m") + Quantity("1.5")) == "2"
    assert str(Quantity("1500m") + Quantity("0")) == "1500m"
    assert str(Quantity("512Mi") + Quantity("512Mi")) == "1Gi"
    assert str(Quantity("1500m") * 3) == "4500m"
    assert len({Quantity("1"), Quantity("1000m")}) == 1


def test_a_sum_has_the_format_of_its_first_term_unless_that_is_zero() -> None:
    assert str(Quantity("1Ki") + Quantity("1k")) == "2024"
    assert str(Quantity("3Ki") + Quantity("1024")) == "4Ki"
    assert str(Quantity("1024") + Quantity("3Ki")) == "4096"
    assert str(Quantity("0") + Quantity("4Ki")) == "4Ki"


def test_a_sum_of_quantities_is_rounded_up_to_a_billionth() -> None:
    assert str(Quantity("1n") + Quantity("0.1n")) == "2n"


digits = st.text("0123456789", min_size=1, max_size=25)
numbers = digits | st.tuples(digits, digits).map(".".join)
suffixes = st.sampled_from(
    [*"numkMGTPE", "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e+31", "e-31"]
)
quantities = st.tuples(st.sampled_from(["", "+", "-"]), numbers, suffixes).map("".join)


@given(quantities)
@example("1e31")
@example("1e-31")
def test_the_canonical_form_is_the_same_amount_and_its_own_canonical_form(text: str) -> None:
    canonical = Quantity(text).canonical()
    assert Quantity(canonical) == Quantity(text)
    assert Quantity(canonical).canonical() == canonical
    assert not canonical.startswith("+")
    assert "." not in canonical


@given(st.integers(), st.sampled_from(QuantityFormat))
def test_an_amount_in_billionths_survives_being_written(nanos: int, written_as: QuantityFormat) -> None:
    assert Quantity.of(nanos * NANO, written_as).amount == nanos * NANO
