"""A network that breaks at a chosen commit: a TCP relay in front of a PostgreSQL server, with real sockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

COMMIT = b"COMMIT\x00"
"""In what the client sends, the statement; in what the server sends, its answer once the commit stands."""


class Relay:
    """Passes everything on until it is told to cut.

    Attributes:
        cuts: how often it has cut.
    """

    def __init__(self, url: str) -> None:
        """Stand in front of the database of that address."""
        self._behind = urlsplit(url)
        self._port = 0
        self._before = self._after = False
        self.cuts = 0

    @property
    def url(self) -> str:
        """The address through the relay."""
        user, host = self._behind.username, self._behind.hostname
        return self._behind._replace(netloc=f"{user}@{host}:{self._port}").geturl()

    def cut_before(self) -> None:
        """The next commit doesn't reach the server; the connection breaks on both sides."""
        self._before = True

    def cut_after(self) -> None:
        """The next commit stands, but its answer doesn't come back; the connection breaks on both sides."""
        self._after = True

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Relay"]:
        """Listen on loopback inside this block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection(self._behind.hostname, self._behind.port)
        ways = [
            asyncio.create_task(self._pass(reader, back_writer, is_answer=False)),
            asyncio.create_task(self._pass(back_reader, writer, is_answer=True)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for each in (writer, back_writer):
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        """Until one side is gone, or it is time to cut."""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if COMMIT in data and (self._after if is_answer else self._before):
                    self._before = self._after = False
                    self.cuts += 1
                    return
                writer.write(data)
                await writer.drain()
