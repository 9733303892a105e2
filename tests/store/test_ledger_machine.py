"""Whatever is granted, held, closed, corrected and crashed, in any order: the books are right after every step."""

import random
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from onetake.clock import ManualClock, new_id
from onetake.domain.errors import (
    AlreadyCapturedError,
    AlreadyReleasedError,
    ExceedsHoldError,
    ForeignHoldError,
    NotAllowedError,
    NotEnoughCreditsError,
    NotFoundError,
)
from onetake.domain.events import HoldEvent
from onetake.domain.pricing import QuoteLine
from onetake.store import accounts, jobs, ledger, ledger_check, quotes, recipes
from onetake.store.database import Database, Tx
from tests.store.kinds import KINDS

P = ParamSpec("P")
T = TypeVar("T")

GRANTED = 10**12
AMOUNTS = st.integers(1, 60)


class _CrashError(Exception):
    """The process dies before the commit."""


class Books:
    """An open database and what must be in it, kept in a dictionary beside it."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        self.database, self.clock = database, clock
        self.granted: dict[str, int] = {}
        self.holds: dict[str, tuple[str, str, int]] = {}  # account, job, amount
        self.spent: dict[str, int | None] = {}  # None while open
        self.closed_as: dict[str, str] = {}

    def do(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the operation gives, committed."""
        return _now(self.database.write(op, *args, **kwargs))

    def available(self, account: str) -> int:
        """What the account must have available."""
        own = [hold for hold, (owner, _, _) in self.holds.items() if owner == account]
        spent = [self.spent[hold] for hold in own]
        kept = sum(self.holds[hold][2] if each is None else each for hold, each in zip(own, spent, strict=True))
        return self.granted[account] - kept

    def open_account(self, name: str) -> str:
        def make(tx: Tx) -> str:
            account = accounts.insert(tx, self.clock, name=name, plan="credits", zone="UTC")
            ledger.open_account(tx, account)
            return account

        account = self.do(make)
        self.granted[account] = 0
        return account

    def grant(self, account: str, amount: int) -> None:
        self.do(ledger.grant, self.clock, account, amount, reason="g", actor="ada")
        self.granted[account] += amount

    def order(self, account: str, amounts: list[int]) -> list[str]:
        """The holds of a job with an output for each amount; none if the credits don't do."""
        job = new_id("job", self.clock)
        total = sum(amounts)
        if total > self.available(account):
            with pytest.raises(NotEnoughCreditsError):
                self.do(self._order, account, job, amounts)
            return []
        made = self.do(self._order, account, job, amounts)
        for hold, amount in zip(made, amounts, strict=True):
            self.holds[hold], self.spent[hold] = (account, job, amount), None
        return made

    def _order(self, tx: Tx, account: str, job: str, amounts: list[int]) -> list[str]:
        recipes.record(tx, name="r", version=1, digest="f0", content="{}", source="[recipe]")
        ledger.take(tx, account, sum(amounts))
        quote = new_id("qte", self.clock)
        quoted = quotes.Quoted(
            account_id=account, recipe_hash="f0", request_hash="a1", price_version="p", consent_version=""
        )
        quotes.insert(tx, quote, quoted, is_accepted=True)
        lines = [
            QuoteLine(step_name="s", output_name="o", ordinal=n, credits_max=amount, spend_micros_max=0, currency="USD")
            for n, amount in enumerate(amounts)
        ]
        ids = quotes.insert_lines(tx, self.clock, quote, lines)
        jobs.insert(
            tx,
            job_id=job,
            account_id=account,
            key=job[4:],
            quote_id=quote,
            recipe=("r", 1, "f0"),
            request_hash="a1",
            expected=len(amounts),
            inputs_json="{}",
        )
        return [
            ledger.hold(
                tx, self.clock, job_id=job, account_id=account, line_id=ids["s", "o", n], amount=amount, actor="ada"
            )
            for n, amount in enumerate(amounts)
        ]

    def close(self, hold: str, event: HoldEvent) -> None:
        is_first = self.spent[hold] is None
        assert self.do(ledger.close, self.clock, hold, event, reason="r", actor="w") is is_first
        if is_first:
            self._closed(hold, self.holds[hold][2] if event is HoldEvent.CAPTURED else 0)

    def settle(self, hold: str, captured: int) -> None:
        account, job, amount = self.holds[hold]
        wrong = {"captured": AlreadyCapturedError, "released": AlreadyReleasedError}.get(self.closed_as.get(hold, ""))
        if wrong is None and captured > amount:
            wrong = ExceedsHoldError
        if wrong is not None:
            with pytest.raises(wrong):
                self._settle(hold, account, job, captured)
            return
        self._settle(hold, account, job, captured)
        self._closed(hold, captured)

    def _settle(self, hold: str, account: str, job: str, captured: int) -> None:
        self.do(
            ledger.settle,
            self.clock,
            hold,
            account_id=account,
            job_id=job,
            captured=captured,
            reason="r",
            actor="ada",
        )

    def correct(self, hold: str, spent: int) -> None:
        account, job, amount = self.holds[hold]
        before = self.spent[hold]
        if before is None:
            wrong: type[Exception] | None = NotAllowedError
        elif spent > amount:
            wrong = ExceedsHoldError
        elif spent - before > self.available(account):
            wrong = NotEnoughCreditsError
        else:
            wrong = None
        if wrong is not None:
            with pytest.raises(wrong):
                self._correct(hold, account, job, spent)
            return
        assert self._correct(hold, account, job, spent) == abs(spent - (before or 0))
        self.spent[hold] = spent

    def _correct(self, hold: str, account: str, job: str, spent: int) -> int:
        return self.do(
            ledger.correct,
            self.clock,
            hold,
            account_id=account,
            job_id=job,
            spent=spent,
            reason="r",
            actor="ada",
            second_actor="ben",
        )

    def _closed(self, hold: str, spent: int) -> None:
        self.spent[hold] = spent
        self.closed_as[hold] = "captured" if spent else "released"

    def crash(self, op: Callable[[Tx], object]) -> None:
        """Do it, and die before the commit."""

        def die(tx: Tx) -> None:
            op(tx)
            raise _CrashError

        with pytest.raises(_CrashError):
            self.do(die)

    def check(self) -> None:
        """Every balance is what the model says, and every sum of the books is right."""
        for account, granted in self.granted.items():
            own = {hold: spent for hold, spent in self.spent.items() if self.holds[hold][0] == account}
            held = sum(self.holds[hold][2] for hold, spent in own.items() if spent is None)
            spent = sum(spent for spent in own.values() if spent is not None)
            found = _now(self.database.read(ledger.get_balance, account))
            assert found == {
                "granted": granted,
                "available": granted - held - spent,
                "held": held,
                "captured": spent,
            }
        assert _now(self.database.read(lambda tx: list(ledger_check.find_entry_faults(tx)))) == []


