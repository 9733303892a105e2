"""Downloads from a real server that fails, lies, leads astray and stalls."""

# ruff: noqa: ASYNC240 - a test may look at a small local file between two downloads

import asyncio
import contextlib
import gzip
import hashlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from onetake.clock import ManualClock
from onetake.media.fetch import Fetched, Fetcher, FetchFailed, FetchFault
from onetake.outbound import AddressRule
from tests.media.raw_server import STALL, head, ok, refusal, serving

BODY = bytes(range(256)) * 2000  # half a megabyte: several chunks
SECRET = "signature=5ecret"
TIMEOUT_S = 60.0  # never reached by a server that answers


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "incoming"


@contextlib.asynccontextmanager
async def fetching(*ports: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Fetcher]:
    rule = AddressRule(allowed_private=frozenset(("127.0.0.1", port) for port in ports))
    async with contextlib.aclosing(Fetcher(rule=rule, clock=ManualClock(), ssl_context=tls)) as fetcher:
        yield fetcher


async def fetched_from(answer: bytes, into: Path, **wanted: float) -> Fetched | FetchFailed:
    async with serving({"/file": answer}) as server, fetching(server.port) as fetcher:
        return await fetch(fetcher, server.address("/file"), into, **wanted)


async def fetch(
    fetcher: Fetcher, address: str, into: Path, *, size_bytes_max: float = 1e6, timeout_s: float = TIMEOUT_S
) -> Fetched | FetchFailed:
    result = await fetcher.fetch(
        f"{address}?{SECRET}", into=into, size_bytes_max=int(size_bytes_max), timeout_s=timeout_s
    )
    assert into.exists() == isinstance(result, Fetched)
    if isinstance(result, FetchFailed):
        assert "127.0.0.1" not in result.detail
        assert SECRET not in result.detail
    return result


def fault(result: Fetched | FetchFailed) -> FetchFault:
    assert isinstance(result, FetchFailed), result
    return result.kind


@pytest.mark.parametrize("body", [BODY, b"small", b""])
async def test_a_whole_body_is_in_the_file_with_its_digest(into: Path, body: bytes) -> None:
    result = await fetched_from(ok(body, "Content-Type: image/png"), into)
    digest = hashlib.sha256(body).hexdigest()
    assert result == Fetched(path=into, digest=digest, size_bytes=len(body), content_type="image/png")
    assert into.read_bytes() == body


async def test_a_chunked_body_is_counted_by_its_chunks(into: Path) -> None:
    answer = head(200, "Transfer-Encoding: chunked") + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    result = await fetched_from(answer, into)
    assert isinstance(result, Fetched)
    assert into.read_bytes() == b"abcde"


async def test_what_stood_in_the_file_is_gone(into: Path) -> None:
    into.write_bytes(BODY)
    assert isinstance(await fetched_from(ok(b"new"), into), Fetched)
    assert into.read_bytes() == b"new"


async def test_a_signed_address_is_sent_as_it_stands(into: Path) -> None:
    async with serving({"/a%2Bb%2F%7E": ok(b"x")}) as server, fetching(server.port) as fetcher:
        await fetch(fetcher, server.address("/a%2Bb%2F%7E"), into)
    assert server.asked[0].startswith(f"GET /a%2Bb%2F%7E?{SECRET} HTTP/1.1\r\n")
    assert "Accept-Encoding: identity\r\n" in server.asked[0]


async def test_many_downloads_share_a_fetcher(tmp_path: Path) -> None:
    answers = {f"/{number}": ok(b"%d" % number) for number in range(20)}
    async with serving(answers) as server, fetching(server.port) as fetcher:
        await asyncio.gather(*(fetch(fetcher, server.address(path), tmp_path / path[1:]) for path in answers))
    assert [(tmp_path / str(number)).read_text() for number in range(20)] == [str(number) for number in range(20)]


@pytest.mark.parametrize(
    "answer",
    [
        ok(BODY[:300_000], length=len(BODY)),
        ok(b"", length=5),
        head(200, "Transfer-Encoding: chunked") + b"3\r\nabc\r\n",
        head(206, "Content-Range: bytes 0-4/9", "Content-Length: 5") + b"abcde",
    ],
    ids=["short", "nothing", "no last chunk", "a part"],
)
async def test_a_short_body_is_never_taken_as_whole(into: Path, answer: bytes) -> None:  # C073
    assert fault(await fetched_from(answer, into)) is FetchFault.TRUNCATED


