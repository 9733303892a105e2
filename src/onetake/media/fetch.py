"""Downloads: one GET of an address that a provider gave, streamed to a file, counted and hashed on the way.

Free to repeat, so what goes wrong is a value that says what to do next: ask the provider for a new address, wait,
try again or give up. The address comes from outside and may be signed: it is checked at each redirect, may only lead
to public hosts, and never appears in a result.
"""

import asyncio
import contextlib
import enum
import hashlib
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import aiohttp
import yarl

from onetake.clock import Clock
from onetake.domain.errors import StorageError
from onetake.domain.pacing import retry_after_s
from onetake.media.blobs import storage_trouble
from onetake.outbound import AddressRefusedError, AddressRule, open_session

_REDIRECTS_MAX = 5  # a storage front and a regional host make two; more is a loop or a game
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_INLINE_BYTES_MAX = 32 * 1024  # hashing and writing this takes about 50 µs, as much as handing it to a thread
_CONTENT_TYPE_CHARS_MAX = 100
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity"}


class FetchFault(enum.StrEnum):
    """Why there is no file, by what helps."""

    EXPIRED = "expired"  # the address serves no longer: ask the provider for a new one
    SERVER = "server"  # the server fails or answers nonsense: later
    THROTTLED = "throttled"  # the server asks to wait
    NETWORK = "network"  # no connection, or lost before the answer: again
    TRUNCATED = "truncated"  # the body ended early: again
    TIMEOUT = "timeout"  # not whole in time: again
    TOO_LARGE = "too_large"  # more bytes than wanted
    NOT_OURS = "not_ours"  # leads to a private host, or out of encryption: refused
    BAD_ADDRESS = "bad_address"  # not an http or https address
    STORAGE = "storage"  # our disk: repair it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The whole body is in the file, not yet synced.

    Attributes:
        digest: SHA-256 in lower-case hex.
        content_type: what the server called it; never to be believed.
    """

    path: Path
    digest: str
    size_bytes: int
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailed:
    """There is no file; what had been written is removed.

    Attributes:
        detail: for a person; no address in it.
        retry_after_s: how long the server asks to wait, if it says so.
    """

    kind: FetchFault
    detail: str
    retry_after_s: float | None = None


class Fetcher:
    """Downloads through one pool of connections of its own: opened when first needed, ended by `aclose`."""

    def __init__(
        self,
        *,
        rule: AddressRule,
        clock: Clock,
        connect_timeout_s: float = 10.0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            rule: where downloads may connect to, at every redirect.
            clock: for Retry-After dates.
            connect_timeout_s: for name look-up, TCP and TLS; in ten seconds three SYN packets may get lost.
            ssl_context: instead of the system's trust store.
        """
        self._rule = rule
        self._clock = clock
        self._connect_timeout_s = connect_timeout_s
        self._ssl_context = ssl_context
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self, address: str, *, into: Path, size_bytes_max: int, timeout_s: float) -> Fetched | FetchFailed:
        """The file behind an address, or why there is none.

        Args:
            address: http or https, already percent-encoded; sent as it stands.
            into: from `Blobs.incoming`, for this download alone; overwritten, and removed unless all went well.
            size_bytes_max: a longer body is refused, when announced or when the limit is passed.
            timeout_s: for all of it, redirects included.
        """
        result: Fetched | FetchFailed | None = None
        try:
            async with asyncio.timeout(timeout_s):
                result = await self._follow(address, into, size_bytes_max)
        except StorageError as error:
            result = FetchFailed(kind=FetchFault.STORAGE, detail=error.sentence)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            result = _failed(error)
        finally:
            if not isinstance(result, Fetched):
                _remove(into)
        return result

    async def aclose(self) -> None:
        """Close the connections; a later `fetch` opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow(self, address: str, into: Path, size_bytes_max: int) -> Fetched | FetchFailed:
        url = _parsed(address)
        for _ in range(1 + _REDIRECTS_MAX):
            refusal = _address_refusal(url)
            if refusal:
                return refusal
            async with self._open_session().get(
                url, headers=_HEADERS, allow_redirects=False, auto_decompress=False
            ) as response:
                if response.status not in _REDIRECTS:
                    return self._refusal(response) or await _save(response, into, size_bytes_max)
                previous, url = url, url.join(_parsed(response.headers.get("Location", "")))
            if previous.scheme == "https" and url.scheme == "http" and not _is_loopback(url.host or ""):
                return FetchFailed(kind=FetchFault.NOT_OURS, detail="a redirect leads out of https")
        return FetchFailed(kind=FetchFault.SERVER, detail=f"more than {_REDIRECTS_MAX} redirects")

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session(
                rule=self._rule,
                pooled=True,
                connect_timeout_s=self._connect_timeout_s,
                ssl_context=self._ssl_context,
            )
        return self._session

    def _refusal(self, response: aiohttp.ClientResponse) -> FetchFailed | None:
        """Why this answer isn't the file; None if it is."""
        kind, detail = _meaning(response.status), f"the server answered {response.status}"
        if kind is None and response.headers.get("Content-Encoding", "identity").lower() != "identity":
            kind, detail = FetchFault.SERVER, "the body is compressed, though plain bytes were asked for"
        asked = ", ".join(response.headers.getall("Retry-After", ()))
        wait_s = retry_after_s(asked, now_s=self._clock.now_us() / 1e6)
        return None if kind is None else FetchFailed(kind=kind, detail=detail, retry_after_s=wait_s)


