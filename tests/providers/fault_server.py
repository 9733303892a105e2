"""A server on raw sockets that fails on purpose, stage by stage, and counts the bytes that really arrived.

Each connection gets a thread and runs the server's script from top to bottom on blocking calls, apart from the
client's event loop. Nothing waits longer than `PATIENCE_S`, so a broken test ends.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

PATIENCE_S = 20.0  # far longer than any deadline in these tests, so it only ends what hangs
_RECV_BYTES = 64 * 1024
_TLS_HANDSHAKE = b"\x16\x03"  # how each TLS record of a handshake begins (RFC 8446, section 5.1)


class Peer:
    """One connection as its script sees it."""

    def __init__(self, connection: socket.socket, server: "FaultServer") -> None:
        self.received = bytearray()
        self._connection = connection
        self._server = server
        connection.settimeout(PATIENCE_S)

    @property
    def request_bytes(self) -> int:
        """How many bytes of requests arrived; the hello of a TLS client is none."""
        return 0 if self.received.startswith(_TLS_HANDSHAKE) else len(self.received)

    def read(self) -> bool:
        """Take what has come; False at the end of the stream."""
        piece = self._connection.recv(_RECV_BYTES)
        self.received += piece
        return bool(piece)

    def read_head(self, number: int = 1) -> None:
        """Take everything up to the end of the so many-th request's headers."""
        while self.received.count(b"\r\n\r\n") < number and self.read():
            pass

    def read_request(self) -> None:
        """Take one whole request, whose body ends with a full stop."""
        self.read_head()
        while not self.received.endswith((b"\r\n\r\n", b".")) and self.read():
            pass
        self._server.has_request.set()

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Shake hands as a TLS server."""
        self._connection = context.wrap_socket(self._connection, server_side=True)

    def send(self, data: bytes) -> None:
        """Give bytes to the client."""
        self._connection.sendall(data)

    def answer(self, status: str = "200 OK", body: bytes = b"{}", headers: str = "") -> None:
        """Give a whole answer to the client."""
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self.send(head.encode() + body)

    def fin(self) -> None:
        """End our direction and take what still comes."""
        self._connection.shutdown(socket.SHUT_WR)
        self.hang()

    def reset(self) -> None:
        """Close so that the client gets a reset."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()

    def hang(self) -> None:
        """Say nothing more and take what comes, until the client goes."""
        while self.read():
            pass

    def stop_reading(self) -> None:
        """Take nothing more, so that the client's writes get stuck."""
        self._server.closing.wait(PATIENCE_S)

    def end(self) -> None:
        """Let the script find the end of the stream after what has come; called by another thread."""
        with contextlib.suppress(OSError):  # it may be closed already
            socket.socket.shutdown(self._connection, socket.SHUT_RD)  # not TLS's own, which would end the session

    def close(self) -> None:
        """Give the socket back."""
        self._connection.close()


Script = Callable[[Peer], None]


@dataclass
class FaultServer:
    """Runs a script for each connection, on 127.0.0.1 and a port of its own, while its `async with` block lasts.

    Attributes:
        script: what happens on a connection.
        peers: the connections there were, in order.
        has_request: set once a script has read a whole request.
        closing: set at the end of the block, for scripts that wait for it.
    """

    script: Script
    peers: list[Peer] = field(default_factory=list)
    has_request: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    async def __aenter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._last_caller = socket.socket()
        self._last_caller.bind(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closing.set()
        self._last_caller.connect(self._listener.getsockname())  # behind all that still wait to be accepted
        await asyncio.to_thread(self._threads[0].join, PATIENCE_S)  # not here: the client shares this loop
        for peer in self.peers:
            peer.end()
        for thread in self._threads:
            await asyncio.to_thread(thread.join, PATIENCE_S)
        self._last_caller.close()
        self._listener.close()

    async def request_arrives(self) -> None:
        """Come back when a script has read a whole request."""
        await asyncio.to_thread(self.has_request.wait, PATIENCE_S)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def request_bytes(self) -> int:
        """How many bytes of requests arrived on all connections."""
        return sum(peer.request_bytes for peer in self.peers)

    def heads(self, method: str) -> list[bytes]:
        """The first lines of all requests of this method that arrived."""
        everything = b"\r\n".join(bytes(peer.received) for peer in self.peers)
        return [line for line in everything.split(b"\r\n") if line.startswith(method.encode() + b" ")]

    def _accept(self) -> None:
        while True:
            try:
                connection, caller = self._listener.accept()
            except OSError as error:
                if error.errno != errno.EMFILE:
                    raise
                continue  # a test lets this very process open nothing for a moment; whoever called waits that long
            if caller == self._last_caller.getsockname():
                connection.close()
                return
            peer = Peer(connection, self)
            self.peers.append(peer)
            thread = threading.Thread(target=self._run, args=(peer,))
            self._threads.append(thread)
            thread.start()

    def _run(self, peer: Peer) -> None:
        with contextlib.suppress(OSError), contextlib.closing(peer):  # the client may go at any time
            self.script(peer)


@contextlib.contextmanager
def refusing_port() -> Iterator[int]:
    """A port that is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@contextlib.contextmanager
def deaf_port() -> Iterator[int]:
    """A port where the accept queue is full: a further connection gets no answer."""
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # Linux lets one more in than asked for
            filler = sockets.enter_context(socket.socket())
            filler.setblocking(False)  # noqa: FBT003
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
