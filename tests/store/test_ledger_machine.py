"""Whatever is granted, quoted, ordered, closed, corrected and crashed, in any order: the books are right after it."""

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from onetake.domain.events import HoldEvent
from onetake.engine import bookkeeping
from onetake.engine.intake import accept, accept_quote
from onetake.engine.orders import Taken, Terms
from onetake.engine.quoting import quote
from onetake.store import ledger, ledger_check
from onetake.store.database import Tx
from tests.store.books import Books
from tests.store.kinds import KINDS, Kind

CREDITS = st.integers(1, 200)
PRICES = st.tuples(st.integers(0, 9), st.integers(1, 9))
PARTS = st.integers(-1, 10)
EVENTS = st.sampled_from(list(HoldEvent))


class LedgerMachine(RuleBasedStateMachine):
    """Two accounts, in any order of acts."""

    kind: ClassVar[Kind]
    opened = Bundle("opened")
    quoted = Bundle("quoted")
    held = Bundle("held")

    @initialize(target=opened)
    def begin(self) -> object:
        """Two accounts, one with credits."""
        self._stack = ExitStack()
        address = self._stack.enter_context(self.kind.made(Path(self._stack.enter_context(_folder()))))
        self.books = Books(self.kind, address, self._stack.enter_context(self.kind.clock(address)))
        self._stack.callback(self.books.close)
        rich, poor = self.books.open_account("rich"), self.books.open_account("poor")
        self.books.grant(rich, 1000)
        return multiple(rich, poor)

    @rule(account=opened, amount=CREDITS)
    def grant(self, account: str, amount: int) -> None:
        """More credits."""
        self.books.grant(account, amount)

    @rule(target=held, account=opened, prices=PRICES)
    def order(self, account: str, prices: tuple[int, int]) -> object:
        """A job."""
        return multiple(*self.books.order(account, prices))

    @rule(account=opened, prices=PRICES)
    def order_for_less(self, account: str, prices: tuple[int, int]) -> None:
        """Dearer than the caller accepts."""
        self.books.order_for_less(account, prices)

    @rule(hold=held, prices=st.none() | PRICES)
    def order_again(self, hold: str, prices: tuple[int, int] | None) -> None:
        """Under a key that stands, perhaps for something else."""
        job = self.books.holds[hold].job
        inputs = self.books.jobs[job][1].inputs
        self.books.order_again(job, prices or (int(str(inputs["pair"])), int(str(inputs["single"]))))

    @rule(target=quoted, account=opened, prices=PRICES, valid_s=st.integers(1, 60))
    def quote(self, account: str, prices: tuple[int, int], valid_s: int) -> str:
        """A quote."""
        return self.books.quote(account, prices, valid_s)

    @rule(target=held, account=opened, prices=PRICES, after_s=st.sampled_from([0, 9, 10]), other=PRICES)
    def quote_and_accept(self, account: str, prices: tuple[int, int], after_s: int, other: tuple[int, int]) -> object:
        """A quote that is accepted in time, or just too late; and once more, and for something else."""
        quote_id = self.books.quote(account, prices, 10)
        self.books.clock.advance(after_s)
        self.books.accept_quote(quote_id, account, other)
        held = self.books.accept_quote(quote_id, account)
        self.books.accept_quote(quote_id, account)
        return multiple(*held)

    @rule(target=held, quote_id=quoted, account=opened, prices=st.none() | PRICES)
    def accept_quote(self, quote_id: str, account: str, prices: tuple[int, int] | None) -> object:
        """A quote accepted, perhaps another's, late, twice, or for something else."""
        return multiple(*self.books.accept_quote(quote_id, account, prices))

    @rule(seconds=st.integers(1, 30))
    def wait(self, seconds: int) -> None:
        """Time passes, which moves no money."""
        self.books.clock.advance(seconds)

    @rule(hold=held, event=EVENTS)
    def close(self, hold: str, event: HoldEvent) -> None:
        """Captured or released whole, perhaps not for the first time."""
        self.books.close_whole(hold, event)

    @rule(hold=held, captured=PARTS)
    def settle(self, hold: str, captured: int) -> None:
        """Captured in part, perhaps wrongly."""
        self.books.settle(hold, captured)

    @rule(hold=held, spent=PARTS)
    def correct(self, hold: str, spent: int) -> None:
        """Corrected, perhaps wrongly."""
        self.books.correct(hold, spent)

    @rule(hold=held, other=held)
    def close_as_others(self, hold: str, other: str) -> None:
        """Somebody else's hold, or none."""
        self.books.close_as_others(hold, other)

    @rule(account=opened, amount=CREDITS, prices=PRICES)
    def crash_while_ordering(self, account: str, amount: int, prices: tuple[int, int]) -> None:
        """Nothing stands of a grant, of the job that it pays for and of a quote, accepted at once."""
        books, total = self.books, 2 * prices[0] + prices[1]

        def op(tx: Tx) -> None:
            turn = books.turn(tx, account)
            bookkeeping.grant(turn, amount + 2 * total, reason="g")
            accept(turn, books.request(prices), Terms(accept_up_to=total))
            made = quote(turn, books.request(prices), valid_s=1)
            assert isinstance(accept_quote(turn, books.request(prices), made.id), Taken)

        books.crash(op)

    @rule(hold=held, event=EVENTS)
    def crash_while_closing(self, hold: str, event: HoldEvent) -> None:
        """Nothing of it stands."""
        books = self.books
        books.crash(lambda tx: ledger.close(tx, books.clock, hold, event, reason="r", actor="w"))

    @rule()
    def restart(self) -> None:
        """The database is opened anew."""
        self.books.restart()

    @invariant()
    def right(self) -> None:
        """The books are right."""
        if hasattr(self, "books"):
            self.books.check()

    def teardown(self) -> None:
        """Close the database."""
        if hasattr(self, "_stack"):
            self._stack.close()