def _meaning(status: int) -> FetchFault | None:
    """What a status other than a redirect says about the file; None for 200.

    Storage services refuse an expired signature with 400, 401 or 403, so every 4xx that isn't about the moment
    (RFC 9110, 15.5.9; RFC 8470, 5.2) says that this address serves no longer.
    """
    match status:
        case 200:
            return None
        case 206:  # a part, though the whole was asked for
            return FetchFault.TRUNCATED
        case 429:
            return FetchFault.THROTTLED
        case 408 | 425:
            return FetchFault.SERVER
        case _:
            return FetchFault.EXPIRED if 400 <= status < 500 else FetchFault.SERVER


async def _save(response: aiohttp.ClientResponse, into: Path, size_bytes_max: int) -> Fetched | FetchFailed:
    promised = response.content_length
    too_large = FetchFailed(kind=FetchFault.TOO_LARGE, detail=f"more than {size_bytes_max} bytes")
    if promised is not None and promised > size_bytes_max:
        return too_large
    with _Sink(into) as sink:
        async for chunk in response.content.iter_any():
            await sink.take(chunk)
            if sink.size_bytes > size_bytes_max:
                return too_large
    return Fetched(  # fewer bytes than Content-Length, or no last chunk, have raised a ClientPayloadError by now
        path=into,
        digest=sink.sha256.hexdigest(),
        size_bytes=sink.size_bytes,
        content_type=response.headers.get("Content-Type", "")[:_CONTENT_TYPE_CHARS_MAX],
    )


class _Sink:
    """A file that counts and hashes what is written into it.

    Raises:
        StorageError: from each of its steps, if the disk is at fault.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.sha256 = hashlib.sha256()
        self.size_bytes = 0

    def __enter__(self) -> Self:
        with storage_trouble(self._path.parent):
            self._file = self._path.open("wb")
        return self

    def __exit__(self, *_: object) -> None:
        with storage_trouble(self._path.parent):
            self._file.close()

    async def take(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        if len(chunk) <= _INLINE_BYTES_MAX:
            self._write(chunk)
        else:
            await asyncio.to_thread(self._write, chunk)

    def _write(self, chunk: bytes) -> None:
        self.sha256.update(chunk)
        with storage_trouble(self._path.parent):
            self._file.write(chunk)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # a disk that can't even do that leaves it to the sweep
        path.unlink(missing_ok=True)


def _parsed(address: str) -> yarl.URL:
    """The address as it stands (yarl would rewrite the escapes of a signed one).

    Raises:
        ValueError: it isn't one.
    """
    if not address or not address.isprintable() or " " in address:
        raise ValueError("not an address")
    return yarl.URL(address, encoded=address.isascii())


def _address_refusal(url: yarl.URL) -> FetchFailed | None:
    if url.scheme not in {"http", "https"} or not url.host:
        return FetchFailed(kind=FetchFault.BAD_ADDRESS, detail="not an http or https address")
    if url.raw_user is not None or url.raw_password is not None:
        return FetchFailed(kind=FetchFault.BAD_ADDRESS, detail="an address with a user name in it")
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _failed(error: aiohttp.ClientError | OSError | ValueError) -> FetchFailed:
    """The failure that an exception stands for, without its text: aiohttp's holds the host or the whole address."""
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, AddressRefusedError):
        return FetchFailed(kind=FetchFault.NOT_OURS, detail="the address leads to a host that is not public")
    if isinstance(error, TimeoutError):
        return FetchFailed(kind=FetchFault.TIMEOUT, detail="not whole in time")
    if isinstance(error, aiohttp.ClientPayloadError):
        return FetchFailed(kind=FetchFault.TRUNCATED, detail="the connection ended in the middle of the body")
    if isinstance(error, aiohttp.ClientResponseError):
        return FetchFailed(kind=FetchFault.SERVER, detail="the server's answer is not HTTP")
    # InvalidURL is both a ClientError and a ValueError; a refused certificate is both as well.
    if isinstance(error, aiohttp.InvalidURL) or not isinstance(error, aiohttp.ClientError | OSError):
        return FetchFailed(kind=FetchFault.BAD_ADDRESS, detail="not a usable address")
    return FetchFailed(kind=FetchFault.NETWORK, detail=f"no answer ({type(error).__name__})")
