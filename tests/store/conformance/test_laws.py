"""L13: the database itself refuses rows that break a law, whoever writes them; each in plain SQL."""

import pytest

from onetake.domain.states import AlarmKind, CaseKind, WaitReason
from onetake.store import attempts, steps
from onetake.store.database import ConstraintError, Tx
from tests.store.shop import SECOND
from tests.store.world import APPEND_ONLY, TABLES, World


async def test_the_world_has_a_row_of_every_kind(world: World) -> None:
    counts = {table: len(await world.shop.rows(f"SELECT 1 FROM {table}")) for table in TABLES}  # noqa: S608
    assert [table for table, count in counts.items() if not count] == []


_CLOSE = "INSERT INTO hold_closings (hold_id, amount, captured, released, reason, actor, closed_at) VALUES"
_REF = (
    "INSERT INTO refs (id, attempt_id, provider_account, operation, ref, locator, source, actor, created_at) VALUES"
    " ('ref_x', :submitting,"
)
_ATTEMPT = (
    "INSERT INTO attempts (id, step_id, job_id, no, state, provider, operation, contract_version, worker_id,"
    " lease_until, created_at, updated_at) VALUES ('att_x',"
)
_JOB = (
    "INSERT INTO jobs (id, account_id, key, quote_id, recipe_name, recipe_version, recipe_hash, request_hash, state,"
    " expected, created_at, updated_at) SELECT"
)
_LINE = (
    "INSERT INTO quote_lines (id, quote_id, step_name, output_name, credits_max, spend_micros_max)"
    " SELECT 'qln_x', quote_id, 'draw', 'other',"
)
_ENTRY = (
    "INSERT INTO ledger_entries (id, account_id, kind, source, target, amount, hold_id, reason, actor, created_at)"
    " VALUES ('led_x', 'acc_default',"
)
_SEND = "INSERT INTO sends (attempt_id, n, kind, intended_at) VALUES (:submitting,"
_ALARM = "INSERT INTO alarms (id, kind, subject, detail, since) VALUES ('alm_x',"
_CASE = "INSERT INTO cases (id, kind, state, attempt_id, opened_at) VALUES ('cas_x',"

