"""The wire behind one function: a request goes out once, and the receipt says how far it got.

Theory of operation
-------------------
A paid request may be repeated only if it provably never left. The proof is one flag. aiohttp runs the trace hook
`on_request_headers_sent` *before* it writes the first byte of a request: `StreamWriter.write_headers` awaits the
hook and only then puts the head into a buffer, which leaves with the first piece of the body or with its end
(`aiohttp/http_writer.py`, read in 3.14.5). The hook's name says otherwise and the order is not promised, so the
version is pinned, and `tests/providers/test_send_faults.py` counts the bytes that really arrive.

    flag not set    not one byte of the request left: `not_sent`, whatever went wrong
    flag set        a byte may have left, also where we stopped ourselves before it did

Exception classes can't give this proof: a deadline or a cancellation looks the same before and after the first
byte. They only name the fault (`providers.faults`):

    DNS, CONNECT_REFUSED, CONNECT_TIMEOUT, TLS, ADDRESS_REFUSED,
    NO_CONNECTION, LEASE_TOO_SHORT, BAD_URL                         before the flag: not sent
    GARBAGE                                                         after it, no status could be read
    TRUNCATED                                                       after it, with a status; the body is not whole
    RESET, DISCONNECTED, DEADLINE, GIVEN_UP, OTHER                  at any time: the flag tells

The phases: RESOLVED after a look-up of our own (a literal address or a cached name jumps it), CONNECTED with TCP
and TLS standing, HEADERS_SENT the flag, BODY_SENT when the last piece of a body was handed over (up to 128 KiB may
still stand in the event loop's buffer, more in the kernel's; an empty body jumps it), STATUS, BODY_READ. An answer
may come before the body is sent.

The last moment at which a send can be stopped is that same hook. There `may_send` is asked, after name look-up, TCP
and TLS took their time; an exception in the hook closes the connection with nothing written.

A POST is one POST: a connection of its own, so that no stale one can swallow it (aiohttp never repeats a POST), no
redirects (a 307 would send it again), and one deadline from the call to the last byte of the answer, because
nothing else bounds a peer that stops reading. When it passes, or the caller gives up, and a byte may have left, the
answer gets `LAST_WORDS_S` more: a process that was frozen wakes past its deadline with the answer in its socket, and
that answer says what was bought.

A body without length that ends with its connection can't be told from a cut one; its reader must notice.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Protocol, Self

import aiohttp
import yarl
from multidict import CIMultiDict

from onetake.clock import Clock
from onetake.domain.wire import SendFault, SendPhase, WireRequest, WireResult
from onetake.outbound import AddressRule, open_session
from onetake.providers.faults import AnswerTooLongError, UnwritableHeaderError, fault_of, words_of
from onetake.providers.progress import Progress, tracing

# Three lost SYNs are repeated after 1, 3 and 7 seconds (RFC 6298, section 2: first timeout 1 s, doubled).
CONNECT_TIMEOUT_S = 10.0

# What has arrived is read within milliseconds, also by a busy loop; a second is far more, and short at a stop.
LAST_WORDS_S = 1.0

# Answers here are JSON about jobs, a few KB; one that echoes a 200 kB prompt, or a list of a hundred jobs, fits.
# Files and answers that carry pictures are streamed to disk elsewhere, never held in memory.
ANSWER_BYTES_MAX = 1024 * 1024

# Half of the 1,024 descriptors that Linux gives a process unless told otherwise.
GET_CONNECTIONS_MAX = 512

# More than the 64 KiB after which aiohttp waits for the peer, so that it waits after each piece.
_PIECE_BYTES = 128 * 1024

_CONFIGURED_ORIGINS = AddressRule(allow_any=True)

# Visible ASCII, already percent-encoded; no user, which would be a credential, and no fragment, which isn't sent.
_URL = re.compile(r"""(?i:https?)://[\w.:\[\]-]+([/?][!"$-~]*)?""", re.ASCII)
_SECRET_CHARS_MIN = 8  # no provider's key is shorter, and a sandbox's, which is, stands in many texts by chance

