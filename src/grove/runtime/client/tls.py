"""TLS between a connection and its socket.

asyncio has its own, for every kind of protocol: it takes forty steps, and twice asks for 256 KiB of memory, for each
message that comes. A client of small requests needs a few calls of OpenSSL.
"""

import asyncio
import ssl
from contextlib import suppress
from typing import Any, cast

# As much as one record holds.
RECORD = 16384


class Tls(asyncio.Transport, asyncio.BufferedProtocol):
    """The protocol of a socket, and the transport of `inner`, to which the connection looks like a plain one.

    Await `ready` before it is used: it is done when the server has shown who it is, and raises what is wrong with it.
    """

    def __init__(self, context: ssl.SSLContext, server_name: str, inner: asyncio.Protocol) -> None:
        super().__init__()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inner = inner
        self._buffer = memoryview(bytearray(2 * RECORD))
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self._socket = cast(asyncio.Transport, None)  # until it is connected, which is before anything else
        self._is_ready = False
        self._error: Exception | None = None

    # What the connection calls.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        try:
            sent = self._tls.write(data)
            while sent < len(data):  # a record at a time
                sent += self._tls.write(memoryview(data)[sent:])
        except ssl.SSLError as e:
            self._fail(e)
        else:
            self._flush()

    def close(self) -> None:
        """Says goodbye, and does not wait for the server's."""
        with suppress(ssl.SSLError):  # which says that the server's is still to come
            self._tls.unwrap()
        self._flush()
        self._socket.close()

    def abort(self) -> None:
        self._socket.abort()

    def is_closing(self) -> bool:
        return self._socket.is_closing()

    def pause_reading(self) -> None:
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._socket.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket.get_extra_info(name, default)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)
        self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.write(self._buffer[:nbytes])
        if not self._is_ready:
            self._shake_hands()
        if self._is_ready and self._incoming.pending:
            self._read()

    def eof_received(self) -> bool:
        # Without a goodbye. Anybody on the way can end a connection so: for `inner` it is lost, and did not end.
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        error = self._error or exc
        if not self.ready.done():
            self.ready.set_exception(error or ConnectionError("the server closed the connection"))
            self.ready.exception()  # else asyncio complains when who connected has given up, and never asks
        elif self._is_ready:
            self._inner.connection_lost(error)

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as e:
            self._flush()  # the server is told why
            self._error = e
            self._socket.close()
        else:
            self._flush()
            self._is_ready = True
            self._inner.connection_made(self)
            if not self.ready.done():
                self.ready.set_result(None)

    def _read(self) -> None:
        pieces: list[bytes] = []
        ended = False
        try:
            while not ended:
                piece = self._tls.read(RECORD)
                pieces.append(piece)
                ended = not piece or not (self._incoming.pending or self._tls.pending())
        except ssl.SSLWantReadError:
            pass  # the rest of a record is to come
        except ssl.SSLError as e:
            self._fail(e)
            return
        if data := pieces[0] if len(pieces) == 1 else b"".join(pieces):
            self._inner.data_received(data)
        if self._outgoing.pending:
            self._flush()
        if pieces and not pieces[-1]:  # the server's goodbye
            self._inner.eof_received()
            self._socket.close()

    def _flush(self) -> None:
        if data := self._outgoing.read():
            self._socket.write(data)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._socket.abort()