LAWS = {
    # L1, L2: what is sent has an owner, a number and an end of its lease
    "submitting without an owner": "UPDATE attempts SET worker_id = NULL WHERE id = :submitting",
    "submitting without an end": "UPDATE attempts SET lease_until = NULL WHERE id = :submitting",
    "submitting for a worker that isn't": "UPDATE attempts SET worker_id = 'w0' WHERE id = :submitting",
    "a second attempt under one number": (
        f"{_ATTEMPT} :sent_step, :done, 1, 'submitting', 'p', 'o', 'c', 'w1', :now, :now, :now)"
    ),
    "an attempt without a number": (
        f"{_ATTEMPT} :sent_step, :done, 0, 'submitting', 'p', 'o', 'c', 'w1', :now, :now, :now)"
    ),
    "an attempt of a step that isn't": (
        f"{_ATTEMPT} 'stp_0', :done, 1, 'submitting', 'p', 'o', 'c', 'w1', :now, :now, :now)"
    ),
    "a second send under one number": f"{_SEND} 1, 'first', :now)",
    "a second first send": f"{_SEND} 2, 'first', :now)",
    "a replay that is the first": f"{_SEND} 0, 'replay', :now)",
    "an outcome without its moment": "UPDATE sends SET outcome = 'accepted' WHERE attempt_id = :submitting",
    "a moment without its outcome": "UPDATE sends SET recorded_at = :now WHERE attempt_id = :submitting",
    # L4: what the provider works on can be found again
    "processing without a ref": "UPDATE attempts SET state = 'processing' WHERE id = :submitting",
    "collecting without a ref": "UPDATE attempts SET state = 'collecting' WHERE id = :submitting",
    "a ref that isn't": "UPDATE attempts SET ref_id = 'ref_0' WHERE id = :submitting",
    "one ref in two rows": f"{_REF} 'reapi', 'image', 'task_1', 'l', 'answer', 'w1', :now)",
    "a second ref of one attempt": (
        "INSERT INTO refs (id, attempt_id, provider_account, operation, ref, locator, source, actor, created_at)"
        " VALUES ('ref_x', :working, 'reapi', 'image', 'task_9', 'l', 'answer', 'w1', :now)"
    ),
    "a ref by hearsay": f"{_REF} 'reapi', 'image', 'task_9', 'l', 'rumour', 'w1', :now)",
    # ends
    "an end without a final state": "UPDATE attempts SET ended_at = :now WHERE id = :working",
    "a final state without an end": "UPDATE attempts SET state = 'failed' WHERE id = :working",
    "a case that is open and closed": "UPDATE cases SET closed_at = :now WHERE id = :case",
    "a case decided at no time": "UPDATE cases SET state = 'attached' WHERE id = :case",
    "an allowance settled at no time": "UPDATE allowances SET settled_micros = 5",
    # L5, gates
    "ready without a frozen request": ("UPDATE steps SET state = 'ready', waiting_for = NULL WHERE id = :waiting_step"),
    "complete without a frozen request": (
        "UPDATE steps SET state = 'complete', waiting_for = NULL WHERE id = :waiting_step"
    ),
    "active without an attempt": "UPDATE steps SET state = 'active' WHERE id = :ready_step",
    "waiting for nothing": "UPDATE steps SET waiting_for = NULL WHERE id = :waiting_step",
    "ready and waiting": "UPDATE steps SET waiting_for = 'needs' WHERE id = :ready_step",
    # L7, complete
    "complete with an output missing": "UPDATE jobs SET state = 'complete' WHERE id = :waits",
    "complete with nothing expected": (
        f"{_JOB} 'job_x', account_id, 'x', quote_id, recipe_name, recipe_version, recipe_hash, request_hash,"
        " 'complete', 0, :now, :now FROM jobs WHERE id = :done"
    ),
    "more filled than expected": "UPDATE jobs SET filled = 3 WHERE id = :waits",
    "less filled than nothing": "UPDATE jobs SET filled = -1 WHERE id = :waits",
    "filled with nothing": "UPDATE expected_outputs SET state = 'filled' WHERE id = :missing",
    "missing, and filled with a file": "UPDATE expected_outputs SET artifact_id = :artifact WHERE id = :missing",
    "one file in two outputs": (
        "UPDATE expected_outputs SET state = 'filled', artifact_id = :verified WHERE id = :missing"
    ),
    "stored without bytes": "UPDATE artifacts SET state = 'stored' WHERE id = :artifact",
    "verified without measures": "UPDATE artifacts SET state = 'verified', digest = :digest WHERE id = :artifact",
    "bytes that aren't": "UPDATE artifacts SET digest = 'cd' WHERE id = :artifact",
    "a digest that is none": "INSERT INTO blobs (digest, media_type, created_at) VALUES ('ab', 'image/png', :now)",
    # one key, one job
    "a second job under one key": (
        f"{_JOB} 'job_x', account_id, 'done', quote_id, recipe_name, recipe_version, recipe_hash, request_hash,"
        " 'open', 1, :now, :now FROM jobs WHERE id = :done"
    ),
    "a job without a key": (
        f"{_JOB} 'job_x', account_id, '', quote_id, recipe_name, recipe_version, recipe_hash, request_hash,"
        " 'open', 1, :now, :now FROM jobs WHERE id = :done"
    ),
    "a job of an unknown recipe": (
        f"{_JOB} 'job_x', account_id, 'x', quote_id, recipe_name, 99, recipe_hash, request_hash,"
        " 'open', 1, :now, :now FROM jobs WHERE id = :done"
    ),
    "other content under one version": (
        "INSERT INTO recipes (name, version, hash, content, source, created_at) VALUES ('r', 1, 'f1', '', '', :now)"
    ),
    # L9, money
    "a hold closed twice": f"{_CLOSE} (:closed_hold, 100, 0, 100, 'r', 'a', :now)",
    "a closing of another amount": f"{_CLOSE} (:hold, 99, 0, 99, 'r', 'a', :now)",
    "less given back than was held": f"{_CLOSE} (:hold, 100, 50, 49, 'r', 'a', :now)",
    "more given back than was held": f"{_CLOSE} (:hold, 100, 100, 100, 'r', 'a', :now)",
    "a negative capture": f"{_CLOSE} (:hold, 100, -1, 101, 'r', 'a', :now)",
    "a closing of no hold": f"{_CLOSE} ('hld_0', 0, 0, 0, 'r', 'a', :now)",
    "a negative hold": (
        "INSERT INTO holds (id, job_id, account_id, quote_line_id, amount, created_at)"
        " SELECT 'hld_x', job_id, account_id, quote_line_id, -1, :now FROM holds WHERE id = :hold"
    ),
    "two holds for one line": (
        "INSERT INTO holds (id, job_id, account_id, quote_line_id, amount, created_at)"
        " SELECT 'hld_x', job_id, account_id, quote_line_id, 100, :now FROM holds WHERE id = :hold"
    ),
    "a negative price": f"{_LINE} -1, 0 FROM jobs WHERE id = :done",
    "a negative spend": f"{_LINE} 0, -1 FROM jobs WHERE id = :done",
    "a negative allowance": "UPDATE allowances SET amount_micros = -1",
    "an entry of nothing": f"{_ENTRY} 'grant', 'granted', 'available', 0, NULL, 'r', 'a', :now)",
    "an entry of less than nothing": f"{_ENTRY} 'grant', 'granted', 'available', -1, NULL, 'r', 'a', :now)",
    "an entry into no bucket": f"{_ENTRY} 'grant', 'granted', 'lost', 1, NULL, 'r', 'a', :now)",
    "an entry the wrong way": f"{_ENTRY} 'capture', 'captured', 'held', 1, :hold, 'r', 'a', :now)",
    "a release of what was available": f"{_ENTRY} 'release', 'available', 'held', 1, :hold, 'r', 'a', :now)",
    "a grant for a hold": f"{_ENTRY} 'grant', 'granted', 'available', 1, :hold, 'r', 'a', :now)",
    "a capture of no hold": f"{_ENTRY} 'capture', 'held', 'captured', 1, NULL, 'r', 'a', :now)",
    "a hold that is entered twice": f"{_ENTRY} 'hold', 'available', 'held', 1, :hold, 'r', 'a', :now)",
    "a capture that is entered twice": f"{_ENTRY} 'capture', 'held', 'captured', 1, :closed_hold, 'r', 'a', :now)",
    "a balance below nought": "UPDATE balances SET available = -1, held = held + available + 1",
    "a balance that doesn't add up": "UPDATE balances SET available = available + 1",
    "one quote for two jobs": f"{_JOB} 'job_x', account_id, 'other', quote_id, recipe_name, recipe_version,"
    " recipe_hash, request_hash, 'open', 1, :now, :now FROM jobs WHERE id = :done",
    "a line that bounds nothing": "UPDATE budgets SET spend_micros_max = NULL, currency = ''",
    "a bound below nought": "UPDATE budgets SET spend_micros_max = -1",
    "a spend without a currency": "UPDATE budgets SET currency = ''",
    "two lines for one scope": (
        "INSERT INTO budgets (id, provider, period, requests_max, created_at, updated_at)"
        " VALUES ('bud_x', 'reapi', 'total', 5, :now, :now)"
    ),
    "a use below nought": "UPDATE budget_uses SET spend_micros = -1",
    "a negative charge": (
        "INSERT INTO charges (id, import_id, provider, record_key, amount_micros, created_at)"
        " SELECT 'chg_x', id, 'reapi', 'other', -1, :now FROM usage_imports"
    ),
    "one record twice": (
        "INSERT INTO charges (id, import_id, provider, record_key, amount_micros, created_at)"
        " SELECT 'chg_x', id, 'reapi', 'k', 1, :now FROM usage_imports"
    ),
    "one person alone for two": (
        "INSERT INTO acts (id, act, subject, actor, second_actor, created_at)"
        " VALUES ('act_x', 'a', 's', 'b', 'b', :now)"
    ),
    "two stops for one thing": (
        "INSERT INTO stops (id, kind, subject, reason, actor, since) VALUES ('sto_x', 'recipe', 'r', 'r', 'a', :now)"
    ),
    "a role that nobody has": "UPDATE memberships SET role = 'king'",
    # doubts
    "two open cases of one kind": f"{_CASE} 'no_output', 'open', :working, :now)",
    "two alarms of one kind": f"{_ALARM} 'deadline', 's1', 'late', :now)",
    # the journal
    "a journal that begins at nought": (
        "INSERT INTO journal (job_id, seq, at, actor, event) VALUES (:done, 0, :now, 'a', 'e')"
    ),
    "two lines under one number": (
        "INSERT INTO journal (job_id, seq, at, actor, event) VALUES (:done, 1, :now, 'a', 'e')"
    ),
    "a second manifest": "INSERT INTO manifests (job_id, content, hash, sealed_at) VALUES (:done, '{}', 'h', :now)",
}


