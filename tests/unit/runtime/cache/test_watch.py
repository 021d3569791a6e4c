"""Lines out of chunks, events out of lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.runtime.cache.watch import MAX_LINE_BYTES, LineBuffer, WatchEvent, split_event
from grove.runtime.client.errors import TransportError


@given(st.lists(st.binary(min_size=1).filter(lambda b: b"\n" not in b and b == b.strip())), st.data())
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer()
    found: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += buffer.feed(stream[:size])
        stream = stream[size:]
    assert found == lines


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ADDED","object":{"a":"}"}}',
        b'{"type": "ADDED", "object": {"a":"}"} }',
        b'{"object":{"a":"}"},"type":"ADDED"}',
        b'{"type":"ADDED","new":"field","object":{"a":"}"}}',
    ],
)
def test_an_event_is_split_into_type_and_object_however_it_is_written(line: bytes) -> None:
    assert split_event(line) == WatchEvent("ADDED", b'{"a":"}"}')


@pytest.mark.parametrize("line", [b"<html>", b"{}", b'{"type":"ADDED"}', b'{"type":"ADDED","object":{'])
def test_a_line_that_is_not_an_event_is_a_broken_stream(line: bytes) -> None:
    with pytest.raises(TransportError, match="not an event"):
        split_event(line)


def test_a_line_without_end_is_cut_at_the_documented_size() -> None:
    lines = LineBuffer()
    chunk = b"x" * (MAX_LINE_BYTES // 4)
    for _ in range(4):
        assert lines.feed(chunk) == []
    with pytest.raises(TransportError, match=str(MAX_LINE_BYTES)):
        lines.feed(b"x")


def test_the_bound_is_for_each_line_and_not_for_the_stream() -> None:
    lines = LineBuffer()
    line = b"x" * (MAX_LINE_BYTES // 2)
    for _ in range(4):
        assert lines.feed(line + b"\n") == [line]
