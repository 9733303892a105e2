"""Whatever is reserved, bought, settled, set and ended, in any order: each line's sums are what they must be."""

import contextlib
import datetime
import itertools
import shutil
import tempfile
import zoneinfo
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from onetake.clock import ManualClock, new_id
from onetake.domain.errors import BadValueError
from onetake.domain.pricing import Worst
from onetake.domain.states import Period
from onetake.engine import budgeting, spending
from onetake.engine.auditing import find_faults
from onetake.engine.turn import RecipeBook, Turn
from onetake.store import accounts, allowances, attempts, budgets, charges, jobs, quotes, recipes, steps, workers
from onetake.store.budgets import EACH, Line, Scope
from onetake.store.database import Tx
from tests.store.kinds import KINDS

P = ParamSpec("P")
T = TypeVar("T")

ZONES = {"a": "UTC", "b": "Pacific/Auckland"}
CAMPAIGNS = ("", "x", "y")
PROVIDERS = ("reapi", "other")
HOUR_S = 3600.0

SCOPES = st.builds(
    Scope,
    account_id=st.sampled_from(("", "", "a", "b")),
    campaign=st.sampled_from(("", "", "x", EACH)),
    provider=st.sampled_from(("", "", "reapi")),
    period=st.sampled_from(list(Period)),
)
PIECES = st.lists(
    st.tuples(
        st.sampled_from(PROVIDERS),
        st.sampled_from(("USD", "USD", "USD", "EUR")),
        st.integers(0, 100),  # of one request
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=3,
)
CHARGED = st.sampled_from(("yes", "yes", "no", "unknown", "lost"))
KEEPS = {"keeps_spend": True, "keeps_requests": True}
GIVEN: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    st.one_of(
        st.just({}),
        st.builds(
            lambda currency, spend: {"currency": currency, "spend_micros_max": spend},
            st.sampled_from(("USD", "USD", "USD", "EUR")),
            st.integers(0, 500),
        ),
    ),
    requests_max=st.none() | st.integers(0, 8),
    keeps_spend=st.sampled_from((True, True, False)),
    keeps_requests=st.sampled_from((True, True, False)),
)


class _CrashError(Exception):
    """The process dies before the commit."""


@dataclass(slots=True, kw_only=True)
class Piece:
    """A step as the model has it: what it may cost, what was bought for it, and what it came to."""

    id: str
    job: str
    account: str
    campaign: str
    provider: str
    currency: str
    request: int
    requests: int
    reserved_at: int | None = None
    day: str | None = None
    bought: list[tuple[str, str, int | None]] = field(default_factory=list)  # attempt, charged, cost
    settled: tuple[int, int] | None = None

    @property
    def in_doubt(self) -> bool:
        return any(charged in ("unknown", "lost") for _, charged, _ in self.bought)

    @property
    def stands(self) -> tuple[int, int]:
        """Spend and requests: at worst, or what it did cost."""
        return (self.request * self.requests, self.requests) if self.settled is None else self.settled


@dataclass(slots=True, kw_only=True)
class Bounds:
    """A line as the model has it."""

    id: str
    currency: str
    spend: int | None
    requests: int | None


Place = tuple[str, str]  # day and campaign