async def test_rows_that_break_a_law_are_refused(world: World) -> None:
    assert await world.taken(LAWS.values()) == []


ALLOWED = {
    "a replay after the first send": f"{_SEND} 2, 'replay', :now)",
    "the same id of another operation": f"{_REF} 'reapi', 'video', 'task_1', 'l', 'answer', 'w1', :now)",
    "the same id of another account": f"{_REF} 'other', 'image', 'task_1', 'l', 'answer', 'w1', :now)",
    "an open case of another kind": f"{_CASE} 'missing_task', 'open', :working, :now)",
    "an open case like one that is closed": f"{_CASE} 'no_output', 'open', :collecting, :now)",
    "an alarm of another kind": f"{_ALARM} 'storage', 's1', 'full', :now)",
    "an alarm on another subject": f"{_ALARM} 'deadline', 's2', 'late', :now)",
    "a closing in two parts": f"{_CLOSE} (:hold, 100, 40, 60, 'r', 'a', :now)",
}


async def test_what_only_looks_alike_is_taken(world: World) -> None:
    assert await world.refused(ALLOWED.values()) == []


async def test_a_ref_that_was_disowned_may_belong_to_another_attempt(world: World) -> None:
    stolen = f"{_REF} 'reapi', 'image', 'task_1', 'l', 'attach', 'ada', :now)"
    assert await world.taken([stolen]) == []
    await world.shop.sql("UPDATE refs SET disowned_at = 1 WHERE id = :id", {"id": world.ids["working_ref"]})
    assert await world.refused([stolen]) == []


