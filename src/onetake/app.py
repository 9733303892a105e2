"""The composition root: the only place where a database, a transport and a store are made and wired."""

import asyncio
import contextlib
import ipaddress
import socket
import urllib.parse
from collections.abc import AsyncIterator, Iterable

from onetake import __version__
from onetake.clock import Clock, SystemClock
from onetake.config import Settings, is_private_host
from onetake.engine.parts import Parts
from onetake.media.blobs import FolderBlobs
from onetake.media.decoder import Decoder
from onetake.media.fetch import Fetcher
from onetake.opening import prepare_database
from onetake.outbound import AddressRule
from onetake.providers.adapter import Adapter, list_contracts
from onetake.providers.transport import HttpTransport
from onetake.store.database import Database

USER_AGENT = f"onetake/{__version__}"


def open_database(settings: Settings, clock: Clock) -> Database:
    """The database of the settings; a new one is made, an older one must be migrated by a person.

    Raises:
        DatabaseError: it can't be used; says why and what to do.
    """
    return prepare_database(settings).open(clock)


@contextlib.asynccontextmanager
async def open_parts(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[Parts]:
    """The engine, wired for the settings; everything is closed at the end.

    Raises:
        DatabaseError: the database can't be used.
        StorageError: the storage folder can't be used.
    """
    clock = clock or SystemClock()
    blobs = FolderBlobs(settings.storage_path)
    adapters = {name: Adapter.of(name, settings.provider(name)) for name in list_contracts()}
    database = await asyncio.to_thread(open_database, settings, clock)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(database.aclose)
        transport = await stack.enter_async_context(HttpTransport(clock=clock, user_agent=USER_AGENT))
        rule = await _download_rule(adapter.origin for adapter in adapters.values())
        fetcher = Fetcher(clock=clock, rule=rule)
        stack.push_async_callback(fetcher.aclose)
        decoder = Decoder()
        stack.push_async_callback(decoder.aclose)
        yield Parts(
            settings=settings,
            clock=clock,
            database=database,
            adapters=adapters,
            transport=transport,
            fetcher=fetcher,
            decoder=decoder,
            blobs=blobs,
        )


async def _download_rule(origins: Iterable[str]) -> AddressRule:
    """Downloads go to public hosts, and to a private one only where the operator put a provider there."""
    allowed: set[tuple[str, int]] = set()
    loop = asyncio.get_running_loop()
    for origin in origins:
        parts = urllib.parse.urlsplit(origin)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname or ""
        if not is_private_host(host):
            continue
        with contextlib.suppress(OSError):  # a name that doesn't resolve allows nothing
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            allowed |= {(str(ipaddress.ip_address(each[4][0])), port) for each in found}
    return AddressRule(allowed_private=frozenset(allowed))