async def test_a_body_longer_than_announced_is_refused(into: Path) -> None:  # C073
    assert fault(await fetched_from(ok(b"abcdef", length=3), into)) is FetchFault.SERVER


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (204, FetchFault.SERVER),
        (304, FetchFault.SERVER),
        (400, FetchFault.EXPIRED),
        (401, FetchFault.EXPIRED),
        (403, FetchFault.EXPIRED),
        (404, FetchFault.EXPIRED),
        (410, FetchFault.EXPIRED),
        (408, FetchFault.SERVER),
        (425, FetchFault.SERVER),
        (429, FetchFault.THROTTLED),
        (500, FetchFault.SERVER),
        (503, FetchFault.SERVER),
    ],
)
async def test_a_status_says_what_helps(into: Path, status: int, kind: FetchFault) -> None:
    result = await fetched_from(refusal(status), into)
    assert result == FetchFailed(kind=kind, detail=f"the server answered {status}")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("value", "wait_s"), [("7", 7.0), ("Thu, 01 Jan 2026 00:01:30 GMT", 90.0), ("soon", None)])
async def test_both_forms_of_retry_after_are_read(into: Path, status: int, value: str, wait_s: float | None) -> None:
    result = await fetched_from(refusal(status, f"Retry-After: {value}"), into)
    assert isinstance(result, FetchFailed)
    assert result.retry_after_s == wait_s


async def test_a_compressed_body_is_refused(into: Path) -> None:
    assert fault(await fetched_from(ok(gzip.compress(BODY), "Content-Encoding: gzip"), into)) is FetchFault.SERVER


@pytest.mark.parametrize("answer", [ok(BODY), head(200) + BODY], ids=["announced", "streamed"])
async def test_a_body_may_not_pass_its_limit(into: Path, answer: bytes) -> None:
    assert fault(await fetched_from(answer, into, size_bytes_max=len(BODY) - 1)) is FetchFault.TOO_LARGE
    assert isinstance(await fetched_from(answer, into, size_bytes_max=len(BODY)), Fetched)


@pytest.mark.parametrize("answer", [STALL, ok(b"abc", length=9) + STALL], ids=["no answer", "half a body"])
async def test_a_stall_ends_at_the_time_limit(into: Path, answer: bytes) -> None:
    assert fault(await fetched_from(answer, into, timeout_s=0.1)) is FetchFault.TIMEOUT


async def test_no_answer_is_the_networks_fault_and_no_http_the_servers(into: Path) -> None:
    assert fault(await fetched_from(b"", into)) is FetchFault.NETWORK
    assert fault(await fetched_from(b"SSH-2.0-OpenSSH_9.2\r\n", into)) is FetchFault.SERVER


async def test_nobody_listening_is_the_networks_fault(into: Path) -> None:
    async with serving({}) as server:
        pass
    async with fetching(server.port) as fetcher:
        assert fault(await fetch(fetcher, server.address("/file"), into)) is FetchFault.NETWORK


async def test_one_get_is_one_get(into: Path) -> None:
    async with serving({"/file": b""}) as server, fetching(server.port) as fetcher:
        await fetch(fetcher, server.address("/file"), into)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(into: Path, status: int) -> None:
    answers = {
        "/file": refusal(status, "Location: /a/b"),
        "/a/b": refusal(status, "Location: ../c%2Bd?x=%2F"),
        "/c%2Bd": ok(b"here"),
    }
    async with serving(answers) as server, fetching(server.port) as fetcher:
        assert isinstance(await fetch(fetcher, server.address("/file"), into), Fetched)
    assert server.asked[-1].startswith("GET /c%2Bd?x=%2F ")


@pytest.mark.parametrize(("hops", "is_followed"), [(5, True), (6, False)])
async def test_redirects_end_after_five(into: Path, hops: int, is_followed: bool) -> None:  # noqa: FBT001 - a column
    answers = {f"/{hop}": refusal(302, f"Location: /{hop + 1}") for hop in range(hops)} | {f"/{hops}": ok(b"here")}
    async with serving(answers) as server, fetching(server.port) as fetcher:
        result = await fetch(fetcher, server.address("/0"), into)
    assert isinstance(result, Fetched) == is_followed
    assert len(server.asked) == 6