# --- words: nothing that the domain doesn't know

WORDS = (
    *("attempts.state", "steps.state", "jobs.state", "expected_outputs.state", "artifacts.state", "cases.state"),
    *("steps.waiting_for", "artifacts.use", "cases.kind", "alarms.kind", "attempts.charged", "accounts.plan"),
)


async def test_words_that_the_domain_does_not_know_are_refused(world: World) -> None:
    places = [(table, column) for table, column in (place.split(".") for place in WORDS)]
    unknown = [f"UPDATE {t} SET {c} = '{word}'" for t, c in places for word in ("paid", "", "OPEN")]  # noqa: S608
    assert await world.taken(unknown) == []


async def test_a_paid_step_knows_no_word_of_a_local_one(world: World) -> None:
    refused = [
        "UPDATE steps SET state = 'running', waiting_for = NULL WHERE id = :ready_step",
        "UPDATE steps SET kind = 'process' WHERE id = :sent_step",
        "UPDATE steps SET kind = 'magic' WHERE id = :ready_step",
    ]
    assert await world.taken(refused) == []
    assert await world.refused(["UPDATE steps SET kind = 'process', state = 'running' WHERE id = :ready_step"]) == []


async def test_every_word_that_the_domain_knows_is_known(world: World) -> None:
    """But where a state needs more than its word: there the laws above speak."""
    statements = [f"{_CASE} '{kind}', 'open', :submitting, :now)" for kind in CaseKind]
    statements += [f"{_ALARM} '{kind}', 'nobody', 'd', :now)" for kind in AlarmKind]
    statements += [
        f"UPDATE steps SET waiting_for = '{reason}' WHERE id = :waiting_step"  # noqa: S608 - our own words
        for reason in WaitReason
    ]
    assert await world.refused(statements) == []


# --- what was written stays

