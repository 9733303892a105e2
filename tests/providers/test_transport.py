"""What the transport promises beside the table of faults: the last check, giving up, exact bytes, and quiet GETs."""

import asyncio
import errno
import os
import resource
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import aiohttp
import pytest
import trustme
from aiohttp.client_reqrep import ConnectionKey

from onetake.clock import SystemClock
from onetake.domain.wire import SendFault, SendPhase, WireRequest, WireResult
from onetake.outbound import AddressRule
from onetake.providers.faults import fault_of, words_of
from onetake.providers.transport import LAST_WORDS_S, Credential, HttpTransport
from tests.providers.fault_server import PATIENCE_S, FaultServer, Peer

KEY = Credential(header="Authorization", value="Bearer rk_live_5f2a")


def new_transport(
    *,
    rule: AddressRule = AddressRule(allow_any=True),  # noqa: B008 - frozen
    get_connections_max: int = 10,
    connect_timeout_s: float = PATIENCE_S,
    ssl_context: ssl.SSLContext | None = None,
) -> HttpTransport:
    return HttpTransport(
        clock=SystemClock(),
        user_agent="onetake-tests",
        rule=rule,
        get_connections_max=get_connections_max,
        connect_timeout_s=connect_timeout_s,
        ssl_context=ssl_context,
    )


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    async with new_transport() as opened:
        yield opened


async def post(
    transport: HttpTransport,
    url: str,
    *,
    may_send: Callable[[], bool] = lambda: True,
    give_up: asyncio.Event | None = None,
    headers: tuple[tuple[str, str], ...] = (),
    timeout_s: float = PATIENCE_S,
) -> WireResult:
    request = WireRequest(method="POST", url=url, headers=headers, body=b"{}.")
    return await transport.post_once(request, credential=KEY, timeout_s=timeout_s, may_send=may_send, give_up=give_up)


async def get(transport: HttpTransport, url: str, *, timeout_s: float = PATIENCE_S) -> WireResult:
    return await transport.get(WireRequest(method="GET", url=url), credential=KEY, timeout_s=timeout_s)


def at(server: FaultServer, target: str = "/") -> str:
    return f"http://127.0.0.1:{server.port}{target}"


def answer(peer: Peer) -> None:
    """Answer one request and close when the client does."""
    peer.read_request()
    peer.answer()
    peer.hang()


def keep_answering(peer: Peer) -> None:
    """Answer requests without body, as many as come on the connection."""
    number = 1
    while True:
        peer.read_head(number)
        peer.answer(headers="Set-Cookie: a=b\r\n")
        number += 1


def hang(peer: Peer) -> None:
    peer.read_request()
    peer.hang()


# --- the last check before the first byte


async def test_no_byte_leaves_when_the_lease_is_too_short(transport: HttpTransport) -> None:
    async with FaultServer(answer) as server:
        result = await post(transport, at(server), may_send=lambda: False)
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.LEASE_TOO_SHORT, SendPhase.CONNECTED)
    assert not result.receipt.may_have_left
    assert result.answer is None
    assert [peer.request_bytes for peer in server.peers] == [0]


async def test_no_byte_leaves_over_tls_either() -> None:
    authority = trustme.CA()
    served, trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(served)
    authority.configure_trust(trusted)

    def answer_tls(peer: Peer) -> None:
        peer.start_tls(served)
        answer(peer)

    async with FaultServer(answer_tls) as server, new_transport(ssl_context=trusted) as transport:
        result = await post(transport, f"https://127.0.0.1:{server.port}/", may_send=lambda: False)
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.LEASE_TOO_SHORT, SendPhase.CONNECTED)
    assert [peer.request_bytes for peer in server.peers] == [0]


async def test_the_lease_is_checked_once_before_the_first_byte(transport: HttpTransport) -> None:
    bytes_at_check: list[int] = []

    def may_send() -> bool:
        bytes_at_check.append(server.request_bytes)
        return True

    async with FaultServer(answer) as server:
        result = await post(transport, at(server), may_send=may_send)
    assert result.receipt.fault is None
    assert bytes_at_check == [0]


async def test_a_check_that_breaks_sends_nothing(transport: HttpTransport) -> None:
    def broken() -> bool:
        raise LookupError("rk_live_5f2a")

    async with FaultServer(answer) as server:
        result = await post(transport, at(server), may_send=broken)
    assert (result.receipt.fault, result.receipt.detail) == (SendFault.OTHER, "LookupError")
    assert not result.receipt.may_have_left
    assert server.request_bytes == 0


# --- giving up and being cancelled


