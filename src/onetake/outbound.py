"""Every HTTP session that onetake opens to the outside, and the addresses it may connect to.

One function builds sessions, so that each default of aiohttp that would hurt us is closed in one place (read in
aiohttp 3.14.5): its hidden resend of GET and PUT after a lost connection, proxies and .netrc from the
environment, cookies kept between requests, five minutes as the only time limit, 8 KiB as the longest header.
Callers keep three duties that aiohttp only takes per request: `allow_redirects=False`, a deadline over the
whole exchange, and `yarl.URL(url, encoded=True)`, without which signed addresses are rewritten.

An `AddressRule` looks at the address that is about to be connected to, after name resolution and for every
attempt, so a name that resolves differently the second time gains nothing.
"""

import errno
import ipaddress
import socket
import ssl
import sys
from dataclasses import dataclass

import aiohttp

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that IANA has given out for hosts (RFC 4291, section 2.4)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # an IPv4 address in its last 32 bits (RFC 6052, section 2.1)

# A lost answer to a paid request costs a person's time, so an unusually long header must not make it unreadable.
_HEADER_BYTES_MAX = 64 * 1024

# An abandoned upload stays with the event loop until its peer reads the rest, which may be never. The kernel ends it
# after so long with bytes that the peer didn't take (tcp(7), TCP_USER_TIMEOUT); longer than an upload's bad patch.
_UNREAD_TIMEOUT_MS = 300_000


class AddressRefusedError(OSError):
    """The address that a name stands for is not one we connect to; nothing was sent.

    aiohttp wraps it into a `ClientConnectorError` whose `os_error` it is. Its text names no address: connection
    attempts that fail with the same text are reported as one, with this type.
    """

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "the address is not public")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRule:
    """Which resolved addresses a connection may be made to: every global one, and those allowed by name.

    Attributes:
        allowed_private: (IP address, port) pairs that may be non-global, the address as `ipaddress` spells it; for
            a provider that was configured inside the operator's own network, a sandbox on loopback for example.
        allow_any: no filter; for origins that the operator configured.
    """

    allowed_private: frozenset[tuple[str, int]] = frozenset()
    allow_any: bool = False

    def permits(self, host: str, port: int) -> bool:
        """Whether a connection may be made to this IP address and port."""
        if self.allow_any:
            return True
        address = ipaddress.ip_address(host)
        return is_public(address) or (str(address), port) in self.allowed_private

    def open_socket(self, addr_info: aiohttp.AddrInfoType) -> socket.socket:
        """A new socket for one resolved address, which the caller owns.

        Raises:
            AddressRefusedError: the rule doesn't permit the address.
            OSError: the system has no socket to give.
        """
        family, kind, protocol, _, address = addr_info
        if not self.permits(address[0], address[1]):
            raise AddressRefusedError
        opened = socket.socket(family, kind, protocol)
        if sys.platform == "linux":
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_TIMEOUT_MS)
        return opened


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether anybody on the internet may own this address, also when IPv6 wraps an IPv4 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast
    wrapped = address.ipv4_mapped or address.sixtofour
    if wrapped is None and address in _NAT64:
        wrapped = ipaddress.IPv4Address(address.packed[-4:])
    if wrapped is not None:
        return is_public(wrapped)
    return address in _GLOBAL_UNICAST and address.is_global


def open_session(
    *,
    rule: AddressRule,
    pooled: bool,
    connect_timeout_s: float,
    limit: int = 0,
    trace: aiohttp.TraceConfig | None = None,
    ssl_context: ssl.SSLContext | None = None,
    user_agent: str = "onetake",
) -> aiohttp.ClientSession:
    """A session with every trap closed, which the caller closes; needs a running event loop.

    Args:
        rule: where it may connect to.
        pooled: whether connections and name look-ups are reused; False gives each request its own of both.
        connect_timeout_s: for waiting for a free connection, name look-up, TCP and TLS together. The only time
            limit of the session, and lost if a request brings a `ClientTimeout` of its own.
        limit: most connections at a time; 0 for no limit.
        trace: hooks into each request's progress.
        ssl_context: instead of the system's trust store.
        user_agent: how we introduce ourselves.
    """
    connector = aiohttp.TCPConnector(
        force_close=not pooled,
        use_dns_cache=pooled,
        limit=limit,
        ssl=ssl_context or True,
        socket_factory=rule.open_socket,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": user_agent},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout_s),
        trace_configs=[trace] if trace else None,
        max_line_size=_HEADER_BYTES_MAX,
        max_field_size=_HEADER_BYTES_MAX,
    )
    # No public switch exists (aio-libs/aiohttp#10790); a test counts the GETs that arrive.
    session._retry_connection = False  # noqa: SLF001
    return session
