"""Fetching the picture that a clip starts on, as a provider would: from an address, before the order is accepted."""

import asyncio
import ipaddress
import time
from urllib.parse import SplitResult, parse_qsl, urlsplit

import aiohttp
from yarl import URL

from onetake.sandbox.addresses import AddressError
from onetake.sandbox.provider import Provider
from onetake.sandbox.studio import is_picture

_BYTES_MAX = 32 * 2**20  # a 4K PNG of noise; more is no still
_TIMEOUT = aiohttp.ClientTimeout(total=10)  # it is on this machine


class FirstFrameError(Exception):
    """The first frame can't be used; the sentence says why."""


async def fetch_first_frame(provider: Provider, url: str) -> bytes:
    """The picture at an address of the sandbox's own or of another server on this machine.

    Raises:
        FirstFrameError: the address is foreign, dead or silent, or holds no picture.
    """
    try:
        parts = urlsplit(url)
        is_own = parts.scheme == "http" and parts.port == urlsplit(provider.base_url).port
    except ValueError as error:
        raise FirstFrameError("not an address") from error
    if parts.scheme not in {"http", "https"} or not _is_loopback(parts.hostname or ""):
        raise FirstFrameError("only addresses on this machine are fetched")
    data = _own(provider, parts) if is_own else await _foreign(provider, url)
    if not await asyncio.to_thread(is_picture, data):
        raise FirstFrameError("no picture is there")
    return data


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _own(provider: Provider, parts: SplitResult) -> bytes:
    """One of our own files, read without HTTP, so that faults of downloads only strike the client's."""
    name = parts.path.removeprefix("/files/")
    try:
        provider.addresses.check(name, dict(parse_qsl(parts.query)), time.time())
        return provider.studio.path(name).read_bytes()
    except AddressError as error:
        raise FirstFrameError(str(error)) from error
    except FileNotFoundError as error:
        raise FirstFrameError("the file is gone") from error


async def _foreign(provider: Provider, url: str) -> bytes:
    try:
        async with provider.client.get(URL(url, encoded=True), allow_redirects=False, timeout=_TIMEOUT) as response:
            data = await response.content.read(_BYTES_MAX + 1)
            while not response.content.at_eof() and len(data) <= _BYTES_MAX:
                data += await response.content.read(_BYTES_MAX + 1)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise FirstFrameError(f"it can't be fetched: {type(error).__name__}") from error
    if response.status != 200 or len(data) > _BYTES_MAX:
        raise FirstFrameError(f"it can't be fetched: {response.status}, {len(data)} bytes")
    return data
