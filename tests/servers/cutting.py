"""A network that breaks at a chosen moment: a TCP relay in front of a server, with real sockets on both sides."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

COMMIT = b"COMMIT\x00"


class Relay:
    """Passes everything on until it is told to cut.

    Attributes:
        url: the address of the database behind it, through the relay.
        cuts: how often it has cut.
    """

    def __init__(self, url: str) -> None:
        """Stand in front of the database of that address."""
        self._behind = urlsplit(url)
        self._port = 0
        self._cut: tuple[bytes, bool] | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.cuts = 0

    @property
    def url(self) -> str:
        """The address through the relay."""
        user, host = self._behind.username, self._behind.hostname
        return self._behind._replace(netloc=f"{user}@{host}:{self._port}").geturl()

    def cut_before(self, message: bytes = COMMIT) -> None:
        """The next such message doesn't reach the server; the connection breaks on both sides."""
        self._cut = (message, False)

    def cut_after(self, message: bytes = COMMIT) -> None:
        """The next such message is answered, but the answer doesn't come back; the connection breaks."""
        self._cut = (message, True)

    def cut_all(self) -> None:
        """Break every connection that is open."""
        for writer in self._open:
            writer.transport.abort()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Relay"]:
        """Listen on loopback inside this block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut_all()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection(self._behind.hostname, self._behind.port)
        self._open |= {writer, back_writer}
        answers = asyncio.create_task(self._pass(back_reader, writer))
        try:
            while data := await reader.read(65536):
                if self._cut is not None and self._cut[0] in data:
                    (_, is_passed), self._cut = self._cut, None
                    if is_passed:
                        await _end(answers)
                        back_writer.write(data)
                        await back_reader.read(1)
                    self.cuts += 1
                    break
                back_writer.write(data)
                await back_writer.drain()
        except ConnectionError:
            pass  # one side is gone: so is the other
        finally:
            for each in (writer, back_writer):
                each.transport.abort()
            self._open -= {writer, back_writer}
            await _end(answers)

    @staticmethod
    async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