def _now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    raise AssertionError("it waits")


class LedgerMachine(RuleBasedStateMachine):
    """Two accounts, in any order of acts."""

    opened = Bundle("opened")
    held = Bundle("held")

    @initialize(target=opened)
    def begin(self) -> object:
        """Two accounts."""
        self._folder = Path(tempfile.mkdtemp())
        kind = KINDS["inline"]
        self._made = kind.made(self._folder)
        address = self._made.__enter__()
        clock = ManualClock()
        self.books = Books(kind.open(address, clock), clock)
        self._kind, self._address = kind, address
        return multiple(self.books.open_account("a"), self.books.open_account("b"))

    @rule(account=opened, amount=AMOUNTS)
    def grant(self, account: str, amount: int) -> None:
        """More credits."""
        self.books.grant(account, amount)

    @rule(target=held, account=opened, amounts=st.lists(AMOUNTS, min_size=1, max_size=4))
    def order(self, account: str, amounts: list[int]) -> object:
        """A job."""
        return multiple(*self.books.order(account, amounts))

    @rule(hold=held, event=st.sampled_from(list(HoldEvent)))
    def close(self, hold: str, event: HoldEvent) -> None:
        """Captured or released whole, perhaps not for the first time."""
        self.books.close(hold, event)

    @rule(hold=held, captured=st.integers(0, 70))
    def settle(self, hold: str, captured: int) -> None:
        """Captured in part, perhaps wrongly."""
        self.books.settle(hold, captured)

    @rule(hold=held, spent=st.integers(0, 70))
    def correct(self, hold: str, spent: int) -> None:
        """Corrected, perhaps wrongly."""
        self.books.correct(hold, spent)

    @rule(hold=held)
    def foreign(self, hold: str) -> None:
        """Somebody else's hold, or none."""
        with pytest.raises(ForeignHoldError):
            self.books._settle(hold, "acc_of_nobody", self.books.holds[hold][1], 0)
        with pytest.raises(NotFoundError):
            self.books._settle("hld_0", "acc", "job", 0)

    @rule(hold=held, event=st.sampled_from(list(HoldEvent)))
    def crash_while_closing(self, hold: str, event: HoldEvent) -> None:
        """Nothing of it stands."""
        clock = self.books.clock
        self.books.crash(lambda tx: ledger.close(tx, clock, hold, event, reason="r", actor="w"))

    @rule(account=opened, amount=AMOUNTS)
    def crash_while_granting(self, account: str, amount: int) -> None:
        """Nothing of it stands."""
        clock = self.books.clock
        self.books.crash(lambda tx: ledger.grant(tx, clock, account, amount, reason="g", actor="a"))

    @rule()
    def restart(self) -> None:
        """The file is opened anew."""
        _now(self.books.database.aclose())
        self.books.database = self._kind.open(self._address, self.books.clock)

    @invariant()
    def right(self) -> None:
        """The books are right."""
        if hasattr(self, "books"):
            self.books.check()

    def teardown(self) -> None:
        """Close the file."""
        if hasattr(self, "books"):
            _now(self.books.database.aclose())
            self._made.__exit__(None, None, None)
            shutil.rmtree(self._folder)


LedgerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase


def test_c052_a_hundred_thousand_movements_come_to_what_was_granted(tmp_path: Path) -> None:
    """Ten thousand orders of up to four outputs, each closed some way, corrected at times: entries, all of them."""
    chance, kind, clock = random.Random(52), KINDS["inline"], ManualClock()
    with kind.made(tmp_path) as address:
        books = Books(kind.open(address, clock), clock)
        account = books.open_account("a")
        books.grant(account, GRANTED)
        entries = 1

        def some(tx: Tx) -> int:
            count = 0
            for _ in range(500):
                amounts = [chance.randrange(1, 100_000) for _ in range(chance.randrange(1, 5))]
                for hold, amount in zip(books._order(tx, account, new_id("job", clock), amounts), amounts, strict=True):
                    captured = chance.choice((0, amount, chance.randrange(amount + 1)))
                    job = str(ledger.get_hold(tx, hold)["job_id"])
                    owner = {"account_id": account, "job_id": job}
                    ledger.settle(tx, clock, hold, **owner, captured=captured, reason="r", actor="a")
                    count += 2 + (0 < captured < amount)
                    if chance.random() < 0.05:
                        spent = chance.randrange(amount + 1)
                        count += ledger.correct(tx, clock, hold, **owner, spent=spent, reason="r", actor="a") > 0
            return count

        while entries < 100_000:
            entries += books.do(some)
        rows = _now(books.database.read(lambda tx: tx.all("SELECT * FROM ledger_entries")))
        assert len(rows) == entries
        assert all(type(row["amount"]) is int for row in rows)
        assert _now(books.database.read(lambda tx: list(ledger_check.find_entry_faults(tx)))) == []
        found = _now(books.database.read(ledger.get_balance, account))
        assert found["available"] + found["captured"] == found["granted"] == GRANTED
        _now(books.database.aclose())
