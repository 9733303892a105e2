"""What each fault on the wire proves: a table of cases, run against a server that counts what really arrived.

Each case runs once in each mode. All cases of a mode run at the same time, so silence is waited for only once.
"""

import asyncio
import gc
import gzip
import logging
import ssl
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import pytest
import trustme
import uvloop

from onetake.clock import SystemClock
from onetake.domain.wire import SendFault, SendPhase, WireRequest, WireResult
from onetake.providers.transport import Credential, HttpTransport
from tests.providers.fault_server import PATIENCE_S, FaultServer, Peer, Script, deaf_port, refusing_port

SIGNATURE = "c2lnbmVk"
KEY = "rk_live_5f2a"
SMALL = b'{"prompt":"a cat"}.'
BIG = b"x" * 8_000_000 + b"."  # more than the buffers of both kernels on loopback hold for a peer that doesn't read
ANSWER_BYTES_MAX = 10_000
HANG_S = 1.0  # how long a case that hangs is let hang

AUTHORITY = trustme.CA()
ELSEWHERE = trustme.CA()


def tls_server(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


TRUSTED = tls_server(AUTHORITY, "127.0.0.1")
UNTRUSTED = tls_server(ELSEWHERE, "127.0.0.1")
MISNAMED = tls_server(AUTHORITY, "elsewhere.example")


def steps(*script: Callable[[Peer], object]) -> Script:
    """One script that does these things in order."""

    def run(peer: Peer) -> None:
        for step in script:
            step(peer)

    return run


def send(data: bytes) -> Script:
    return lambda peer: peer.send(data)


def tls(context: ssl.SSLContext) -> Script:
    return lambda peer: peer.start_tls(context)


def after_request(*script: Callable[[Peer], object]) -> Script:
    return steps(Peer.read_request, *script)


def answering(data: bytes) -> Script:
    return after_request(send(data), Peer.hang)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n"
PART = b'{"id": "task'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n" + PART + b"\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def encoded(coding: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


DEADLINE: set[SendFault | None] = {SendFault.DEADLINE}
DISCONNECTED: set[SendFault | None] = {SendFault.DISCONNECTED}
RESET: set[SendFault | None] = {SendFault.RESET}
GARBAGE: set[SendFault | None] = {SendFault.GARBAGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One fault and what the receipt must make of it.

    Attributes:
        faults: the accepted ones; more than one where chance decides what the client meets first.
        phases: the accepted last phases.
        status, body: what must have been read of the answer; None for no answer.
        script: what the server does.
        body_sent: what the client sends.
        scheme, host, place: where to, if not to the server.
    """

    name: str
    faults: set[SendFault | None]
    phases: set[SendPhase]
    status: int | None = None
    body: bytes | None = None
    script: Script = Peer.hang
    body_sent: bytes = SMALL
    scheme: str = "http"
    host: str = "127.0.0.1"
    place: Callable[[], AbstractContextManager[int]] | None = None

    @property
    def may_have_left(self) -> set[bool]:
        """What may be claimed."""
        return {phase >= SendPhase.HEADERS_SENT for phase in self.phases}


def unconnected(
    name: str,
    fault: SendFault,
    script: Script = Peer.hang,
    *,
    scheme: str = "http",
    host: str = "127.0.0.1",
    place: Callable[[], AbstractContextManager[int]] | None = None,
) -> Case:
    """No connection came about: not sent."""
    return Case(
        name=name,
        faults={fault},
        phases={SendPhase.NOTHING},
        script=script,
        scheme=scheme,
        host=host,
        place=place,
    )


def unanswered(
    name: str,
    faults: set[SendFault | None],
    script: Script,
    *,
    phase: SendPhase = SendPhase.BODY_SENT,
    body_sent: bytes = SMALL,
    scheme: str = "http",
) -> Case:
    """The connection stood and no status came: may have left."""
    return Case(name=name, faults=faults, phases={phase}, script=script, body_sent=body_sent, scheme=scheme)


def ended(name: str, script: Script, *, body_sent: bytes = SMALL) -> Case:
    """The peer's FIN came while we were writing, and chance decides how far we got: may have left."""
    return Case(
        name=name,
        faults=RESET | DISCONNECTED,
        phases={SendPhase.HEADERS_SENT, SendPhase.BODY_SENT},
        script=script,
        body_sent=body_sent,
    )


def stuck(name: str, faults: set[SendFault | None], script: Script) -> Case:
    """The connection stood and took only part of a big body: may have left."""
    return unanswered(name, faults, script, phase=SendPhase.HEADERS_SENT, body_sent=BIG)


def cut(name: str, fault: SendFault, script: Script, *, status: int = 200, body: bytes) -> Case:
    """A status came, but not all of the body."""
    return Case(
        name=name,
        faults={fault},
        phases={SendPhase.STATUS},
        script=script,
        status=status,
        body=body,
    )


def whole(
    name: str, script: Script, *, status: int, body: bytes, body_sent: bytes = SMALL, scheme: str = "http"
) -> Case:
    """The answer is whole, whatever it says."""
    return Case(
        name=name,
        faults={None},
        phases={SendPhase.BODY_READ},
        script=script,
        status=status,
        body=body,
        body_sent=body_sent,
        scheme=scheme,
    )


CASES = (
    unconnected("C002a name does not resolve", SendFault.DNS, host="nowhere.invalid"),
    unconnected("C002b nobody listens", SendFault.CONNECT_REFUSED, place=refusing_port),
    unconnected("C002c TLS: unknown authority", SendFault.TLS, tls(UNTRUSTED), scheme="https"),
    unconnected("C002c TLS: other name in the certificate", SendFault.TLS, tls(MISNAMED), scheme="https"),
    unconnected("C002c TLS: FIN in the handshake", SendFault.TLS, steps(Peer.read, Peer.fin), scheme="https"),
    unconnected("C002c TLS: RST in the handshake", SendFault.TLS, steps(Peer.read, Peer.reset), scheme="https"),
    unconnected(
        "C002c TLS: plain text on the port",
        SendFault.TLS,
        steps(Peer.read, send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Peer.fin),
        scheme="https",
    ),
    unconnected("C002c TLS: silence in the handshake", SendFault.CONNECT_TIMEOUT, scheme="https"),
    unconnected("C002d accept queue is full", SendFault.CONNECT_TIMEOUT, place=deaf_port),
    Case(
        name="RST on accept",
        faults=RESET | DISCONNECTED,
        phases={SendPhase.NOTHING, SendPhase.HEADERS_SENT, SendPhase.BODY_SENT},
        script=Peer.reset,
    ),
    ended("FIN on accept", Peer.fin),
    ended("FIN after the headers", steps(Peer.read_head, Peer.fin), body_sent=BIG),
    ended("FIN in the body", steps(*[Peer.read] * 20, Peer.fin), body_sent=BIG),
    stuck("C002h RST after the headers", RESET, steps(Peer.read_head, Peer.reset)),
    stuck("C002f RST in the body", RESET, steps(*[Peer.read] * 20, Peer.reset)),
    stuck("C002f peer stops reading the body", DEADLINE, steps(*[Peer.read] * 20, Peer.stop_reading)),
    unanswered("C002i FIN after the request", DISCONNECTED, after_request(Peer.fin)),
    unanswered("C002h RST after the request", RESET, after_request(Peer.reset)),
    unanswered("C002g silence on accept", DEADLINE, Peer.stop_reading),
    unanswered("C002g silence after the request", DEADLINE, after_request(Peer.hang)),
    unanswered("C002g silence, over TLS", DEADLINE, steps(tls(TRUSTED), after_request(Peer.hang)), scheme="https"),
    unanswered("C002i FIN in the status line", DISCONNECTED, after_request(send(HEAD[:9]), Peer.fin)),
    unanswered("RST in the status line", RESET, after_request(send(HEAD[:9]), Peer.reset)),
    unanswered("silence in the status line", DEADLINE, answering(HEAD[:9])),
    unanswered("FIN after the status line", DISCONNECTED, after_request(send(HEAD[:17]), Peer.fin)),
    unanswered("RST after the status line", RESET, after_request(send(HEAD[:17]), Peer.reset)),
    unanswered("C002j silence after the status line", DEADLINE, answering(HEAD[:17])),
    unanswered("silence after 100 Continue", DEADLINE, answering(b"HTTP/1.1 100 Continue\r\n\r\n")),
    unanswered("garbage instead of a status line", GARBAGE, answering(b"\x00\xff??\r\n\r\n")),
    unanswered("a bare page", GARBAGE, answering(b"<html>Bad gateway</html>\r\n\r\n")),
    unanswered("endless header", GARBAGE, answering(HEAD[:17] + b"X: " + b"y" * 100_000)),
    unanswered("unknown content coding", GARBAGE, answering(encoded("br", b"?"))),
    cut("FIN after the answer's headers", SendFault.TRUNCATED, after_request(send(HEAD), Peer.fin), body=b""),
    cut("RST after the answer's headers", SendFault.TRUNCATED, after_request(send(HEAD), Peer.reset), body=b""),
    cut("silence after the answer's headers", SendFault.DEADLINE, answering(HEAD), body=b""),
    cut("FIN in the answer's body", SendFault.TRUNCATED, after_request(send(HEAD + PART), Peer.fin), body=PART),
    cut("RST in the answer's body", SendFault.TRUNCATED, after_request(send(HEAD + PART), Peer.reset), body=PART),
    cut("silence in the answer's body", SendFault.DEADLINE, answering(HEAD + PART), body=PART),
    cut("FIN between chunks", SendFault.TRUNCATED, after_request(send(CHUNKED), Peer.fin), body=PART),
    cut("RST between chunks", SendFault.TRUNCATED, after_request(send(CHUNKED), Peer.reset), body=PART),
    cut(
        "answer longer than we keep",
        SendFault.TRUNCATED,
        after_request(lambda peer: peer.answer(body=b"y" * 10_001), Peer.hang),
        body=b"y" * 10_000,
    ),
    cut(
        "answer blown up by gzip",
        SendFault.TRUNCATED,
        answering(encoded("gzip", gzip.compress(bytes(50_000_000)))),
        body=bytes(10_000),
    ),
    cut("answer that is no gzip", SendFault.TRUNCATED, answering(encoded("gzip", b"{}")), body=b""),
    whole("answer", answering(WHOLE), status=200, body=b"{}"),
    whole("answer over TLS", steps(tls(TRUSTED), answering(WHOLE)), status=200, body=b"{}", scheme="https"),
    whole("answer to an empty request", answering(WHOLE), status=200, body=b"{}", body_sent=b""),
    whole("answer to a big request", answering(WHOLE), status=200, body=b"{}", body_sent=BIG),
    whole(
        "answer just as long as we keep",
        after_request(lambda peer: peer.answer(body=b"y" * 10_000), Peer.hang),
        status=200,
        body=b"y" * 10_000,
    ),
    whole("answer in gzip", answering(encoded("gzip", gzip.compress(b"{}"))), status=200, body=b"{}"),
    whole("answer in deflate", answering(encoded("deflate", zlib.compress(b"{}"))), status=200, body=b"{}"),
    whole("answer in chunks", answering(CHUNKED + b"0\r\n\r\n"), status=200, body=PART),
    whole(
        "answer that ends with its connection",
        after_request(send(HEAD[:17] + b"\r\n{}"), Peer.fin),
        status=200,
        body=b"{}",
    ),
    whole("answer after 100 Continue", answering(b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE), status=200, body=b"{}"),
    whole("101 Switching Protocols", answering(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), status=101, body=b""),
    whole("204", answering(b"HTTP/1.1 204 No Content\r\n\r\n"), status=204, body=b""),
    whole(
        "307 to itself",
        after_request(lambda peer: peer.answer("307 Temporary Redirect", headers="Location: /\r\n"), Peer.hang),
        status=307,
        body=b"{}",
    ),
    whole("429", after_request(lambda peer: peer.answer("429 Too Many Requests"), Peer.hang), status=429, body=b"{}"),
    whole("503", after_request(lambda peer: peer.answer("503 Service Unavailable"), Peer.hang), status=503, body=b"{}"),
    whole(
        "early 413 to a big body",
        steps(Peer.read_head, lambda peer: peer.answer("413 Content Too Large"), Peer.stop_reading),
        status=413,
        body=b"{}",
        body_sent=BIG,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """What ends a connection that hangs, and which event loop runs the table."""

    name: str
    by_connect_limit: bool
    loop: Callable[[], asyncio.AbstractEventLoop]

    def limits_s(self, case: Case) -> tuple[float, float]:
        """Connect limit and deadline: short only where the case hangs, so that a busy machine changes no result."""
        if SendFault.CONNECT_TIMEOUT in case.faults:
            return (HANG_S, PATIENCE_S) if self.by_connect_limit else (PATIENCE_S, HANG_S)
        return PATIENCE_S, HANG_S if SendFault.DEADLINE in case.faults else PATIENCE_S

    def faults(self, case: Case) -> set[SendFault | None]:
        """The faults to accept."""
        return case.faults if self.by_connect_limit or SendFault.CONNECT_TIMEOUT not in case.faults else DEADLINE


MODES = (
    Mode(name="connect limit", by_connect_limit=True, loop=asyncio.new_event_loop),
    Mode(name="deadline only", by_connect_limit=False, loop=asyncio.new_event_loop),
    Mode(name="uvloop", by_connect_limit=False, loop=uvloop.new_event_loop),
)


@dataclass
class TableRun:
    """The results of one mode, the servers that saw the cases, and what libraries logged meanwhile."""

    mode: Mode
    results: dict[str, WireResult] = field(default_factory=dict)
    servers: dict[str, FaultServer] = field(default_factory=dict)
    logged: list[logging.LogRecord] = field(default_factory=list)

    async def run(self) -> None:
        trust = ssl.create_default_context()
        AUTHORITY.configure_trust(trust)
        async with asyncio.TaskGroup() as group:
            for case in CASES:
                group.create_task(self.run_case(case, trust))

    async def run_case(self, case: Case, trust: ssl.SSLContext) -> None:
        connect_timeout_s, timeout_s = self.mode.limits_s(case)
        transport = HttpTransport(
            clock=SystemClock(),
            user_agent="onetake-tests",
            connect_timeout_s=connect_timeout_s,
            answer_bytes_max=ANSWER_BYTES_MAX,
            ssl_context=trust,
        )
        async with FaultServer(case.script) as server, transport:
            with case.place() if case.place else nullcontext(server.port) as port:
                self.servers[case.name] = server
                self.results[case.name] = await transport.post_once(
                    WireRequest(
                        method="POST",
                        url=f"{case.scheme}://{case.host}:{port}/v1/generations?sig={SIGNATURE}",
                        headers=(("Content-Type", "application/json"),),
                        body=case.body_sent,
                    ),
                    credential=Credential(header="Authorization", value=f"Bearer {KEY}"),
                    timeout_s=timeout_s,
                    may_send=lambda: True,
                )


class Log(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__()
        self.records = records

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(scope="module", params=MODES, ids=lambda mode: mode.name)
def table(request: pytest.FixtureRequest) -> TableRun:
    run = TableRun(request.param)
    log = Log(run.logged)
    logging.root.addHandler(log)
    try:
        with asyncio.Runner(loop_factory=run.mode.loop) as runner:
            runner.run(run.run())
            gc.collect()  # a task whose exception nobody fetched says so when it goes
    finally:
        logging.root.removeHandler(log)
    return run


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def test_never_called_not_sent_when_bytes_arrived(table: TableRun, case: Case) -> None:
    receipt, server = table.results[case.name].receipt, table.servers[case.name]
    assert receipt.may_have_left or server.request_bytes == 0
    assert receipt.may_have_left in case.may_have_left
    assert len(server.heads("POST")) <= 1
    assert len(server.peers) <= 1


def test_fault_phase_and_answer(table: TableRun, case: Case) -> None:
    receipt, answer = table.results[case.name].receipt, table.results[case.name].answer
    assert receipt.fault in table.mode.faults(case)
    assert receipt.phase in case.phases
    assert receipt.status == case.status
    if answer is None:
        assert case.body is None
    elif receipt.fault in {None, SendFault.DEADLINE}:
        assert answer.body == case.body
    else:  # what stood unread when the connection broke may be lost
        assert case.body is not None
        assert case.body.startswith(answer.body)
    assert answer is None or answer.is_whole is (receipt.fault is None)


def test_the_receipt_gives_nothing_away(table: TableRun, case: Case) -> None:
    """No credential, query, address or prompt in what is stored and logged."""
    receipt = table.results[case.name].receipt
    assert bool(receipt.detail) is (receipt.fault is not None)
    for secret in (SIGNATURE, KEY, case.host, "/v1/", "a cat"):
        assert secret not in repr(receipt)


def test_the_libraries_logs_give_nothing_away(table: TableRun) -> None:
    said = "\n".join(logging.Formatter().format(record) for record in table.logged)
    for secret in (SIGNATURE, KEY, "/v1/", "a cat", "never retrieved"):
        assert secret not in said
