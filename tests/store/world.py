"""A database with at least one row of every kind: what the laws are tried on."""

from collections.abc import Iterable
from dataclasses import dataclass

from onetake.domain.events import CaseEvent
from onetake.domain.states import AlarmKind, CaseKind, StopKind
from onetake.domain.usage import UsageRecord
from onetake.store import accounts, alarms, attempts, budgets, cases, charges, quotes, stops
from onetake.store.budgets import Amount, Place, Scope
from onetake.store.database import ConstraintError, Tx
from tests.store.shop import DIGEST, Shop

TABLES = (
    *("accounts", "recipes", "quotes", "quote_lines", "jobs", "job_requests", "steps", "step_requests", "holds"),
    *("hold_closings", "ledger_entries", "allowances", "workers", "attempts", "wires", "sends", "refs", "blobs"),
    *("artifacts", "expected_outputs", "cases", "evidence", "decisions", "alarms", "journal", "manifests"),
    *("balances", "budgets", "budget_uses", "quote_requests", "usage_imports", "charges", "persons", "memberships"),
    *("acts", "stops"),
)
APPEND_ONLY = (
    *("acts", "quote_requests"),
    *("decisions", "evidence", "hold_closings", "holds", "job_requests", "journal", "ledger_entries", "manifests"),
    *("quote_lines", "recipes", "step_requests", "wires"),
)


@dataclass(frozen=True, slots=True)
class World:
    """A database with one thing of every kind, and their ids for use as parameters."""

    shop: Shop
    ids: dict[str, object]

    async def try_out(self, sql: str) -> str:
        """What the database says to the statement, which leaves nothing: "taken", "no row", or why it is refused."""
        params = {name: value for name, value in self.ids.items() if f":{name}" in sql}

        def attempt(tx: Tx) -> None:
            raise _UndoneError("taken" if tx.do(sql, params) else "no row")

        try:
            await self.shop.do(attempt)
        except (ConstraintError, _UndoneError) as said:
            return str(said)
        raise AssertionError(sql)

    async def taken(self, statements: Iterable[str]) -> list[str]:
        """The statements that the database takes, or that aren't about any row."""
        return [sql for sql in statements if await self.try_out(sql) in ("taken", "no row")]

    async def refused(self, statements: Iterable[str]) -> list[str]:
        """The statements that the database doesn't take, with why."""
        said = [(sql, await self.try_out(sql)) for sql in statements]
        return [f"{sql}: {why}" for sql, why in said if why != "taken"]


class _UndoneError(Exception):
    """Ends a transaction that was only to be tried."""


async def populate(shop: Shop) -> dict[str, object]:
    """A complete job, one that the provider works on, one being sent, one ready and one waiting."""
    await shop.worker()
    done, waits = await shop.order("done", amount=100), await shop.order("waits", outputs=2, amount=100)
    sent, ready = await shop.order("sent"), await shop.order("ready")
    delivered = await shop.complete(done, ref="task_0")
    working = await shop.processing(await shop.order("works"), ref="task_1")
    collecting = await shop.collecting(await shop.order("collects"), ref="task_2")
    submitting = await shop.submitting(sent)
    await shop.ready(ready)
    await shop.do(attempts.record_send, delivered.id, 1, outcome="accepted", receipt="{}", status=200, raw=None)
    case_id = await shop.do(_case, shop, working)
    closed = await shop.do(_case, shop, collecting)
    await shop.do(cases.close, shop.clock, closed, CaseEvent.SETTLED, actor="w1", reason="known")
    await shop.do(alarms.raise_, shop.clock, AlarmKind.DEADLINE, "s1", job_id=None, detail="late")
    await shop.do(_money, shop)
    refs = {row["attempt_id"]: row["id"] for row in await shop.rows("SELECT id, attempt_id FROM refs")}
    (artifact,) = await shop.rows("SELECT id FROM artifacts WHERE state = 'fetching'")
    (verified,) = await shop.rows("SELECT id FROM artifacts WHERE state = 'verified'")
    missing = await shop.rows("SELECT id FROM expected_outputs WHERE job_id = :job", {"job": waits.job})
    (filled,) = await shop.rows("SELECT id FROM expected_outputs WHERE state = 'filled'")
    return {
        "now": shop.clock.now_us(),
        "done": done.job,
        "done_step": done.steps["draw"],
        "closed_hold": done.holds["draw"][0],
        "waits": waits.job,
        "waiting_step": waits.steps["draw"],
        "hold": waits.holds["draw"][0],
        "ready_step": ready.steps["draw"],
        "sent_step": sent.steps["draw"],
        "delivered": delivered.id,
        "working": working.id,
        "works": working.job_id,
        "collecting": collecting.id,
        "submitting": submitting.id,
        "delivered_ref": refs[delivered.id],
        "working_ref": refs[working.id],
        "case": case_id,
        "closed_case": closed,
        "artifact": artifact["id"],
        "verified": verified["id"],
        "missing": missing[0]["id"],
        "filled": filled["id"],
        "digest": DIGEST,
    }


def _case(tx: Tx, shop: Shop, attempt: attempts.Attempt) -> str:
    case_id = cases.open_(
        tx,
        shop.clock,
        CaseKind.NO_OUTPUT,
        job_id=attempt.job_id,
        step_id=attempt.step_id,
        attempt_id=attempt.id,
    )
    assert case_id is not None
    cases.add_evidence(tx, shop.clock, case_id, "observation", {"answers": 5}, actor="w1")
    return case_id


def _money(tx: Tx, shop: Shop) -> None:
    """A line, what stands against it, a quote that waits, a charge that nobody knows of, an act and a stop."""
    line = budgets.insert(
        tx, shop.clock, Scope(provider="reapi"), currency="USD", spend_micros_max=5, requests_max=None
    )
    budgets.add(tx, Place(line_id=line.id, day="", campaign=""), Amount(spend_micros=1, requests=1))
    quoted = quotes.Quoted(
        account_id="acc_default",
        recipe_hash="f0",
        request_hash="a1",
        price_version="p1",
        consent_version="",
        expires_at=tx.now_us + 1,
    )
    quotes.insert(tx, "qte_waits", quoted, is_accepted=False)
    quotes.insert_request(tx, "qte_waits", recipe=("r", 1), inputs="{}", input_digests="{}", actor="ada")
    record = UsageRecord(key="k", ref="task_x", model="m", amount_micros=4, currency="USD", charged_at=None)
    import_id = charges.insert_import(
        tx, shop.clock, provider="reapi", digest="d", name="n", records=[record], actor="ada"
    )
    charges.insert(tx, shop.clock, str(import_id), "reapi", record)
    accounts.record_act(tx, shop.clock, "granted", "acc_default", actor="ada")
    stops.set_(tx, shop.clock, StopKind.RECIPE, "r", reason="r", actor="ada")