class _OnSqlite(LedgerMachine):
    kind = KINDS["inline"]


class _OnPostgres(LedgerMachine):
    kind = KINDS["postgres"]


TestOnSqlite = _OnSqlite.TestCase
TestOnSqlite.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestOnPostgres = _OnPostgres.TestCase
TestOnPostgres.settings = settings(
    max_examples=12, stateful_step_count=40, deadline=None
)  # a commit takes longer there


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@pytest.mark.parametrize("name", KINDS)
def test_each_wrong_act_has_its_own_refusal(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    with kind.made(tmp_path) as address, kind.clock(address) as clock:
        books = Books(kind, address, clock)
        rich, poor = books.open_account("rich"), books.open_account("poor")
        books.grant(rich, 100)
        captured, released, corrected = books.order(rich, (10, 5))
        (foreign, *_) = books.order(rich, (1, 1))
        books.settle(captured, 11)  # exceeds
        books.settle(captured, -1)
        books.correct(captured, 3)  # still open
        for hold, event in ((captured, HoldEvent.CAPTURED), (released, HoldEvent.RELEASED)):
            books.close_whole(hold, event)
            books.settle(hold, 0)  # captured before; released before
            books.close_whole(hold, event)
            books.close_as_others(hold, foreign)
        books.settle(corrected, 0)
        books.correct(corrected, 6)  # exceeds
        for prices in ((1, 1), (2, 2)):
            books.order_again(books.holds[captured].job, prices)
        books.order_for_less(rich, (1, 1))
        assert books.order(poor, (1, 1)) == []
        quoted, other, late = (books.quote(rich, (1, 1), 10) for _ in range(3))
        assert books.accept_quote(quoted, poor) == []  # somebody else's
        assert len(books.accept_quote(quoted, rich)) == 3
        assert books.accept_quote(quoted, rich) == []  # used
        assert books.accept_quote(other, rich, (2, 2)) == []  # moved
        clock.advance(10)
        assert books.accept_quote(late, rich) == []  # expired
        books.order(rich, (0, books.available(rich)))
        books.correct(corrected, 5)  # its credits are gone
        books.check()
        books.close()


def test_c052_a_hundred_thousand_movements_come_to_what_was_granted(tmp_path: Path) -> None:
    """Orders of three outputs, each closed some way, corrected at times: a hundred thousand entries."""
    chance, kind, granted = random.Random(52), KINDS["inline"], 10**12
    with kind.made(tmp_path) as address, kind.clock(address) as clock:
        books = Books(kind, address, clock)
        account = books.open_account("a")
        books.grant(account, granted)
        entries = 1

        def some(tx: Tx) -> int:
            count, terms = 0, Terms(accept_up_to=granted)
            for _ in range(500):
                order = books.request((chance.randrange(1, 100_000), chance.randrange(1, 100_000)))
                job = accept(books.turn(tx, account), order, terms).job_id
                owner = {"account_id": account, "job_id": job}
                for hold in ledger.list_holds(tx, job):
                    amount = hold["amount"]
                    captured = chance.choice((0, amount, chance.randrange(amount + 1)))
                    ledger.settle(tx, clock, hold["id"], **owner, captured=captured, reason="r", actor="a")
                    count += 2 + (0 < captured < amount)
                    if chance.random() < 0.05:
                        spent = chance.randrange(amount + 1)
                        count += ledger.correct(tx, clock, hold["id"], **owner, spent=spent, reason="r", actor="a") > 0
            return count

        while entries < 100_000:
            entries += books.do(some)
        rows = books.see(lambda tx: tx.all("SELECT * FROM ledger_entries"))
        assert len(rows) == entries
        assert all(type(row["amount"]) is int for row in rows)
        assert books.see(lambda tx: list(ledger_check.find_entry_faults(tx))) == []
        found = books.see(ledger.get_balance, account)
        assert found["available"] + found["captured"] == found["granted"] == granted
        books.close()
