"""Which fault an exception of the HTTP client stands for, and words for it that give nothing away."""

import errno
import ssl

import aiohttp

from onetake.domain.wire import SendFault
from onetake.outbound import AddressRefusedError

_DETAIL_CHARS_MAX = 300  # SendReceipt.detail


class LeaseTooShortError(Exception):
    """The owner's last check before the first byte said no."""


class UnwritableHeaderError(Exception):
    """A header has a name or a value that HTTP has no way to write."""


class AnswerTooLongError(Exception):
    """The answer's body is longer than we keep."""


# The first class that fits decides, so subclasses stand before their bases: aiohttp's connect errors are also its
# connection errors, a bad certificate is also a ValueError, a connect timeout also a TimeoutError.
_BY_CLASS: tuple[tuple[type[Exception], SendFault], ...] = (
    (LeaseTooShortError, SendFault.LEASE_TOO_SHORT),
    (aiohttp.ClientConnectorDNSError, SendFault.DNS),
    (aiohttp.ClientSSLError, SendFault.TLS),
    (ValueError, SendFault.BAD_URL),  # ours and aiohttp's InvalidURL, yarl's for a port, the resolver's for a name
    (aiohttp.ConnectionTimeoutError, SendFault.CONNECT_TIMEOUT),
    (TimeoutError, SendFault.DEADLINE),
    (aiohttp.ServerDisconnectedError, SendFault.DISCONNECTED),
    (aiohttp.ClientPayloadError, SendFault.TRUNCATED),
    (AnswerTooLongError, SendFault.TRUNCATED),
    (aiohttp.ClientResponseError, SendFault.GARBAGE),
    (aiohttp.ClientConnectionError, SendFault.RESET),
)

# No descriptor, no local port or no memory for one more socket: the fault is on this machine.
_NO_SOCKET = frozenset({errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM})


def fault_of(trouble: Exception, *, is_tls: bool) -> SendFault:
    """The fault that an exception raised by one aiohttp request stands for; `is_tls` for https addresses."""
    if type(trouble) is aiohttp.ClientConnectorError:
        return _connect_fault_of(trouble.os_error, is_tls=is_tls)
    return next((fault for kind, fault in _BY_CLASS if isinstance(trouble, kind)), SendFault.OTHER)


def _connect_fault_of(os_error: OSError, *, is_tls: bool) -> SendFault:
    """What kept a connection from being made; TCP and TLS are one step for aiohttp."""
    if isinstance(os_error, AddressRefusedError):
        return SendFault.ADDRESS_REFUSED
    if os_error.errno in _NO_SOCKET:
        return SendFault.NO_CONNECTION
    if os_error.errno == errno.ETIMEDOUT:  # the system's own patience, which may end before ours
        return SendFault.CONNECT_TIMEOUT
    if isinstance(os_error, ConnectionResetError | ConnectionAbortedError):
        return SendFault.TLS if is_tls else SendFault.RESET  # TCP stood, so with TLS it was the handshake
    return SendFault.CONNECT_REFUSED


def words_of(trouble: BaseException) -> str:
    """The names of what went wrong, outermost first.

    Never the messages: they quote hosts, addresses, certificates and what the peer sent.
    """
    names = []
    link: BaseException | None = trouble
    while link is not None:
        names.append(f"{type(link).__name__} {_code_of(link)}".rstrip())
        link = link.__cause__
    return " < ".join(names)[:_DETAIL_CHARS_MAX]


def _code_of(trouble: BaseException) -> str:
    """OpenSSL's reason or the system's error code, where there is one."""
    if isinstance(trouble, ssl.SSLError):
        return getattr(trouble, "reason", None) or ""  # aiohttp's own subclasses never set it
    if isinstance(trouble, OSError) and trouble.errno is not None:
        return errno.errorcode.get(trouble.errno, str(trouble.errno))
    return ""
