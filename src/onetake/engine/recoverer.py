"""Asks after lost answers, as far as each provider's contract goes: replays, look-ups, and then a person.

What to do is `recovering.plan`'s to say. Each try is written down before it is made (L1): a replay as a row of its own,
with the moment after which the next one may follow, so that two workers never try at once and a crash repeats nothing
that isn't permitted. Whatever a try comes to is evidence; one that proves nothing puts the doubt off for a while.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from onetake.domain.answers import Accepted, KeyRefused, NoAnswer, Outcome, Refused, Unknown, outcome_of
from onetake.domain.canonical import parse
from onetake.domain.errors import DatabaseError, ProviderError
from onetake.domain.lookups import Absent, Found, Match, Task, match, tasks_of
from onetake.domain.recognition import Sent
from onetake.domain.recovering import Doubt, Later, LookUp, Person, Replay, is_proven_absent, pause_s, plan
from onetake.domain.states import AttemptState, CaseKind, ErrorCategory
from onetake.domain.wire import WireRequest, WireResult
from onetake.engine.outcomes import bind, nothing_bought, record_receipt, refuse, word_of
from onetake.engine.parts import Parts
from onetake.engine.poller import POLL_TIMEOUT_S
from onetake.engine.recognising import sent_of
from onetake.engine.settling import open_case
from onetake.engine.stopping import Stopped
from onetake.engine.submitter import LEASE_MARGIN_S
from onetake.engine.turn import Turn
from onetake.engine.waiting import Bell, first_of
from onetake.providers.adapter import Adapter
from onetake.providers.transport import LAST_WORDS_S
from onetake.store import attempts, doubts, jobs, steps
from onetake.store.attempts import Attempt
from onetake.store.database import Row

BATCH = 16
"""Doubts asked after at once: as many POST slots at most, and few enough that a stop needn't wait for more."""

PACE_S = 0.5
"""Between looks at what is due."""

STOPPED_S = 60.0
"""How long a replay is put off while nothing may be sent for its provider, recipe or account."""