_KEY = "(our key)"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_HEADER_VALUE = re.compile(r"[ -~]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """How our key goes onto a request; its repr never shows the secret.

    Attributes:
        header: for example "Authorization".
        value: for example "Bearer rk_...".
    """

    header: str
    value: str = field(repr=False)


class Transport(Protocol):
    """The seam between onetake and the wire. Network trouble is a value: the receipt of the `WireResult`."""

    async def post_once(
        self,
        request: WireRequest,
        *,
        credential: Credential | None,
        timeout_s: float,
        may_send: Callable[[], bool],
        give_up: asyncio.Event | None = None,
    ) -> WireResult:
        """What came of exactly one POST; never repeated, never redirected.

        A cancelled call raises `CancelledError` and leaves no receipt: it may have left.

        Args:
            request: with method "POST".
            credential: our key, put on last.
            timeout_s: from the call to the last byte of the answer; `LAST_WORDS_S` longer once a byte may have left.
            may_send: asked once, right before the first byte; False ends the send with LEASE_TOO_SHORT.
            give_up: once set, the request is abandoned as at its deadline, with GIVEN_UP.

        Raises:
            ValueError: the request is no POST.
        """
        ...

    async def get(self, request: WireRequest, *, credential: Credential | None, timeout_s: float) -> WireResult:
        """What came of one GET on a pooled connection; arguments as in `post_once`.

        Raises:
            ValueError: the request is no GET.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection; requests in the air end with a fault."""
        ...


class HttpTransport:
    """The `Transport` that really sends; made inside a running event loop, an async context manager."""

    def __init__(
        self,
        *,
        clock: Clock,
        user_agent: str,
        rule: AddressRule = _CONFIGURED_ORIGINS,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        get_connections_max: int = GET_CONNECTIONS_MAX,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Open the two sessions; no connection is made yet.

        Args:
            clock: for the times in receipts.
            user_agent: how we introduce ourselves.
            rule: where connections may go; by default anywhere, for origins that the operator configured.
            connect_timeout_s: for waiting for a free connection, name look-up, TCP and TLS together.
            answer_bytes_max: longest body kept, after decompression; a longer one is cut and not whole.
            get_connections_max: GETs at a time; POSTs are bounded by their callers.
            ssl_context: instead of the system's trust store.
        """
        self._clock = clock
        self._answer_bytes_max = answer_bytes_max

        def session(*, pooled: bool, limit: int) -> aiohttp.ClientSession:
            return open_session(
                rule=rule,
                pooled=pooled,
                connect_timeout_s=connect_timeout_s,
                limit=limit,
                trace=tracing(),
                ssl_context=ssl_context,
                user_agent=user_agent,
            )

        self._posts = session(pooled=False, limit=0)
        self._gets = session(pooled=True, limit=get_connections_max)

    async def __aenter__(self) -> Self:
        """The transport itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; requests in the air end with a fault."""
        await self._posts.close()
        await self._gets.close()

    async def post_once(
        self,
        request: WireRequest,
        *,
        credential: Credential | None,
        timeout_s: float,
        may_send: Callable[[], bool],
        give_up: asyncio.Event | None = None,
    ) -> WireResult:
        """What came of exactly one POST; see `Transport`."""
        if request.method != "POST":
            raise ValueError(f"a paid request is a POST, not a {request.method}")
        progress = Progress(self._clock, may_send)
        return await self._send(
            self._posts, request, credential=credential, progress=progress, timeout_s=timeout_s, give_up=give_up
        )

    async def get(self, request: WireRequest, *, credential: Credential | None, timeout_s: float) -> WireResult:
        """What came of one GET on a pooled connection; see `Transport`."""
        if request.method != "GET":
            raise ValueError(f"only a GET is free to repeat, not a {request.method}")
        progress = Progress(self._clock, lambda: True)
        return await self._send(self._gets, request, credential=credential, progress=progress, timeout_s=timeout_s)

    async def _send(
        self,
        session: aiohttp.ClientSession,
        request: WireRequest,
        *,
        credential: Credential | None,
        progress: Progress,
        timeout_s: float,
        give_up: asyncio.Event | None = None,
    ) -> WireResult:
        """Send one request and turn whatever happens into a result."""
        try:
            async with _limited_to(timeout_s, give_up, progress):
                await self._exchange(session, request, credential, progress)
        except Exception as trouble:  # noqa: BLE001 - the receipt must survive any surprise, and names this one
            fault = fault_of(trouble, is_tls=request.url.lower().startswith("https:"))
            if fault is SendFault.DEADLINE and give_up is not None and give_up.is_set():
                fault = SendFault.GIVEN_UP
            elif fault in {SendFault.DEADLINE, SendFault.CONNECT_TIMEOUT} and progress.is_queued:
                fault = SendFault.NO_CONNECTION
            return _without_key(progress.result(fault, words_of(trouble)), credential)
        return _without_key(progress.result(None), credential)

    async def _exchange(
        self, session: aiohttp.ClientSession, request: WireRequest, credential: Credential | None, progress: Progress
    ) -> None:
        """Write the request and read the answer into `progress`."""
        response = await session.request(
            request.method,
            _exact_url(request.url),
            headers=_exact_headers(request, credential),
            data=_pieces(request.body, progress) if request.body else None,
            allow_redirects=False,
            trace_request_ctx=progress,
        )
        try:  # not `async with`, which waits for the rest of the upload, although the answer is there
            progress.see(response)
            async for chunk in response.content.iter_any():
                progress.body += chunk
                if len(progress.body) > self._answer_bytes_max:
                    del progress.body[self._answer_bytes_max :]
                    raise AnswerTooLongError
            progress.reach(SendPhase.BODY_READ)
        finally:
            response.close()


def _without_key(result: WireResult, credential: Credential | None) -> WireResult:
    """The result without our key, which a provider may quote in an error: what is read here is kept and shown."""
    secret = credential.value.rpartition(" ")[2] if credential else ""
    if result.answer is None or len(secret) < _SECRET_CHARS_MIN:
        return result
    headers = {name: value.replace(secret, _KEY) for name, value in result.answer.headers.items()}
    body = result.answer.body.replace(secret.encode(), _KEY.encode())
    return replace(result, answer=replace(result.answer, headers=headers, body=body))


def _exact_url(text: str) -> yarl.URL:
    """The address as it stands: `%2F` stays `%2F` and `a/../b` stays three segments."""
    if not _URL.fullmatch(text):
        raise aiohttp.InvalidURL(text)
    return yarl.URL(text, encoded=True)


def _exact_headers(request: WireRequest, credential: Credential | None) -> CIMultiDict[str]:
    """The request's headers, its length and our key.

    aiohttp checks them too, but behind the hook, where nothing can be proved any more.
    """
    headers = CIMultiDict(request.headers)
    if request.body:
        headers["Content-Length"] = str(len(request.body))
    if credential:
        headers[credential.header] = credential.value
    if all(_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value) for name, value in headers.items()):
        return headers
    raise UnwritableHeaderError


async def _pieces(body: bytes, progress: Progress) -> AsyncIterator[bytes]:
    """The body piece by piece; aiohttp asks for the next one when the peer took the last."""
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]
    progress.reach(SendPhase.BODY_SENT)


@asynccontextmanager
async def _limited_to(timeout_s: float, give_up: asyncio.Event | None, progress: Progress) -> AsyncIterator[None]:
    """End the body with TimeoutError after so long, or once `give_up` is set; later if an answer may be on its way."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as deadline:

        def end() -> None:
            if deadline.when() is None:
                deadline.reschedule(loop.time() + (LAST_WORDS_S if progress.may_have_left else 0))

        timer = loop.call_later(timeout_s, end)
        watcher = asyncio.create_task(_when_set(give_up, end)) if give_up else None
        try:
            yield
        finally:
            timer.cancel()
            if watcher:
                watcher.cancel()


async def _when_set(event: asyncio.Event, then: Callable[[], None]) -> None:
    await event.wait()
    then()