async def test_given_up_in_the_air_may_have_left(transport: HttpTransport) -> None:
    give_up = asyncio.Event()
    async with FaultServer(hang) as server, asyncio.TaskGroup() as group:
        sending = group.create_task(post(transport, at(server), give_up=give_up))
        await server.request_arrives()
        give_up.set()
    receipt = sending.result().receipt
    assert (receipt.fault, receipt.phase) == (SendFault.GIVEN_UP, SendPhase.BODY_SENT)


async def test_an_answer_that_came_while_the_process_was_frozen_past_the_deadline_is_read(
    transport: HttpTransport,
) -> None:
    timeout_s, is_frozen = 2.0, threading.Event()
    body = b'"' + b"x" * 900_000 + b'"'  # read in several turns of the loop

    def answer_the_frozen(peer: Peer) -> None:
        peer.read_request()
        is_frozen.wait(PATIENCE_S)
        peer.answer(body=body)
        peer.hang()

    async with FaultServer(answer_the_frozen) as server, asyncio.TaskGroup() as group:
        sending = group.create_task(post(transport, at(server), timeout_s=timeout_s))
        await server.request_arrives()
        is_frozen.set()  # nothing of the loop runs from here until the deadline is over
        threading.Event().wait(timeout_s)
    result = sending.result()
    assert (result.receipt.fault, result.answer and result.answer.body) == (None, body)


async def test_what_drips_on_after_the_deadline_is_given_up(transport: HttpTransport) -> None:
    async with FaultServer(hang) as server:
        result = await post(transport, at(server), timeout_s=0.1 + LAST_WORDS_S)
    assert (result.receipt.fault, result.answer) == (SendFault.DEADLINE, None)


@pytest.mark.parametrize("timeout_s", [0, PATIENCE_S])
async def test_given_up_before_it_began_is_not_sent(transport: HttpTransport, timeout_s: float) -> None:
    give_up = asyncio.Event()
    give_up.set()
    async with FaultServer(answer) as server:
        result = await post(transport, at(server), give_up=give_up, timeout_s=timeout_s)
    assert (result.receipt.fault, result.receipt.may_have_left) == (SendFault.GIVEN_UP, False)
    assert server.request_bytes == 0


async def test_an_answer_in_time_is_not_given_up(transport: HttpTransport) -> None:
    async with FaultServer(answer) as server:
        result = await post(transport, at(server), give_up=asyncio.Event())
    assert result.receipt.fault is None


async def test_cancelling_the_call_cancels_the_request(transport: HttpTransport) -> None:
    async with FaultServer(hang) as server:
        sending = asyncio.create_task(post(transport, at(server), give_up=asyncio.Event()))
        await server.request_arrives()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    assert len(server.heads("POST")) == 1


async def test_closing_the_transport_ends_what_is_in_the_air() -> None:
    transport = new_transport()
    async with FaultServer(hang) as server, asyncio.TaskGroup() as group:
        sending = group.create_task(post(transport, at(server)))
        await server.request_arrives()
        await transport.aclose()
    assert sending.result().receipt.may_have_left
    result = await post(transport, "http://127.0.0.1:1/")
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.OTHER, SendPhase.NOTHING)


# --- what goes over the wire, byte for byte


ODD_IDS = {  # case C123, percent-encoded by the adapter's rule
    "models/veo/operations/ab:c": "models%2Fveo%2Foperations%2Fab%3Ac",
    "a/../b, encoded": "a%2F..%2Fb",
    "a/../b, as a path": "a/../b",
    "dots, encoded": "%2e%2e",
    "x?y#z": "x%3Fy%23z",
    "id with space": "id%20with%20space",
    "é": "%C3%A9",
    "é, in small letters": "%c3%a9",
    "500 characters": "x" * 500,
    "leading dash": "-rf",
    "signed": "clip.mp4?X-Sig=a%2Bb%2Fc%7E&empty=&plus=a+b&at=@:",
}


@pytest.mark.parametrize("encoded", ODD_IDS.values(), ids=ODD_IDS)
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_c123_the_server_gets_the_path_as_it_stands(transport: HttpTransport, method: str, encoded: str) -> None:
    async with FaultServer(answer) as server:
        await (post if method == "POST" else get)(transport, at(server, f"/v1/tasks/{encoded}"))
    assert server.heads(method) == [f"{method} /v1/tasks/{encoded} HTTP/1.1".encode()]