FIXED = {
    # L6: terminal states are final
    "an attempt that ended": ("UPDATE attempts SET state = 'processing', ended_at = NULL WHERE id = :delivered"),
    "an attempt that ended otherwise": "UPDATE attempts SET state = 'failed' WHERE id = :delivered",
    "a step that is complete": "UPDATE steps SET state = 'ready' WHERE id = :done_step",
    "a job that is complete": "UPDATE jobs SET state = 'open' WHERE id = :done",
    "a job that is complete and fails": "UPDATE jobs SET state = 'failed' WHERE id = :done",
    "an output that is filled": (
        "UPDATE expected_outputs SET state = 'missing', artifact_id = NULL WHERE id = :filled"
    ),
    "an output that is filled otherwise": "UPDATE expected_outputs SET artifact_id = :artifact WHERE id = :filled",
    "a file that was checked": "UPDATE artifacts SET state = 'fetching' WHERE id = :verified",
    "a file that was checked and is refused": "UPDATE artifacts SET state = 'rejected' WHERE id = :verified",
    "a case that was decided": "UPDATE cases SET state = 'open', closed_at = NULL WHERE id = :closed_case",
    "a case that was decided otherwise": "UPDATE cases SET state = 'written_off' WHERE id = :closed_case",
    # L4: a saved reference is never cleared or replaced
    "an attempt's ref, cleared": "UPDATE attempts SET ref_id = NULL WHERE id = :working",
    "an attempt's ref, replaced": "UPDATE attempts SET ref_id = :delivered_ref WHERE id = :working",
    "a ref's attempt": "UPDATE refs SET attempt_id = :submitting WHERE id = :working_ref",
    "a ref": "UPDATE refs SET ref = 'task_9' WHERE id = :working_ref",
    "a ref's operation": "UPDATE refs SET operation = 'video' WHERE id = :working_ref",
    "a ref's account": "UPDATE refs SET provider_account = 'other' WHERE id = :working_ref",
    "a ref's locator": "UPDATE refs SET locator = 'elsewhere' WHERE id = :working_ref",
    "a ref, deleted": "DELETE FROM refs WHERE id = :working_ref",
    # L1, L2: that a request may have left
    "an attempt, deleted": "DELETE FROM attempts WHERE id = :submitting",
    "a send, deleted": "DELETE FROM sends WHERE attempt_id = :submitting",
    "a receipt, written over": "UPDATE sends SET outcome = 'not_sent' WHERE attempt_id = :delivered",
    # what a job was accepted for
    "a job's key": "UPDATE jobs SET key = 'other' WHERE id = :waits",
    "a job's request": "UPDATE jobs SET request_hash = 'b2' WHERE id = :waits",
    "a job's recipe": "UPDATE jobs SET recipe_hash = 'f1' WHERE id = :waits",
    "a job's expected outputs": "UPDATE jobs SET expected = 1 WHERE id = :waits",
    "a job, deleted": "DELETE FROM jobs WHERE id = :waits",
}


async def test_what_is_settled_stays(world: World) -> None:
    assert await world.taken(FIXED.values()) == []


async def test_tables_that_are_only_added_to_are_neither_changed_nor_cut(world: World) -> None:
    for table in APPEND_ONLY:
        (column, *_) = (await world.shop.rows(f"SELECT * FROM {table}"))[0]  # noqa: S608 - our own names
        changes = [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"]  # noqa: S608
        assert await world.taken(changes) == []


async def test_other_columns_of_what_ended_may_still_be_learnt(world: World) -> None:
    """Late facts, such as a charge that a bill settles, change no state."""
    learnt = [
        "UPDATE attempts SET charged = 'no' WHERE id = :delivered",
        "UPDATE artifacts SET address = 'renewed' WHERE id = :verified",
    ]
    assert await world.refused(learnt) == []


def _freeze_again(tx: Tx, step_id: str) -> None:
    steps.freeze(tx, step_id, meaning='{"n":2}', request_hash="c4")


async def test_a_request_is_frozen_once(world: World) -> None:
    with pytest.raises(ConstraintError):
        await world.shop.do(_freeze_again, str(world.ids["ready_step"]))
    (row,) = await world.shop.rows("SELECT request_hash FROM steps WHERE id = :id", {"id": world.ids["ready_step"]})
    assert row["request_hash"] == "c3"


def _insert_again(tx: Tx, step: steps.Step) -> None:
    attempts.insert(tx, step, attempt_id="att_x", no=1, contract_version="c", worker_id="w1", lease_us=SECOND)


async def test_a_claim_that_lost_the_race_buys_nothing(world: World) -> None:
    step = await world.shop.see(steps.get, str(world.ids["sent_step"]))
    with pytest.raises(ConstraintError, match="attempts"):
        await world.shop.do(_insert_again, step)