async def test_a_loop_ends(into: Path) -> None:
    answer = refusal(302, "Location: /file")
    result = await fetched_from(answer, into)
    assert result == FetchFailed(kind=FetchFault.SERVER, detail="more than 5 redirects")


@pytest.mark.parametrize("location", ["", "http://[", "ftp://example.com/x", "file:///etc/passwd", "http://a b/"])
async def test_a_redirect_to_no_address_is_not_followed(into: Path, location: str) -> None:
    answer = refusal(302, *([f"Location: {location}"] if location else []))
    assert fault(await fetched_from(answer, into)) is FetchFault.BAD_ADDRESS


async def test_a_redirect_to_a_private_host_is_refused_unasked(into: Path) -> None:
    async with serving({"/file": ok(b"internal")}) as inside:
        answer = refusal(302, f"Location: {inside.address('/file')}")
        assert fault(await fetched_from(answer, into)) is FetchFault.NOT_OURS
    assert inside.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/x",
        "http://localhost/x",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/x",
        "http://100.64.0.1/x",
        "http://[::1]/x",
        "http://[::ffff:127.0.0.1]/x",
        "http://0x7f000001/x",
    ],
)
async def test_private_hosts_are_refused_however_they_are_written(into: Path, address: str) -> None:  # C108
    async with fetching() as fetcher:
        assert fault(await fetch(fetcher, address, into)) is FetchFault.NOT_OURS


@pytest.mark.parametrize(
    "address",
    [
        "",
        "picture.png",
        "file:///etc/passwd",
        "gopher://example.com/x",
        "data:image/png;base64,AAAA",
        "http:///x",
        "http://user@example.com/x",
        "http://user:word@example.com/x",
        "http://example.com:99999/x",
        "http://2130706433/x",
        "http://example.com/x\r\nX-Evil: 1",
        "http://[::1/x",
    ],
)
async def test_other_addresses_are_no_addresses(into: Path, address: str) -> None:  # C108
    async with fetching() as fetcher:
        assert fault(await fetch(fetcher, address, into)) is FetchFault.BAD_ADDRESS


async def test_encryption_is_not_left_by_a_redirect_except_at_home(into: Path) -> None:
    authority = trustme.CA()
    server_tls, client_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server_tls)
    authority.configure_trust(client_tls)
    async with serving({"/file": ok(b"plain")}) as plain:
        answers = {
            "/out": refusal(302, "Location: http://example.com/file"),
            "/home": refusal(302, f"Location: {plain.address('/file')}"),
        }
        async with (
            serving(answers, tls=server_tls) as safe,
            fetching(plain.port, safe.port, tls=client_tls) as fetcher,
        ):
            out = await fetch(fetcher, safe.address("/out"), into)
            assert out == FetchFailed(kind=FetchFault.NOT_OURS, detail="a redirect leads out of https")
            assert isinstance(await fetch(fetcher, safe.address("/home"), into), Fetched)


async def test_a_certificate_nobody_vouches_for_is_the_networks_fault(into: Path) -> None:
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(server_tls)
    async with serving({"/file": ok(b"x")}, tls=server_tls) as server, fetching(server.port) as fetcher:
        assert fault(await fetch(fetcher, server.address("/file"), into)) is FetchFault.NETWORK
    assert server.asked == []


@pytest.mark.parametrize("body", [BODY, b"small"])
async def test_a_full_disk_is_a_storage_fault(into: Path, body: bytes) -> None:
    into.symlink_to("/dev/full")  # a device that is always full; removing `into` removes the link
    result = await fetched_from(ok(body), into)
    sentence = f"The file store at {into.parent} is full; free some space there."
    assert result == FetchFailed(kind=FetchFault.STORAGE, detail=sentence)
    assert Path("/dev/full").exists()


async def test_a_missing_folder_is_a_storage_fault(tmp_path: Path) -> None:
    assert fault(await fetched_from(ok(BODY), tmp_path / "nowhere" / "file")) is FetchFault.STORAGE


async def test_a_cancelled_download_leaves_nothing(into: Path) -> None:
    async with serving({"/file": ok(b"abc", length=9) + STALL}) as server, fetching(server.port) as fetcher:
        fetching_it = asyncio.create_task(
            fetcher.fetch(server.address("/file"), into=into, size_bytes_max=9, timeout_s=TIMEOUT_S)
        )
        await server.stalled.wait()
        fetching_it.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching_it
    assert not into.exists()