async def test_body_headers_and_key_arrive_as_given(transport: HttpTransport) -> None:
    async with FaultServer(answer) as server:
        await post(transport, at(server), headers=(("Content-Type", "application/json"), ("Content-Length", "9")))
    head, body = bytes(server.peers[0].received).split(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert body == b"{}."
    assert "Authorization: Bearer rk_live_5f2a" in lines
    assert "User-Agent: onetake-tests" in lines
    assert "Connection: close" in lines
    assert [line for line in lines if line.startswith("Content-")] == [
        "Content-Type: application/json",
        "Content-Length: 3",
    ]


async def test_no_key_where_none_is_wanted(transport: HttpTransport) -> None:
    async with FaultServer(answer) as server:
        await transport.get(WireRequest(method="GET", url=at(server)), credential=None, timeout_s=PATIENCE_S)
    assert b"authorization" not in bytes(server.peers[0].received).lower()


async def test_a_header_that_comes_twice_is_joined(transport: HttpTransport) -> None:
    def answer_twice(peer: Peer) -> None:
        peer.read_request()
        peer.answer(headers="Retry-After: 3\r\nX-Note: a\r\nx-note: b\r\n")
        peer.hang()

    async with FaultServer(answer_twice) as server:
        result = await post(transport, at(server))
    assert result.answer is not None
    assert result.answer.headers == {"content-length": "2", "retry-after": "3", "x-note": "a, b"}


BAD_URLS = (
    "",
    "/v1/tasks",
    "ftp://127.0.0.1/",
    "http:///x",
    "http://user:secret@127.0.0.1/",
    "http://127.0.0.1/a b",
    "http://127.0.0.1/a\r\nX: y",
    "http://127.0.0.1/é",
    "http://127.0.0.1/a#b",
    "http://127.0.0.1:99999/",
    "http://[::1/",
    "http://2130706433/",
    f"http://{'x' * 64}.example/",
)


@pytest.mark.parametrize("url", BAD_URLS)
async def test_an_address_that_cannot_be_written_is_not_sent(transport: HttpTransport, url: str) -> None:
    result = await post(transport, url)
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.BAD_URL, SendPhase.NOTHING)
    assert "secret" not in repr(result)


@pytest.mark.parametrize("header", [("X-Key", "a\r\nb"), ("X-Key", "ключ"), ("X Key", "a"), ("", "a")])
async def test_a_header_that_cannot_be_written_is_not_sent(transport: HttpTransport, header: tuple[str, str]) -> None:
    async with FaultServer(answer) as server:
        result = await post(transport, at(server), headers=(header,))
    assert (result.receipt.fault, result.receipt.detail) == (SendFault.OTHER, "UnwritableHeaderError")
    assert not result.receipt.may_have_left
    assert server.request_bytes == 0


@pytest.mark.parametrize("method", ["PUT", "GET"])
async def test_only_a_post_is_posted(transport: HttpTransport, method: str) -> None:
    request = WireRequest(method=method, url="http://127.0.0.1:1/")
    with pytest.raises(ValueError, match=f"not a {method}"):
        await transport.post_once(request, credential=None, timeout_s=1, may_send=lambda: True)


async def test_only_a_get_is_got(transport: HttpTransport) -> None:
    with pytest.raises(ValueError, match="not a POST"):
        await transport.get(WireRequest(method="POST", url="http://127.0.0.1:1/"), credential=None, timeout_s=1)


def test_the_key_is_never_shown() -> None:
    assert "rk_live" not in repr(KEY)


# --- connections


async def test_each_post_has_a_connection_of_its_own(transport: HttpTransport) -> None:
    async with FaultServer(keep_answering) as server:
        results = [await post(transport, at(server)) for _ in range(2)]
    assert [len(peer.received) > 0 for peer in server.peers] == [True, True]
    assert list(results[1].receipt.at_us) == ["connected", "headers_sent", "body_sent", "status", "body_read"]


async def test_gets_share_a_connection_and_no_cookies(transport: HttpTransport) -> None:
    async with FaultServer(keep_answering) as server:
        results = [await get(transport, at(server)) for _ in range(2)]
        await transport.aclose()
    assert len(server.peers) == 1
    assert len(server.heads("GET")) == 2
    assert b"Cookie:" not in server.peers[0].received
    assert list(results[1].receipt.at_us) == ["connected", "headers_sent", "status", "body_read"]


async def test_a_look_up_is_a_phase_of_its_own(transport: HttpTransport) -> None:
    async with FaultServer(answer) as server:
        result = await post(transport, f"http://localhost:{server.port}/")
    assert next(iter(result.receipt.at_us)) == "resolved"