_log = structlog.get_logger("onetake.recoverer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One try to learn what became of an attempt, written down and this process's to make.

    Attributes:
        n: the number of the POST, for a replay; 0 for a look-up.
        wire: what goes out.
        send_by_s: a replay's first byte leaves before this moment, on the clock's monotonic seconds, or not at all.
    """

    attempt_id: str
    provider: str
    n: int
    wire: WireRequest
    send_by_s: float


async def keep_recovering(parts: Parts, worker_id: Callable[[], str], stop: Bell, give_up: asyncio.Event) -> None:
    """Ask after lost answers as they are due, until told to stop."""
    while not stop.is_set():
        tries: list[Try] = []
        try:
            if await parts.database.read(doubts.is_any_due):
                started_s = parts.clock.monotonic_s()
                tries = await parts.act(worker_id(), take_due, parts.adapters, started_s)
                await asyncio.gather(*(_make(parts, each, worker_id(), give_up) for each in tries))
        except DatabaseError as error:
            _log.error("doubts.not_asked", error=error.sentence)
        except Exception:  # noqa: BLE001 - a bug: what it was about is put off already, and others are asked after
            _log.exception("doubts.broke", worker=worker_id())
        if len(tries) < BATCH:
            await first_of(PACE_S, parts.clock, stop)


def take_due(turn: Turn, adapters: Mapping[str, Adapter], started_s: float) -> list[Try]:
    """The tries that are due and now the actor's; a doubt for which there is none is a person's."""
    stopped, tries = Stopped.find(turn.tx), []
    for attempt_id in doubts.list_due(turn.tx, limit=BATCH):
        attempt, row = attempts.get(turn.tx, attempt_id), doubts.get(turn.tx, attempt_id)
        adapter, now_us = adapters[attempt.provider], turn.tx.now_us
        planned = plan(adapter.contract, _doubt(row), now_us)
        match planned:
            case Replay():
                if not adapter.has_key() or _is_stopped(turn, stopped, attempt):
                    doubts.put_off(turn.tx, attempt_id, now_us + round(STOPPED_S * 1e6))
                    continue
                tries.append(_intend_replay(turn, adapter, attempt, row, started_s))
            case LookUp():
                doubts.put_off(turn.tx, attempt_id, now_us + round((POLL_TIMEOUT_S + LEASE_MARGIN_S) * 1e6))
                wire = adapter.lookup_request(reference=row["key"] or "", sent=_sent(adapter, row))
                tries.append(Try(attempt_id=attempt_id, provider=attempt.provider, n=0, wire=wire, send_by_s=0.0))
            case Later(at_us):
                doubts.put_off(turn.tx, attempt_id, at_us)
            case Person(why):
                leave(turn, attempt, row, why)
    return tries


def leave(turn: Turn, attempt: Attempt, row: Row, why: str) -> None:
    """Nothing more is asked by itself: a case is opened for a person, with what was tried."""
    doubts.put_off(turn.tx, attempt.id, None)
    step = steps.get(turn.tx, attempt.step_id)
    open_case(turn, CaseKind.UNKNOWN, attempt, step.name, {"reason": why, "posts": row["posts"], "looks": row["looks"]})


def _doubt(row: Row) -> Doubt:
    return Doubt(
        sent_us=row["sent_at"],
        posts=row["posts"],
        looks=row["looks"],
        has_key=row["key"] is not None,
        is_landed=bool(row["is_landed"]),
    )


def _is_stopped(turn: Turn, stopped: Stopped, attempt: Attempt) -> bool:
    job = jobs.get(turn.tx, attempt.job_id)
    return (
        attempt.provider in stopped.providers
        or job["recipe_name"] in stopped.recipes
        or job["account_id"] in stopped.accounts
    )


def _intend_replay(turn: Turn, adapter: Adapter, attempt: Attempt, row: Row, started_s: float) -> Try:
    lasts_s = adapter.settings.submit_timeout_s + LAST_WORDS_S + LEASE_MARGIN_S
    n = row["n"] + 1
    doubts.intend_replay(turn.tx, attempt.id, n)
    doubts.put_off(turn.tx, attempt.id, turn.tx.now_us + round(lasts_s * 1e6))
    turn.tell("attempt.replaying", attempt, steps.get(turn.tx, attempt.step_id).name, {"n": n})
    headers = tuple((name, value) for name, value in json.loads(row["headers"]))
    wire = WireRequest(method=row["method"], url=row["url"], headers=headers, body=bytes(row["body"]))
    return Try(
        attempt_id=attempt.id,
        provider=attempt.provider,
        n=n,
        wire=wire,
        send_by_s=started_s + LEASE_MARGIN_S,
    )


async def _make(parts: Parts, wanted: Try, worker_id: str, give_up: asyncio.Event) -> None:
    """Make one try and record what it came to; one that can't be recorded is due again by itself."""
    adapter, clock = parts.adapters[wanted.provider], parts.clock
    try:
        if wanted.n:
            result = await parts.transport.post_once(
                wanted.wire,
                credential=adapter.credential(),
                timeout_s=adapter.settings.submit_timeout_s,
                may_send=lambda: clock.monotonic_s() <= wanted.send_by_s,
                give_up=give_up,
            )
            outcome = outcome_of(adapter.contract, result, now_s=clock.now_us() / 1e6)
            await parts.act(worker_id, record_replay, adapter, wanted, outcome, result)
        else:
            result = await parts.transport.get(wanted.wire, credential=adapter.credential(), timeout_s=POLL_TIMEOUT_S)
            shown = tasks_of(adapter.contract, result, now_s=clock.now_us() / 1e6)
            await parts.act(worker_id, record_look, adapter, wanted.attempt_id, shown)
    except (DatabaseError, ProviderError) as error:
        _log.error("recovery.failed", attempt=wanted.attempt_id, error=error.sentence)
    except Exception:  # noqa: BLE001 - a bug: one attempt's trouble must not end the others
        _log.exception("recovery.broke", attempt=wanted.attempt_id)
    parts.wake.set()


def record_replay(turn: Turn, adapter: Adapter, made: Try, outcome: Outcome, result: WireResult) -> None:
    """What a replay came to: the task's id; a refusal, where the contract takes it for proof; else not a thing."""
    attempt, row = attempts.get(turn.tx, made.attempt_id), doubts.get(turn.tx, made.attempt_id)
    record_receipt(turn, attempt, made.n, outcome, result)
    told: dict[str, object] = {"n": made.n, "outcome": word_of(outcome)}
    if isinstance(outcome, Accepted):
        turn.tell("attempt.replayed", attempt, _step(turn, attempt), told)
        bind(turn, adapter, attempt, outcome, source="answer")
    elif attempt.state is not AttemptState.SUBMIT_UNKNOWN:
        turn.tell("attempt.replayed", attempt, _step(turn, attempt), told)
    elif isinstance(outcome, Refused) and _is_proof(adapter, outcome):
        turn.tell("attempt.replayed", attempt, _step(turn, attempt), told)
        refuse(turn, attempt, outcome)
    else:
        if isinstance(outcome, Unknown) and outcome.is_landed:
            doubts.mark_landed(turn.tx, attempt.id)
            told["is_landed"] = True
        wait_s = outcome.retry_after_s or 0.0 if isinstance(outcome, Refused) else 0.0
        _again(turn, attempt, row, "attempt.replayed", told, wait_s=wait_s)


def _is_proof(adapter: Adapter, refusal: Refused) -> bool:
    """Whether the refusal of a replay proves that the first POST wasn't accepted; what speaks of our key doesn't."""
    promise = adapter.contract.idempotency
    return promise.refusal_is_proof and refusal.category is ErrorCategory.INPUT


def record_look(turn: Turn, adapter: Adapter, attempt_id: str, shown: tuple[Task, ...] | KeyRefused | NoAnswer) -> None:
    """What a look-up showed: the one task; nothing, which may be proof; tasks of which nobody knows whose they are."""
    attempt, row = attempts.get(turn.tx, attempt_id), doubts.get(turn.tx, attempt_id)
    if attempt.state is not AttemptState.SUBMIT_UNKNOWN:
        return
    if isinstance(shown, KeyRefused | NoAnswer):
        said = f"our key is refused, HTTP {shown.status}" if isinstance(shown, KeyRefused) else shown.reason
        wait_s = shown.retry_after_s or 0.0 if isinstance(shown, NoAnswer) else 0.0
        _again(turn, attempt, row, "attempt.looked_up", {"found": "no_answer", "why": said}, wait_s=wait_s)
        return
    found = _match(turn, adapter, attempt, row, shown)
    if isinstance(found, Found):
        turn.tell("attempt.looked_up", attempt, _step(turn, attempt), {"found": "task"})
        if not bind(turn, adapter, attempt, Accepted(ref=found.ref, locator=""), source="lookup"):
            leave(turn, attempt, row, "the provider shows a task under our reference that belongs elsewhere")
    elif isinstance(found, Absent):
        _nothing_shown(turn, adapter, attempt, row)
    else:
        doubts.count_look(turn.tx, attempt_id)
        _again(turn, attempt, row, "attempt.looked_up", {"found": "several", "refs": list(found.refs[:10])})


def _match(turn: Turn, adapter: Adapter, attempt: Attempt, row: Row, tasks: tuple[Task, ...]) -> Match:
    unknown = attempts.list_unknown(turn.tx, provider=attempt.provider, model=row["model"])
    bound = doubts.list_bound(
        turn.tx, provider_account=adapter.name, operation=attempt.operation, refs=[task.ref for task in tasks]
    )
    others = [sent_of(adapter, row["model"], each) for each in unknown if each["id"] != attempt.id]
    return match(adapter.contract.lookup, tasks, _sent(adapter, row), bound=bound, others=others)


def _nothing_shown(turn: Turn, adapter: Adapter, attempt: Attempt, row: Row) -> None:
    doubts.count_look(turn.tx, attempt.id)
    looks = row["looks"] + 1
    if is_proven_absent(adapter.contract.lookup, looks, is_landed=bool(row["is_landed"])):
        turn.tell("attempt.looked_up", attempt, _step(turn, attempt), {"found": "nothing", "looks": looks})
        nothing_bought(turn, attempt, "absent", "the provider doesn't show it, and would if it had it")
    else:
        _again(turn, attempt, row, "attempt.looked_up", {"found": "nothing", "looks": looks})


def _again(turn: Turn, attempt: Attempt, row: Row, event: str, told: dict[str, object], *, wait_s: float = 0.0) -> None:
    """It proves nothing: the doubt stays, and is looked at again later."""
    after_s = max(wait_s, pause_s((turn.tx.now_us - row["sent_at"]) / 1e6))
    doubts.put_off(turn.tx, attempt.id, turn.tx.now_us + round(after_s * 1e6))
    turn.tell(event, attempt, _step(turn, attempt), {**told, "pause_s": round(after_s, 1)})


def _step(turn: Turn, attempt: Attempt) -> str:
    return steps.get(turn.tx, attempt.step_id).name


def _sent(adapter: Adapter, row: Row) -> Sent:
    lasts_s = adapter.settings.submit_timeout_s + LEASE_MARGIN_S
    until_us = row["last_sent_at"] + round(lasts_s * 1e6)
    return Sent(model=row["model"], body=parse(row["body"]), from_us=row["sent_at"], until_us=until_us)
