"""The shapes of answers, honest and otherwise."""

import asyncio
import time
from email.utils import formatdate

from aiohttp import web

GATEWAY_PAGE = (
    "<!doctype html><html><head><title>{status}</title></head><body>"
    "<center><h1>{status}</h1></center><hr><center>gateway</center></body></html>"
)
_LOOKS_EVERY_S = 0.05  # how soon a silent answer notices that the client has gone


def error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    """The provider's own JSON error."""
    return web.json_response({"error": {"code": code, "message": message}}, status=status, headers=headers)


def too_many(retry_after_s: int, *, as_date: bool = False) -> web.Response:
    """429 with the wait in seconds or, rounded up to a whole one, as an HTTP date (RFC 9110, section 10.2.3)."""
    wait = formatdate(int(time.time()) + 1 + retry_after_s, usegmt=True) if as_date else str(retry_after_s)
    return error(429, "rate_limited", "too many requests", {"Retry-After": wait})


def page(status: int) -> web.Response:
    """A page of HTML from some machine in between."""
    return web.Response(status=status, text=GATEWAY_PAGE.format(status=status), content_type="text/html")


def unreadable() -> web.Response:
    """200 with a body that is called JSON, is whole, and can't be read."""
    return web.Response(text='{"status": "processing", "created_at": 17', content_type="application/json")


async def send(request: web.Request, response: web.Response) -> web.Response:
    """The answer, with its last byte handed to the operating system.

    Raises:
        ConnectionError: the client has gone.
    """
    await response.prepare(request)
    await response.write_eof()
    return response


async def cut(request: web.Request) -> web.StreamResponse:
    """No answer: the connection is reset."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()  # reaches nobody


async def half(request: web.Request, body: bytes, content_type: str) -> web.StreamResponse:
    """An answer that promises a body's length and ends half way."""
    response = web.StreamResponse(headers={"Content-Type": content_type, "Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


async def silence(request: web.Request, longest_s: float) -> web.StreamResponse:
    """No answer until the client leaves, or the time is up and the connection is cut."""
    ends_at = time.monotonic() + longest_s
    while _is_there(request) and time.monotonic() < ends_at:  # noqa: ASYNC110 - aiohttp has no event for it
        await asyncio.sleep(_LOOKS_EVERY_S)
    return await cut(request)


def _is_there(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()