@pytest.mark.parametrize("last_words", [Peer.fin, Peer.reset], ids=["FIN", "RST"])
async def test_a_get_that_lost_its_connection_is_not_sent_again(
    transport: HttpTransport, last_words: Callable[[Peer], None]
) -> None:
    def break_off(peer: Peer) -> None:
        peer.read_request()
        last_words(peer)

    async with FaultServer(break_off) as server:
        result = await get(transport, at(server))
    assert result.receipt.may_have_left
    assert len(server.heads("GET")) == 1


async def test_a_get_on_a_stale_connection_is_not_sent_again(transport: HttpTransport) -> None:
    def answer_then_reset(peer: Peer) -> None:
        peer.read_head()
        peer.answer()
        peer.read_head(2)
        peer.reset()

    async with FaultServer(answer_then_reset) as server:
        first, second = [await get(transport, at(server)) for _ in range(2)]
    assert first.receipt.fault is None
    assert (second.receipt.fault, second.receipt.may_have_left) == (SendFault.RESET, True)
    assert len(server.heads("GET")) == 2


async def test_a_get_is_not_redirected(transport: HttpTransport) -> None:
    def redirect(peer: Peer) -> None:
        peer.read_request()
        peer.answer("302 Found", headers="Location: /elsewhere\r\n")
        peer.hang()

    async with FaultServer(redirect) as server:
        result = await get(transport, at(server))
        await transport.aclose()
    assert result.receipt.status == 302
    assert len(server.heads("GET")) == 1


@pytest.mark.parametrize(
    ("connect_timeout_s", "timeout_s"), [(0.1, PATIENCE_S), (PATIENCE_S, 0.1)], ids=["connect limit", "deadline only"]
)
async def test_c002e_no_free_connection_in_the_pool_is_not_sent(connect_timeout_s: float, timeout_s: float) -> None:
    async with (
        FaultServer(hang) as server,
        new_transport(get_connections_max=1, connect_timeout_s=connect_timeout_s) as transport,
    ):
        holder = asyncio.create_task(get(transport, at(server)))
        await server.request_arrives()
        result = await get(transport, at(server), timeout_s=timeout_s)
        holder.cancel()
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.NO_CONNECTION, SendPhase.NOTHING)
    assert len(server.heads("GET")) == 1


async def test_a_get_waits_for_a_free_connection() -> None:
    async with FaultServer(keep_answering) as server, new_transport(get_connections_max=1) as transport:
        results = await asyncio.gather(*(get(transport, at(server)) for _ in range(3)))
    assert [result.receipt.fault for result in results] == [None, None, None]


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    """Let the process open nothing further."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


async def test_c002e_no_free_descriptor_is_not_sent(transport: HttpTransport) -> None:
    async with FaultServer(answer) as server:
        with no_more_descriptors():
            result = await post(transport, at(server))
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.NO_CONNECTION, SendPhase.NOTHING)
    assert server.request_bytes == 0


async def test_our_key_is_taken_out_of_an_answer_that_quotes_it(transport: HttpTransport) -> None:
    secret = KEY.value.removeprefix("Bearer ")
    said = f'{{"error":{{"message":"Incorrect API key provided: {secret}"}}}}'

    def quote(peer: Peer) -> None:
        peer.read_request()
        peer.answer("401 Unauthorized", said.encode(), f"X-Key: {secret}\r\n")
        peer.hang()

    async with FaultServer(quote) as server:
        results = [await post(transport, at(server)), await get(transport, at(server))]
    for result in results:
        assert result.answer is not None
        assert secret not in repr(result)
        assert result.answer.body == said.replace(secret, "(our key)").encode()


async def test_a_refused_address_is_not_sent() -> None:
    async with FaultServer(answer) as server, new_transport(rule=AddressRule()) as transport:
        result = await post(transport, f"http://localhost:{server.port}/")
    assert (result.receipt.fault, result.receipt.phase) == (SendFault.ADDRESS_REFUSED, SendPhase.RESOLVED)
    assert server.peers == []


def test_the_systems_own_connect_timeout_is_a_connect_timeout() -> None:
    """After two minutes and more, so not waited for: Linux gives up on a connection with ETIMEDOUT."""
    where = ConnectionKey("127.0.0.1", 80, is_ssl=False, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)
    trouble = aiohttp.ClientConnectorError(
        where, TimeoutError(errno.ETIMEDOUT, "Connect call failed ('127.0.0.1', 80)")
    )
    assert fault_of(trouble, is_tls=False) is SendFault.CONNECT_TIMEOUT
    assert words_of(trouble) == "ClientConnectorError ETIMEDOUT"
