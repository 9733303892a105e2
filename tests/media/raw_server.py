"""A server on loopback that answers each path with exact bytes, so that it can lie; it counts who asked for what."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

STALL = b"\0stall\0"
"""At the end of an answer: the connection stays open until the client leaves."""


@dataclass(slots=True)
class Served:
    """A running server.

    Attributes:
        asked: the head of every request, in order.
        stalled: set once an answer has stopped in the middle.
    """

    port: int
    scheme: str = "http"
    asked: list[str] = field(default_factory=list)
    stalled: asyncio.Event = field(default_factory=asyncio.Event)

    def address(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"


@contextlib.asynccontextmanager
async def serving(answers: Mapping[str, bytes], *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Served]:
    """Serve these answers by path, without its query; every connection is closed after one."""
    answering: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError):  # a client may leave in the middle of a body that is too long for it
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            served.asked.append(head)
            content = answers[head.split()[1].split("?")[0]]
            writer.write(content.removesuffix(STALL))
            await writer.drain()
            if content.endswith(STALL):
                served.stalled.set()
                await reader.read()
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    served = Served(port=server.sockets[0].getsockname()[1], scheme="https" if tls else "http")
    async with server:
        yield served
    await asyncio.gather(*filter(None, answering))


def ok(body: bytes, *headers: str, length: int | None = None) -> bytes:
    """A 200 with a Content-Length, which may be a lie."""
    return head(200, f"Content-Length: {len(body) if length is None else length}", *headers) + body


def head(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} As Told", *headers, "Connection: close", "", ""]).encode()


def refusal(status: int, *headers: str) -> bytes:
    return head(status, "Content-Length: 0", *headers)