class Desk:
    """An open database, and what must be in it."""

    def __init__(self, folder: Path) -> None:
        clock, self._stack = ManualClock(), contextlib.ExitStack()
        database = KINDS["inline"].open(self._stack.enter_context(KINDS["inline"].made(folder)), clock)
        self.database, self.clock = database, clock
        self.pieces: dict[str, Piece] = {}
        self.lines: dict[Scope, Bounds] = {}
        self.ids: dict[str, str] = {}
        self.seen: dict[tuple[str, Place], tuple[int, int]] = {}
        self.is_excused = False  # the last act may have let a line be passed
        self.do(workers.insert, "w", "w", lease_us=10**15)
        self.do(accounts.ensure_embedded)
        for name, zone in ZONES.items():
            self.ids[name] = self.do(accounts.insert, clock, name=name, plan="none", zone=zone)

    def do(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return _now(self.database.write(op, *args, **kwargs))

    def act(self, op: Callable[Concatenate[Turn, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def turn(tx: Tx) -> T:
            return op(Turn(tx, self.clock, RecipeBook(), accounts.OWNER_NAME), *args, **kwargs)

        return self.do(turn)

    def close(self) -> None:
        _now(self.database.aclose())
        self._stack.close()

    # --- what the model says

    def today(self, piece: Piece, moment_us: int | None = None) -> str:
        moment = datetime.datetime.fromtimestamp((moment_us or self.clock.now_us()) / 1e6, datetime.UTC)
        return moment.astimezone(zoneinfo.ZoneInfo(ZONES[piece.account])).date().isoformat()

    def uses(self, scope: Scope, bounds: Bounds, pieces: list[Piece]) -> dict[Place, tuple[int, int]]:
        spend: Counter[Place] = Counter()
        requests: Counter[Place] = Counter()
        for piece in pieces:
            if binds(scope, piece.account, piece.campaign, piece.provider):
                day = piece.day or "" if scope.period is Period.DAY else ""
                place = (day, piece.campaign if scope.campaign == EACH else "")
                spend[place] += piece.stands[0] if piece.currency == bounds.currency else 0
                requests[place] += piece.stands[1]
        return {place: (spend[place], requests[place]) for place in requests}

    def standing(self) -> list[Piece]:
        return [piece for piece in self.pieces.values() if piece.reserved_at is not None]

    # --- acts

    def order(self, account: str, campaign: str, wanted: list[tuple[str, str, int, int]]) -> list[str]:
        job = new_id("job", self.clock)
        made = [
            Piece(
                id=new_id("stp", self.clock),
                job=job,
                account=account,
                campaign=campaign,
                provider=provider,
                currency=currency,
                request=request,
                requests=requests,
            )
            for provider, currency, request, requests in wanted
        ]
        self.do(self._order, job, made)
        self.pieces |= {piece.id: piece for piece in made}
        return [piece.id for piece in made]

    def _order(self, tx: Tx, job: str, made: list[Piece]) -> None:
        recipes.record(tx, name="r", version=1, digest="f0", content="{}", source="[recipe]")
        account, quote = self.ids[made[0].account], new_id("qte", self.clock)
        quoted = quotes.Quoted(
            account_id=account, recipe_hash="f0", request_hash="a1", price_version="p", consent_version=""
        )
        quotes.insert(tx, quote, quoted, is_accepted=True)
        jobs.insert(
            tx,
            job_id=job,
            account_id=account,
            key=job[4:],
            quote_id=quote,
            campaign=made[0].campaign,
            recipe=("r", 1, "f0"),
            request_hash="a1",
            expected=0,
            inputs_json="{}",
        )
        for position, piece in enumerate(made):
            steps.insert(
                tx,
                step_id=piece.id,
                job_id=job,
                name=f"s{position}",
                position=position,
                provider=piece.provider,
                operation="image",
                model="m",
                deadline_s=60,
            )
            worst = Worst(request_micros=piece.request, requests=piece.requests, currency=piece.currency)
            allowances.insert(tx, self.clock, worst, job_id=job, step_id=piece.id, provider=piece.provider)

    def dispatch(self, *wanted: str) -> None:
        """In one transaction each step's job is let through whole, or a line that it would cross is named."""
        for step, found in zip(wanted, self.act(_ask, wanted), strict=True):
            piece = self.pieces[step]
            open_ = [each for each in self.pieces.values() if each.job == piece.job and each.reserved_at is None]
            crossed = self._crossed(open_)
            assert found in crossed if crossed else found is None
            if crossed:
                continue
            for each in open_:
                each.reserved_at = self.clock.now_us()
                each.day = self.today(each) if self.lines else None
            if not open_ and self.lines and piece.settled is None and piece.day != self.today(piece):
                piece.day, self.is_excused = self.today(piece), True

    def _crossed(self, open_: list[Piece]) -> set[str]:
        crossed = set()
        for scope, bounds in self.lines.items():
            bound = [piece for piece in open_ if binds(scope, piece.account, piece.campaign, piece.provider)]
            if any(bounds.currency not in ("", piece.currency) and piece.request for piece in bound):
                crossed.add(bounds.id)
            days = {piece.id: piece.day for piece in bound}
            for piece in bound:
                piece.day = self.today(piece)
            now = self.uses(scope, bounds, self.standing())
            for place, (spend, requests) in self.uses(scope, bounds, bound).items():
                has_spent, has_bought = now.get(place, (0, 0))
                if bounds.spend is not None and has_spent + spend > bounds.spend:
                    crossed.add(bounds.id)
                if bounds.requests is not None and has_bought + requests > bounds.requests:
                    crossed.add(bounds.id)
            for piece in bound:
                piece.day = days[piece.id]
        return crossed

    def buy(self, step: str, charged: str, cost: int | None) -> None:
        """A request was sent, and came to this; then the step is over."""
        piece = self.pieces[step]
        if piece.reserved_at is None or piece.settled is not None or len(piece.bought) == piece.requests:
            return
        attempt = new_id("att", self.clock)
        self.do(_buy, step, attempt, len(piece.bought) + 1, charged)
        piece.bought.append((attempt, charged, None))
        if cost is not None and charged == "yes":
            self.reconcile(step, cost)
        else:
            self.settle(step)

    def reconcile(self, step: str, cost: int) -> None:
        """The provider's record says what the last request cost, whatever was known of it."""
        piece = self.pieces[step]
        if not piece.bought:
            return
        attempt = piece.bought[-1][0]
        self.do(charges.note_cost, attempt, cost_micros=cost, currency=piece.currency)
        if piece.bought[-1][1] == "lost":
            return  # it may still turn out to be running
        piece.bought[-1] = (attempt, "yes", cost)
        self.settle(step)

    def settle(self, step: str) -> None:
        """Count the step by what it did cost, unless that is in doubt; nothing where nothing was bought."""
        piece = self.pieces[step]
        before = piece.stands
        self.act(spending.settle, step)
        if not piece.in_doubt:
            billed = [cost for _, charged, cost in piece.bought if charged == "yes"]
            piece.settled = (sum(piece.request if cost is None else cost for cost in billed), len(billed))
        # No line is asked about a bill.
        self.is_excused |= any(now > earlier for now, earlier in zip(piece.stands, before, strict=True))

    def set(self, scope: Scope, given: dict[str, Any]) -> None:
        """Bounds that are given, kept or taken away."""
        standing = self.lines.get(scope)
        wanted = None if given == {**KEEPS, "requests_max": None} else self._wanted(standing, **given)
        if wanted is None or self._meets_another_currency(scope, wanted.currency):
            with pytest.raises(BadValueError):
                self.act(budgeting.set_line, self._named(scope), **given)
            return
        line, is_new = self.act(budgeting.set_line, self._named(scope), **given)
        assert is_new is (standing is None)
        assert standing is None or line.id == standing.id
        assert (line.currency, line.spend_micros_max, line.requests_max) == (
            wanted.currency,
            wanted.spend,
            wanted.requests,
        )
        self.lines[scope], self.is_excused = replace(wanted, id=line.id), True
        for piece in self.standing():
            piece.day = piece.day or self.today(piece, piece.reserved_at)

    def _named(self, scope: Scope) -> Scope:
        return replace(scope, account_id=self.ids.get(scope.account_id, ""))

    @staticmethod
    def _wanted(
        standing: Bounds | None,
        *,
        currency: str = "",
        spend_micros_max: int | None = None,
        requests_max: int | None = None,
        keeps_spend: bool = True,
        keeps_requests: bool = True,
    ) -> Bounds | None:
        if standing is not None and spend_micros_max is None and keeps_spend:
            currency, spend_micros_max = standing.currency, standing.spend
        if standing is not None and requests_max is None and keeps_requests:
            requests_max = standing.requests
        if spend_micros_max is None and requests_max is None:
            return None
        return Bounds(id="", currency=currency, spend=spend_micros_max, requests=requests_max)

    def _meets_another_currency(self, scope: Scope, currency: str) -> bool:
        everybody = list(itertools.product(ZONES, (*CAMPAIGNS, "z"), PROVIDERS))
        return any(
            currency
            and bounds.currency not in ("", currency)
            and any(binds(scope, *who) and binds(other, *who) for who in everybody)
            for other, bounds in self.lines.items()
        )

    def end(self, scope: Scope) -> None:
        """The line bounds nothing any more."""
        if (bounds := self.lines.pop(scope, None)) is not None:
            self.act(budgeting.end_line, bounds.id)
            self.seen = {place: use for place, use in self.seen.items() if place[0] != bounds.id}

    def crash(self, step: str) -> None:
        """Let the step's job through, and die before the commit."""

        def die(turn: Turn) -> None:
            _ask(turn, [step])
            raise _CrashError

        with pytest.raises(_CrashError):
            self.act(die)

    # --- what must hold

    def check(self) -> None:
        """Each line's sums are what the model counts; none grows above its bound, unless the last act had to let it."""
        standing = self.standing()
        for scope, bounds in self.lines.items():
            wanted = {place: use for place, use in self.uses(scope, bounds, standing).items() if use != (0, 0)}
            rows = self.do(budgets.list_uses, bounds.id)
            found = {(row["day"], row["campaign"]): (row["spend_micros"], row["requests"]) for row in rows}
            assert {place: use for place, use in found.items() if use != (0, 0)} == wanted
            for place, use in wanted.items():
                before = self.seen.get((bounds.id, place), (0, 0))
                for most, now, earlier in zip((bounds.spend, bounds.requests), use, before, strict=True):
                    assert most is None or now <= max(most, earlier) or self.is_excused, (scope, place)
                self.seen[bounds.id, place] = use
        self.is_excused = False
        assert [fault for fault in self.do(lambda tx: list(find_faults(tx))) if fault[0] == "budget_uses"] == []
        self._check_exposure(standing)

    def _check_exposure(self, standing: list[Piece]) -> None:
        """What may have to be paid is what was paid, what is held, and the unknowns at worst; a line says the same."""
        bounds = Bounds(id="", currency="USD", spend=None, requests=None)
        ours = [piece for piece in standing if piece.currency == "USD"]
        captured = sum(piece.settled[0] for piece in ours if piece.settled is not None)
        unknown = sum(piece.request * piece.requests for piece in ours if piece.settled is None and piece.in_doubt)
        held = sum(piece.request * piece.requests for piece in ours if piece.settled is None and not piece.in_doubt)
        assert sum(spend for spend, _ in self.uses(Scope(), bounds, standing).values()) == captured + held + unknown
        line = Line(id="", scope=Scope(), currency="USD", spend_micros_max=0, requests_max=None)
        found = self.do(spending.recount, line)
        assert sum(amount.spend_micros for amount in found.values()) == captured + held + unknown


def binds(scope: Scope, account: str, campaign: str, provider: str) -> bool:
    """Whether what is bought for these stands against a line of the scope."""
    return (
        scope.account_id in ("", account)
        and scope.provider in ("", provider)
        and (scope.campaign in ("", campaign) or (scope.campaign == EACH and campaign != ""))
    )


def _ask(turn: Turn, wanted: Sequence[str]) -> list[str | None]:
    """For each step the line that it would cross."""
    looked_at = [steps.get(turn.tx, step_id) for step_id in wanted]
    gate = spending.SpendGate(turn, looked_at)
    crossed = [gate.find_crossed(step) for step in looked_at]
    return [None if line is None else line.id for line in crossed]


def _buy(tx: Tx, step_id: str, attempt_id: str, no: int, charged: str) -> None:
    step = steps.get(tx, step_id)
    attempts.insert(tx, step, attempt_id=attempt_id, no=no, contract_version="c", worker_id="w", lease_us=1)
    changes: dict[str, object] = {"state": "failed", "charged": charged, "ended": tx.now_us}
    if charged == "lost":
        changes = {"state": "submit_unknown", "charged": "unknown", "ended": None}
    tx.do(
        "UPDATE attempts SET state = :state, charged = :charged, ended_at = :ended WHERE id = :id",
        {**changes, "id": attempt_id},
    )


def _now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    raise AssertionError("it waits")


class BudgetMachine(RuleBasedStateMachine):
    """Two accounts in two zones, in any order of acts."""

    ordered = Bundle("ordered")

    @initialize()
    def begin(self) -> None:
        """An empty database."""
        self._folder = Path(tempfile.mkdtemp())
        self.desk = Desk(self._folder)

    @rule(target=ordered, account=st.sampled_from(sorted(ZONES)), campaign=st.sampled_from(CAMPAIGNS), wanted=PIECES)
    def order(self, account: str, campaign: str, wanted: list[tuple[str, str, int, int]]) -> object:
        """A job."""
        return multiple(*self.desk.order(account, campaign, wanted))

    @rule(wanted=st.lists(ordered, min_size=1, max_size=4))
    def dispatch(self, wanted: list[str]) -> None:
        """Steps are to be sent, perhaps not the first of their jobs."""
        self.desk.dispatch(*wanted)

    @rule(step=ordered)
    def crash_while_dispatching(self, step: str) -> None:
        """Nothing of it stands."""
        self.desk.crash(step)

    @rule(step=ordered, charged=CHARGED, cost=st.none() | st.integers(0, 120))
    def send(self, step: str, charged: str, cost: int | None) -> None:
        """It is sent, if it may be, and comes to something."""
        self.desk.dispatch(step)
        self.desk.buy(step, charged, cost)

    @rule(step=ordered, cost=st.integers(0, 120))
    def reconcile(self, step: str, cost: int) -> None:
        """The provider's record comes, perhaps of an unknown, perhaps again."""
        self.desk.reconcile(step, cost)

    @rule(step=ordered)
    def release(self, step: str) -> None:
        """It is over, perhaps before anything was sent."""
        self.desk.settle(step)

    @rule(scope=SCOPES, given=GIVEN)
    def set_line(self, scope: Scope, given: dict[str, Any]) -> None:
        """A line is set, perhaps anew, perhaps below what stands, perhaps wrongly."""
        self.desk.set(scope, given)

    @rule(scope=SCOPES)
    def end_line(self, scope: Scope) -> None:
        """A line is ended, if there is one."""
        self.desk.end(scope)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        """Days go by."""
        self.desk.clock.advance(hours * HOUR_S)

    @invariant()
    def right(self) -> None:
        """The sums are right."""
        if hasattr(self, "desk"):
            self.desk.check()

    def teardown(self) -> None:
        """Close the file."""
        if hasattr(self, "desk"):
            self.desk.close()
            shutil.rmtree(self._folder)


BudgetMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestBudgetMachine = BudgetMachine.TestCase


def test_a_line_asks_nothing_about_steps_that_it_does_not_bind(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ours = Scope(provider="reapi")
    desk.set(ours, {"currency": "USD", "spend_micros_max": 5})
    (first, _) = desk.order("a", "", [("reapi", "USD", 5, 1), ("other", "EUR", 70, 1)])
    desk.dispatch(first)
    desk.check()
    assert desk.pieces[first].reserved_at is not None
    (foreign,) = desk.order("a", "", [("reapi", "EUR", 0, 1)])
    desk.dispatch(foreign)  # costs nothing, in whatever currency
    assert desk.pieces[foreign].reserved_at is not None
    desk.end(ours)
    desk.set(ours, {"currency": "EUR", "spend_micros_max": 100})
    desk.check()
    assert desk.uses(ours, desk.lines[ours], desk.standing()) == {("", ""): (0, 2)}
    desk.close()
