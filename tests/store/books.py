"""Accounts, quotes, holds and their closings in a real database, beside a dictionary that says what must be there.

Every act is tried as it comes, right or wrong. What must be refused has to be refused by its own class of error, and
leave nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import pytest

from onetake.clock import ManualClock
from onetake.domain.errors import (
    AlreadyCapturedError,
    AlreadyReleasedError,
    ExceedsHoldError,
    ForeignHoldError,
    KeyConflictError,
    NotAllowedError,
    NotEnoughCreditsError,
    NotFoundError,
    PriceError,
    QuoteExpiredError,
    QuoteMovedError,
    QuoteUsedError,
)
from onetake.domain.events import HoldEvent
from onetake.domain.recipe_toml import parse_recipe
from onetake.engine import bookkeeping
from onetake.engine.intake import accept, accept_quote
from onetake.engine.orders import Order, Requoted, Taken, Terms, prepare
from onetake.engine.quoting import quote
from onetake.engine.turn import RecipeBook, Turn
from onetake.store import accounts, ledger, ledger_check
from onetake.store.database import Database, Tx
from tests.store.kinds import Kind

P = ParamSpec("P")
T = TypeVar("T")

_STEP = """
[[steps]]
name = "{name}"
provider = "reapi"
operation = "image"
model = "m"
[steps.request]
prompt = "p"
[steps.price]
credits_per_s = 1
seconds = {{ ref = "inputs.{name}" }}
spend_micros_max = 1
currency = "USD"
"""
_OUTPUT = '[[steps.outputs]]\nname = "{}"\nkind = "image"\n'
SOURCE = (
    '[recipe]\nname = "books"\nversion = 1\n'
    + "".join(f'[inputs.{name}]\ntype = "integer"\nmin = 0\nmax = 1000000\n' for name in ("pair", "single"))
    + _STEP.format(name="pair")
    + _OUTPUT.format("left")
    + _OUTPUT.format("right")
    + _STEP.format(name="single")
    + _OUTPUT.format("only")
)
"""Three outputs: two at the price of `pair`, one at the price of `single`."""
RECIPE = parse_recipe(SOURCE, "books.toml")


@dataclass(slots=True, kw_only=True)
class Hold:
    """What must be so of a hold; `spent` is None while it is open."""

    account: str
    job: str
    amount: int
    spent: int | None = None
    was_captured: bool = False


@dataclass(slots=True, kw_only=True)
class Waiting:
    """What must be so of a quote."""

    account: str
    prices: tuple[int, int]
    expires_at: int
    is_used: bool = False


class _CrashError(Exception):
    """The process dies before the commit."""


class Books:
    """An open database with two accounts that pay with credits, and what must be in it."""

    def __init__(self, kind: Kind, address: str, clock: ManualClock) -> None:
        self._kind, self._address, self.clock = kind, address, clock
        self._runner, self._book = asyncio.Runner(), RecipeBook()
        self.database = self._opened()
        self.granted: dict[str, int] = {}
        self.holds: dict[str, Hold] = {}
        self.quotes: dict[str, Waiting] = {}
        self.jobs: dict[str, tuple[str, Order]] = {}

    def _opened(self) -> Database:
        async def open_() -> Database:
            return self._kind.open(self._address, self.clock)

        return self._runner.run(open_())

    def restart(self) -> None:
        """Close the database and open it anew."""
        self._runner.run(self.database.aclose())
        self.database = self._opened()

    def close(self) -> None:
        """Close the database for good."""
        self._runner.run(self.database.aclose())
        self._runner.close()

    # --- ways to act

    def do(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an operation of the store gives, committed."""
        return self._runner.run(self.database.write(op, *args, **kwargs))

    def see(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an operation of the store reads."""
        return self._runner.run(self.database.read(op, *args, **kwargs))

    def act(self, account: str, op: Callable[Concatenate[Turn, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an operation of the engine gives, done in the account and committed."""
        return self.do(lambda tx: op(self.turn(tx, account), *args, **kwargs))

    def turn(self, tx: Tx, account: str) -> Turn:
        """The owner's turn in the account."""
        return Turn(tx, self.clock, self._book, accounts.OWNER_NAME, account)

    def crash(self, op: Callable[[Tx], object]) -> None:
        """Do it, and die before the commit."""

        def die(tx: Tx) -> None:
            op(tx)
            raise _CrashError

        with pytest.raises(_CrashError):
            self.do(die)

    # --- accounts

    def open_account(self, name: str) -> str:
        """A new account with nothing in it."""
        account = self.act("default", bookkeeping.create_account, name, plan="credits", zone="UTC")
        self.granted[account] = 0
        return account

    def grant(self, account: str, amount: int) -> None:
        """More credits."""
        self.act(account, bookkeeping.grant, amount, reason="g")
        self.granted[account] += amount

    def available(self, account: str) -> int:
        """What the account must have available."""
        own = [hold for hold in self.holds.values() if hold.account == account]
        return self.granted[account] - sum(hold.amount if hold.spent is None else hold.spent for hold in own)

    # --- orders and quotes

    def order(self, account: str, prices: tuple[int, int]) -> list[str]:
        """The holds of a new job; none if the credits don't do."""
        order = self.request(prices)
        total = _total(prices)
        if total > self.available(account):
            refused(NotEnoughCreditsError, lambda: self.act(account, accept, order, Terms(accept_up_to=total)))
            return []
        return self._taken(account, order, self.act(account, accept, order, Terms(accept_up_to=total)))

    def order_for_less(self, account: str, prices: tuple[int, int]) -> None:
        """More than the caller accepts."""
        terms = Terms(accept_up_to=_total(prices) - 1)
        refused(PriceError, lambda: self.act(account, accept, self.request(prices), terms))

    def order_again(self, job: str, prices: tuple[int, int]) -> None:
        """The key of a job that stands: the same job for the same order, else refused."""
        account, order = self.jobs[job]
        again = self.request(prices, order.key)
        if again.request_hash == order.request_hash:
            found = self.act(account, accept, again, Terms(accept_up_to=_total(prices)))
            assert found == Taken(job_id=job, key=order.key, is_new=False, held=0)
        else:
            refused(KeyConflictError, lambda: self.act(account, accept, again, Terms(accept_up_to=_total(prices))))

    def quote(self, account: str, prices: tuple[int, int], valid_s: int) -> str:
        """A quote that waits."""
        made = self.act(account, quote, self.request(prices), valid_s=valid_s)
        assert made.credits_max == _total(prices)
        self.quotes[made.id] = Waiting(account=account, prices=prices, expires_at=made.expires_at)
        return made.id

    def accept_quote(self, quote_id: str, account: str, prices: tuple[int, int] | None = None) -> list[str]:
        """The holds of the job that the quote became; none if it doesn't hold. Other `prices` than its own move it."""
        quoted = self.quotes[quote_id]
        order = self.request(prices or quoted.prices)
        if account != quoted.account:
            wrong: type[Exception] | None = NotFoundError
        elif quoted.is_used:
            wrong = QuoteUsedError
        elif order.request_hash == self.request(quoted.prices).request_hash and (
            self.clock.now_us() < quoted.expires_at and _total(quoted.prices) > self.available(account)
        ):
            wrong = NotEnoughCreditsError
        else:
            wrong = None
        if wrong is not None:
            refused(wrong, lambda: self.act(account, accept_quote, order, quote_id))
            return []
        found = self.act(account, accept_quote, order, quote_id)
        if isinstance(found, Requoted):
            self._requoted(quoted, prices or quoted.prices, found)
            return []
        assert self.clock.now_us() < quoted.expires_at
        quoted.is_used = True
        return self._taken(account, order, found)

    def _requoted(self, old: Waiting, prices: tuple[int, int], found: Requoted) -> None:
        is_over = old.expires_at <= self.clock.now_us()
        assert type(found.error()) is (QuoteExpiredError if is_over else QuoteMovedError)
        assert bool(found.fields) is (prices != old.prices)
        new = found.quote
        self.quotes[new.id] = Waiting(account=old.account, prices=prices, expires_at=new.expires_at)

    def request(self, prices: tuple[int, int], key: str | None = None) -> Order:
        """An order at these prices, under a new key unless one is given."""
        inputs = dict(zip(("pair", "single"), prices, strict=True))
        return prepare(RECIPE, SOURCE, inputs=inputs, key=key or self.clock.token(8).hex())

    def _taken(self, account: str, order: Order, taken: Taken | Requoted) -> list[str]:
        assert isinstance(taken, Taken)
        assert taken.is_new
        self.jobs[taken.job_id] = account, order
        found = self.see(ledger.list_holds, taken.job_id)
        assert taken.held == sum(hold["amount"] for hold in found)
        for hold in found:
            self.holds[hold["id"]] = Hold(account=account, job=taken.job_id, amount=hold["amount"])
        return [hold["id"] for hold in found]

    # --- closings

    def close_whole(self, hold_id: str, event: HoldEvent) -> None:
        """Captured or released whole; a second time changes nothing."""
        hold = self.holds[hold_id]
        is_first = hold.spent is None
        assert self.do(ledger.close, self.clock, hold_id, event, reason="r", actor="w") is is_first
        if is_first:
            self._closed(hold, hold.amount if event is HoldEvent.CAPTURED else 0)

    def settle(self, hold_id: str, captured: int) -> None:
        """So much captured, the rest released."""
        hold = self.holds[hold_id]
        if hold.spent is not None:
            wrong: type[Exception] | None = AlreadyCapturedError if hold.was_captured else AlreadyReleasedError
        elif not 0 <= captured <= hold.amount:
            wrong = ExceedsHoldError
        else:
            wrong = None
        if wrong is not None:
            refused(wrong, lambda: self._settle(hold_id, hold.account, hold.job, captured))
            return
        self._settle(hold_id, hold.account, hold.job, captured)
        self._closed(hold, captured)

    def correct(self, hold_id: str, spent: int) -> None:
        """So much spent after all."""
        hold = self.holds[hold_id]
        if hold.spent is None:
            wrong: type[Exception] | None = NotAllowedError
        elif not 0 <= spent <= hold.amount:
            wrong = ExceedsHoldError
        elif spent - hold.spent > self.available(hold.account):
            wrong = NotEnoughCreditsError
        else:
            wrong = None
        if wrong is not None:
            refused(wrong, lambda: self._correct(hold_id, hold.account, hold.job, spent))
            return
        assert self._correct(hold_id, hold.account, hold.job, spent) == abs(spent - (hold.spent or 0))
        hold.spent = spent

    def close_as_others(self, hold_id: str, other_id: str) -> None:
        """By another account, for another job, and a hold that isn't there."""
        hold, other = self.holds[hold_id], self.holds[other_id]
        tries: list[tuple[type[Exception], str, str, str]] = [(NotFoundError, "hld_0", hold.account, hold.job)]
        if other.account != hold.account:
            tries.append((ForeignHoldError, hold_id, other.account, hold.job))
        if other.job != hold.job:
            tries.append((ForeignHoldError, hold_id, hold.account, other.job))
        for wrong, asked, account, job in tries:
            refused(wrong, partial(self._settle, asked, account, job, 0))
            refused(wrong, partial(self._correct, asked, account, job, 0))

    def _settle(self, hold_id: str, account: str, job: str, captured: int) -> None:
        owner = {"account_id": account, "job_id": job}
        self.do(ledger.settle, self.clock, hold_id, **owner, captured=captured, reason="r", actor="ada")

    def _correct(self, hold_id: str, account: str, job: str, spent: int) -> int:
        owner = {"account_id": account, "job_id": job}
        return self.do(
            ledger.correct, self.clock, hold_id, **owner, spent=spent, reason="r", actor="ada", second_actor="ben"
        )

    @staticmethod
    def _closed(hold: Hold, spent: int) -> None:
        hold.spent, hold.was_captured = spent, spent > 0

    # --- the truth

    def check(self) -> None:
        """Every balance is what it must be, every sum of the books is right, and nothing stands that must not."""
        for account, granted in self.granted.items():
            own = [hold for hold in self.holds.values() if hold.account == account]
            held = sum(hold.amount for hold in own if hold.spent is None)
            spent = sum(hold.spent for hold in own if hold.spent is not None)
            found = self.see(ledger.get_balance, account)
            assert found == {"granted": granted, "available": granted - held - spent, "held": held, "captured": spent}
        assert self.see(_count) == (len(self.jobs), len(self.holds), len(self.quotes))
        assert self.see(lambda tx: list(ledger_check.find_entry_faults(tx))) == []


def refused(wrong: type[Exception], act: Callable[[], object]) -> None:
    """The act is refused by this very class, not by one beneath it."""
    with pytest.raises(wrong) as caught:
        act()
    assert caught.type is wrong


def _total(prices: tuple[int, int]) -> int:
    return 2 * prices[0] + prices[1]


def _count(tx: Tx) -> tuple[int, int, int]:
    """How many jobs, holds and quotes that waited there are."""
    (row,) = tx.all(
        "SELECT (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM holds) AS holds,"
        " (SELECT count(*) FROM quote_requests) AS quotes"
    )
    return row["jobs"], row["holds"], row["quotes"]
