"""Durations and times mean what they mean in Kubernetes, and are written back as they were read."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api.scalars import Duration, IntOrString, MicroTime, Time
from grove.api.serialization.codec import decode, encode
from grove.api.serialization.model import Model
from grove.schema.quantity import Quantity


class Everything(Model):
    duration: Duration | None = None
    quantity: Quantity | None = None
    port: IntOrString | None = None
    time: Time | None = None
    micro: MicroTime | None = None


digits = st.integers(0, 10**9).map(str)
numbers = digits | st.tuples(digits, digits).map(".".join)
small = st.integers(0, 9999).map(str)
durations = st.lists(
    st.tuples(
        small | st.tuples(small, digits).map(".".join), st.sampled_from(["ns", "us", "ms", "s", "m", "h"])
    ).map("".join),
    min_size=1,
    max_size=4,
).map("".join)
suffixes = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2"]
quantities = st.tuples(st.sampled_from(["", "+", "-"]), numbers, st.sampled_from(suffixes)).map("".join)
instants = st.datetimes(timezones=st.just(UTC))


@given(
    durations,
    quantities | st.integers(-(2**31), 2**31) | st.floats(0, 100, width=16),
    st.integers() | st.text(),
    instants,
)
def test_scalars_are_written_back_unchanged(
    duration: str, quantity: str | float, port: int | str, when: datetime
) -> None:
    given_json = msgspec.json.encode(
        {
            "duration": duration,
            "quantity": quantity,
            "port": port,
            "time": str(Time.at(when)),
            "micro": str(MicroTime.at(when)),
        }
    )
    if isinstance(port, int) and not -(2**63) <= port < 2**63:
        return
    assert msgspec.json.decode(encode(decode(given_json, Everything))) == msgspec.json.decode(given_json)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("4h0m0s", 4 * 3600 * 10**9),
        ("30m", 1800 * 10**9),
        ("1.5s", 1_500_000_000),
        ("-2ms", -2_000_000),
        ("1h15m30.918s", 4530918 * 10**6),
        ("0", 0),
        ("1us", 1000),
        ("1µs", 1000),
        (".5s", 5 * 10**8),
    ],
)
def test_a_duration_means_what_it_means_in_go(text: str, nanoseconds: int) -> None:
    assert Duration(text).nanoseconds == nanoseconds


@pytest.mark.parametrize(
    "text", ["", "4", "4d", "h", "1h 2m", "1,5s", "s1", "300000h1h9999999h", "4h\n", "٣s"]
)
def test_a_text_that_go_refuses_as_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        Duration(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("30m", "30m0s"),
        ("90m", "1h30m0s"),
        ("1500ms", "1.5s"),
        ("0", "0s"),
        ("1ms", "1ms"),
        ("1500us", "1.5ms"),
        ("-90s", "-1m30s"),
        ("10ns", "10ns"),
    ],
)
def test_the_canonical_form_is_the_one_go_prints(text: str, canonical: str) -> None:
    assert Duration(text).canonical() == canonical


@given(st.integers(-(2**62), 2**62))
def test_a_canonical_duration_is_the_same_time(nanoseconds: int) -> None:
    assert Duration.of(nanoseconds=nanoseconds).nanoseconds == nanoseconds


def test_times_are_written_in_utc() -> None:
    when = datetime(2026, 1, 31, 13, 0, 0, 5, tzinfo=timezone(timedelta(hours=1)))
    assert Time.at(when) == "2026-01-31T12:00:00Z"
    assert MicroTime.at(when) == "2026-01-31T12:00:00.000005Z"
    assert MicroTime.at(when).when() == when


@pytest.mark.parametrize(
    "text", ["", "2026-01-31", "2026-01-31 12:00:00Z", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z"]
)
def test_a_text_that_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Time(text)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        Time.at(datetime(2026, 1, 31))  # noqa: DTZ001
