"""TLS as a connection sees it: against OpenSSL as a server, without a socket in between."""

import asyncio
import gc
import ssl
from contextlib import suppress
from typing import Any

import pytest
import trustme

from grove.runtime.client.tls import Tls
from tests.unit.runtime.servers import server_tls

AUTHORITY = trustme.CA()


class Plain(asyncio.Protocol):
    """What a connection is told."""

    def __init__(self) -> None:
        self.transport: asyncio.BaseTransport | None = None
        self.came: list[bytes] = []
        self.ended = False
        self.lost: list[Exception | None] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.came.append(data)

    def eof_received(self) -> None:
        self.ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class Wire(asyncio.Transport):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = self.aborted = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed or self.aborted


class Pair:
    """A client and a server, and the wire between them."""

    def __init__(self, trusted: trustme.CA = AUTHORITY, name: str = "127.0.0.1") -> None:
        context = ssl.create_default_context(cadata=trusted.cert_pem.bytes().decode())
        self.plain, self.wire = Plain(), Wire()
        self.client = Tls(context, name, self.plain)
        self._to_server, self._to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.refusal = ""  # as the server is told
        self.server = server_tls(AUTHORITY).wrap_bio(self._to_server, self._to_client, server_side=True)

    def connect(self) -> None:
        self.client.connection_made(self.wire)
        for _ in range(3):
            self._to_server.write(self.wire.sent)
            self.wire.sent = b""
            try:
                self.server.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as e:
                self.refusal = self.refusal or str(e)
            self.deliver(self.sent_by_server())

    def deliver(self, data: bytes, at_once: int = 10_000) -> None:
        """To the client, as the loop would."""
        while data:
            piece, data = data[:at_once], data[at_once:]
            self.client.get_buffer(-1)[: len(piece)] = piece
            self.client.buffer_updated(len(piece))

    def say(self, *messages: bytes) -> bytes:
        """What the server puts on the wire for it."""
        for message in messages:
            self.server.write(message)
        return self.sent_by_server()

    def sent_by_server(self) -> bytes:
        return self._to_client.read()

    def heard(self) -> bytes:
        """By the server."""
        self._to_server.write(self.wire.sent)
        self.wire.sent = b""
        found = b""
        with suppress(ssl.SSLWantReadError):
            while piece := self.server.read(100_000):
                found += piece
        return found


async def connected() -> Pair:
    pair = Pair()
    pair.connect()
    await pair.client.ready
    return pair


async def test_each_hears_what_the_other_says() -> None:
    pair = await connected()
    assert pair.plain.transport is pair.client
    pair.client.write(b"a question")
    assert pair.heard() == b"a question"
    pair.deliver(pair.say(b"an answer"))
    assert pair.plain.came == [b"an answer"]


async def test_a_message_larger_than_a_record_is_sent_whole() -> None:
    pair, question = await connected(), bytes(range(256)) * 4000
    pair.client.write(question)
    assert pair.heard() == question


async def test_a_message_that_comes_byte_by_byte_is_handed_on_once() -> None:
    pair = await connected()
    pair.deliver(pair.say(b"an answer"), at_once=1)
    assert pair.plain.came == [b"an answer"]


async def test_messages_that_come_together_are_handed_on_together() -> None:
    pair = await connected()
    pair.deliver(pair.say(b"one ", b"two ", b"three"))
    assert pair.plain.came == [b"one two three"]


async def test_a_message_of_many_records_is_not_lost_in_part() -> None:
    pair, answer = await connected(), bytes(range(256)) * 4000
    pair.deliver(b"".join(pair.say(answer[i : i + 9000]) for i in range(0, len(answer), 9000)))
    assert b"".join(pair.plain.came) == answer


async def test_the_goodbye_of_the_server_ends_the_connection_after_what_it_said() -> None:
    pair = await connected()
    said = pair.say(b"the last word")
    with suppress(ssl.SSLWantReadError):
        pair.server.unwrap()
    pair.deliver(said + pair.sent_by_server())
    assert (pair.plain.came, pair.plain.ended, pair.wire.closed) == ([b"the last word"], True, True)


async def test_a_connection_that_ends_without_a_goodbye_broke() -> None:
    """Anybody on the way can end it: an answer that lasts until the end may be cut short."""
    pair = await connected()
    pair.deliver(pair.say(b"all but the last"))
    assert not pair.client.eof_received(), "the socket is closed"
    pair.client.connection_lost(None)
    assert (pair.plain.came, pair.plain.ended, pair.plain.lost) == ([b"all but the last"], False, [None])


async def test_closing_says_goodbye() -> None:
    pair = await connected()
    pair.client.close()
    assert pair.heard() == b""
    assert pair.wire.closed
    pair.server.unwrap()  # raises without a goodbye to answer


async def test_what_is_no_record_ends_the_connection_with_the_reason() -> None:
    pair = await connected()
    pair.deliver(b"this is no TLS at all, and no record of it")
    assert pair.wire.aborted
    pair.client.connection_lost(None)
    (error,) = pair.plain.lost
    assert isinstance(error, ssl.SSLError)
    assert pair.plain.came == []


async def test_a_record_that_was_changed_on_the_way_is_not_handed_on() -> None:
    pair = await connected()
    record = bytearray(pair.say(b"an answer"))
    record[-1] ^= 1
    pair.deliver(bytes(record))
    assert (pair.plain.came, pair.wire.aborted) == ([], True)


@pytest.mark.parametrize(
    ("trusted", "name"), [(trustme.CA(), "127.0.0.1"), (AUTHORITY, "10.0.0.1")], ids=["authority", "name"]
)
async def test_a_server_that_is_not_who_it_should_be_is_refused_and_told_why(
    trusted: trustme.CA, name: str
) -> None:
    pair = Pair(trusted, name)
    pair.connect()
    assert pair.wire.closed
    assert pair.plain.transport is None, "not one byte may be asked of it"
    assert "alert" in pair.refusal.lower()
    pair.client.connection_lost(None)
    with pytest.raises(ssl.SSLCertVerificationError):
        await pair.client.ready


async def test_a_server_that_goes_before_it_has_shown_who_it_is_is_no_connection() -> None:
    pair = Pair()
    pair.client.connection_made(pair.wire)
    pair.client.eof_received()
    pair.client.connection_lost(None)
    with pytest.raises(ConnectionError):
        await pair.client.ready
    assert pair.plain.lost == []


async def test_a_handshake_that_nobody_waits_for_any_more_fails_without_a_complaint() -> None:
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    pair = Pair()
    pair.client.connection_made(pair.wire)
    pair.client.connection_lost(None)
    del pair
    gc.collect()
    assert said == []


async def test_a_connection_that_breaks_is_lost_once() -> None:
    pair = await connected()
    broke = ConnectionResetError("reset by peer")
    pair.client.connection_lost(broke)
    assert pair.plain.lost == [broke]
