"""Which addresses a connection may be made to, and the defaults of the HTTP client that are closed for everybody."""

import ipaddress
import socket
import sys

import aiohttp
import pytest

from onetake.outbound import AddressRefusedError, AddressRule, is_public, open_session
from tests.providers.fault_server import FaultServer, Peer

PUBLIC = ("8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1")
NOT_PUBLIC = (
    "127.0.0.1",
    "0.0.0.0",  # noqa: S104 - refused, not bound
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "2001:db8::1",
    "fc00::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
    assert AddressRule().permits(address, 443)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert not AddressRule().permits(address, 443)
    assert AddressRule(allow_any=True).permits(address, 443)


def test_allowed_by_name_is_one_address_and_one_port() -> None:
    rule = AddressRule(allowed_private=frozenset({("127.0.0.1", 8000), ("::1", 8000)}))
    assert rule.permits("127.0.0.1", 8000)
    assert rule.permits("0:0:0:0:0:0:0:1", 8000)
    assert not rule.permits("127.0.0.1", 8001)
    assert not rule.permits("127.0.0.2", 8000)
    assert not rule.permits("::ffff:127.0.0.1", 8000)


def answer(peer: Peer) -> None:
    peer.read_request()
    peer.answer(headers="Set-Cookie: a=b\r\n")
    peer.hang()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0x7f000001", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]"]
)
async def test_loopback_is_refused_however_it_is_written(host: str) -> None:
    async with (
        FaultServer(answer) as server,
        open_session(rule=AddressRule(), pooled=False, connect_timeout_s=5) as session,
    ):
        with pytest.raises(aiohttp.ClientConnectorError) as refused:
            await session.get(f"http://{host}:{server.port}/", allow_redirects=False)
    assert isinstance(refused.value.os_error, AddressRefusedError)
    assert server.peers == []


async def test_an_allowed_origin_is_reached() -> None:
    async with FaultServer(answer) as server:
        rule = AddressRule(allowed_private=frozenset({("127.0.0.1", server.port)}))
        async with open_session(rule=rule, pooled=True, connect_timeout_s=5) as session:
            response = await session.get(f"http://127.0.0.1:{server.port}/", allow_redirects=False)
            assert await response.read() == b"{}"
            assert list(session.cookie_jar) == []
    assert server.peers[0].received.count(b"User-Agent: onetake\r\n") == 1


async def test_the_environment_has_no_say() -> None:
    async with open_session(rule=AddressRule(), pooled=True, connect_timeout_s=5) as session:
        assert not session.trust_env


def test_the_kernel_ends_an_upload_that_nobody_reads() -> None:
    address = ("127.0.0.1", 80)
    opened = AddressRule(allow_any=True).open_socket(
        (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)
    )
    with opened:
        assert sys.platform != "linux" or opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 300_000
