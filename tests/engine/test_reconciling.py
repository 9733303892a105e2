"""The provider's own records beside ours: what agrees is settled, what doesn't becomes a case."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.domain.answers import Cost, Died
from onetake.domain.errors import BadValueError
from onetake.domain.tables import WHOLE_MAX
from onetake.domain.usage import TEXT_CHARS_MAX, UsageRecord
from onetake.engine import people, reconciling
from onetake.engine.poller import record_death, record_finished
from onetake.engine.reconciling import Reconciled
from onetake.store import charges, leases
from onetake.store.leases import Watched
from tests.engine.recipes import ONE_REPLACEMENT, still
from tests.engine.rig import Rig, rigged

PRICE = "[steps.price]\ncredits = 40\nspend_micros_max = 100000\ncurrency = 'USD'\n"
PROMPT = "A heron in the reeds"


def charge(ref: str, micros: int = 40_000, at: int | None = None, key: str = "") -> UsageRecord:
    """What the provider says."""
    return UsageRecord(key=key or f"chg_{ref}", ref=ref, model="m", amount_micros=micros, currency="USD", charged_at=at)


async def taken_in(rig: Rig, *records: UsageRecord, digest: str = "d1") -> Reconciled:
    """What an import came to."""
    return await rig.act(reconciling.import_usage, "reapi", "usage.csv", digest, records)


async def test_a_charge_that_fits_settles_the_step_by_what_it_cost(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        rows = await rig.work()
        assert [row["settled_micros"] for row in rows["allowances"]] == [100_000]  # at worst: nobody told
        ref = (await rig.view(job))["refs"]["draw"]
        done = await taken_in(rig, charge(ref))
        assert (done.records, len(done.matched), done.orphans, done.disputed) == (1, 1, [], [])
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [40_000]
        with rig.unchanged():
            again = await taken_in(rig, charge(ref))
        assert not again.is_new
        other = await taken_in(rig, charge(ref), digest="d2")
        assert (other.is_new, other.records, other.changed) == (True, 0, [])
        dearer = await taken_in(rig, charge(ref, 41_000), digest="d3")
        assert dearer.changed == [f"chg_{ref}"]
        assert [row["amount_micros"] for row in rig.look()["charges"]] == [40_000]


async def test_a_charge_for_nobody_is_a_case_until_its_id_is_attached(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        rig.sandbox.script("accept_then_drop")
        job = await rig.buy(still(PRICE), prompt=PROMPT)
        await rig.work()
        (task,) = rig.bought()
        done = await taken_in(rig, charge(task["id"]))
        assert len(done.orphans) == 1
        (orphan,) = await rig.parts.database.read(charges.list_orphans)
        assert (orphan["ref"], orphan["case_state"]) == (task["id"], "open")
        await people.attach(rig.parts, job, task["id"])
        assert await rig.parts.database.read(charges.list_orphans) == []
        rows = await rig.work()
        assert [row["state"] for row in rows["cases"] if row["kind"] == "orphan"] == ["attached"]
        assert [row["settled_micros"] for row in rows["allowances"]] == [40_000]
        assert (await rig.balance())["captured"] == 40


async def test_what_should_have_been_charged_and_was_not_is_asked_about(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        jobs = [await rig.order(still(PRICE), prompt=f"{PROMPT} {number}") for number in range(3)]
        await rig.work()
        refs = [(await rig.view(job))["refs"]["draw"] for job in jobs]
        moments = sorted(row["accepted_at"] for row in rig.look()["attempts"])
        done = await taken_in(rig, charge(refs[0], at=moments[0] - 1), charge(refs[1], at=moments[-1] + 1))
        assert len(done.uncharged) == 1
        (case,) = (await rig.view(jobs[2]))["cases"]
        assert (case["kind"], case["state"]) == ("charge", "open")
        assert case["evidence"][0]["reason"] == "the provider's records don't show it"
        await taken_in(rig, charge(refs[2]), digest="d2")
        assert [case["state"] for case in (await rig.view(jobs[2]))["cases"]] == ["settled"]


async def endless(rig: Rig) -> tuple[Watched, str]:
    """A task that goes on and on, and the provider's id of it."""
    rig.sandbox.script("task_never_finishes")
    job = await rig.buy(still(PRICE), prompt=PROMPT)
    async with rig.working():
        await rig.until(job, "draw_processing")
    (held,) = await rig.parts.database.read(leases.list_watched, [rig.look()["attempts"][0]["id"]])
    return held, str((await rig.view(job))["refs"]["draw"])


async def fail(rig: Rig, held: Watched, charged: str, cost: Cost | None = None) -> None:
    """The provider's last word: failed."""
    died = Died(code="c", message="", is_moderation=False, charged=charged, cost=cost)  # type: ignore[arg-type]
    await rig.act(record_death, held, died)


@pytest.mark.parametrize(
    ("charged", "ending", "case_states"),
    [("unknown", (60, 0, 40), ["settled"]), ("no", (100, 0, 0), ["open"])],
)
async def test_a_charge_for_a_failed_task_is_evidence(
    tmp_path: Path, charged: str, ending: tuple[int, int, int], case_states: list[str]
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        held, ref = await endless(rig)
        await fail(rig, held, charged)
        await taken_in(rig, charge(ref))
        assert [row["state"] for row in rig.look()["cases"] if row["kind"] == "charge"] == case_states
        balance = await rig.balance()
        assert (balance["available"], balance["held"], balance["captured"]) == ending


async def test_a_charge_in_another_currency_closes_no_hold_and_one_beside_it_in_its_own_does(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        held, ref = await endless(rig)
        await fail(rig, held, "unknown")
        await taken_in(rig, replace(charge(ref), key="euros", currency="EUR"))
        assert (await rig.balance())["held"] == 40
        assert [row["charged"] for row in rig.look()["attempts"]] == ["unknown"]
        await taken_in(rig, charge(ref), digest="d2")
        balance = await rig.balance()
        assert (balance["held"], balance["captured"]) == (0, 40)
        assert [row["state"] for row in rig.look()["cases"] if row["kind"] == "charge"] == ["open"]
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [40_000]


async def test_a_second_charge_for_one_task_is_a_case(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        done = await taken_in(rig, charge(ref), replace(charge(ref), key="again"))
        assert len(done.disputed) == 1
        (case,) = (await rig.view(job))["cases"]
        told = case["evidence"][-1]
        assert (case["kind"], told["reason"]) == ("charge", "charged 2 times for one request")
        assert told["charges"] == ["0.04 USD", "0.04 USD"]
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [80_000]  # what was charged is spent


async def test_charges_in_several_currencies_are_never_added_up(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        done = await taken_in(rig, charge(ref), replace(charge(ref, 70_000), key="euros", currency="EUR"))
        assert len(done.disputed) == 1
        (case,) = (await rig.view(job))["cases"]
        assert "charged in another currency than USD" in case["evidence"][-1]["reason"]
        assert sorted(case["evidence"][-1]["charges"]) == ["0.04 USD", "0.07 EUR"]
        (attempt,) = rig.look()["attempts"]
        assert (attempt["cost_micros"], attempt["cost_currency"]) == (40_000, "USD")
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [40_000]


async def test_a_charge_in_another_currency_alone_is_asked_about_and_settles_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        done = await taken_in(rig, replace(charge(ref), currency="EUR"))
        assert len(done.disputed) == 1
        assert [case["kind"] for case in (await rig.view(job))["cases"]] == ["charge"]
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [100_000]  # still at worst


async def test_a_charge_above_the_highest_price_is_spent_and_asked_about(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        done = await taken_in(rig, charge(ref, 100_001))
        assert len(done.disputed) == 1
        (case,) = (await rig.view(job))["cases"]
        assert case["evidence"][-1]["reason"] == "charged more than the highest price that it was ordered at"
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [100_001]


async def test_the_highest_price_itself_is_no_surprise(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        assert (await taken_in(rig, charge(ref, 100_000))).disputed == []


@pytest.mark.parametrize(("charged", "reasons"), [("yes", []), ("unknown", []), ("no", ["charged all the same"])])
async def test_a_record_that_came_before_the_last_word_stands(tmp_path: Path, charged: str, reasons: list[str]) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        held, ref = await endless(rig)
        await taken_in(rig, charge(ref))
        await fail(rig, held, charged, Cost(micros=90_000, currency="USD"))
        rows = rig.look()
        assert [json.loads(row["body"])["reason"] for row in rows["evidence"]] == reasons
        assert [(row["charged"], row["cost_micros"]) for row in rows["attempts"]] == [("yes", 40_000)]
        assert [row["settled_micros"] for row in rows["allowances"]] == [40_000]
        balance = await rig.balance()
        assert (balance["held"], balance["captured"]) == (0, 40)


@pytest.mark.parametrize(("micros", "is_asked"), [(100_000, False), (100_001, True)])
@pytest.mark.parametrize("has_failed", [False, True])
async def test_an_answer_that_tells_of_more_than_the_highest_price_is_asked_about(
    tmp_path: Path, micros: int, *, is_asked: bool, has_failed: bool
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        held, _ = await endless(rig)
        cost = Cost(micros=micros, currency="USD")
        if has_failed:
            await fail(rig, held, "yes", cost)
        else:
            await rig.act(record_finished, held, ("http://127.0.0.1:1/still.png",), cost)
        rows = rig.look()
        assert [row["kind"] for row in rows["cases"]] == ["charge"] * is_asked
        assert [row["cost_micros"] for row in rows["attempts"]] == [micros]


async def test_the_record_of_a_charge_stands_above_what_the_answer_tells(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        held, ref = await endless(rig)
        await taken_in(rig, charge(ref))
        await rig.act(record_finished, held, ("http://127.0.0.1:1/still.png",), Cost(micros=900_000, currency="USD"))
        assert [row["cost_micros"] for row in rig.look()["attempts"]] == [40_000]
        assert rig.look()["cases"] == []


async def test_charges_for_what_has_no_price_add_up_in_the_currency_that_was_known_first(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        jobs = [await rig.order(still(), prompt=f"{PROMPT} {number}") for number in range(6)]
        await rig.work()
        refs = [(await rig.view(job))["refs"]["draw"] for job in jobs]
        euros = [replace(charge(ref, 70_000), key=f"a_{ref}", currency="EUR") for ref in refs]
        done = await taken_in(rig, *(charge(ref) for ref in refs), *euros)
        assert sorted(done.disputed) == sorted(row["id"] for row in rig.look()["attempts"])
        costs = {(row["cost_micros"], row["cost_currency"]) for row in rig.look()["attempts"]}
        assert costs == {(70_000, "EUR")}  # of one import by their keys, whatever their order
        await taken_in(rig, *(charge(ref, 1, key=f"0_{ref}") for ref in refs), digest="d2")
        costs = {(row["cost_micros"], row["cost_currency"]) for row in rig.look()["attempts"]}
        assert costs == {(70_000, "EUR")}


async def test_an_attempt_that_was_charged_again_and_again_is_disputed_once(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        records = [charge(ref, 30_000, key=f"chg_{number}") for number in range(4)]
        done = await taken_in(rig, *records)
        assert (len(done.matched), len(done.disputed)) == (4, 1)
        [told] = (await rig.view(job))["cases"][0]["evidence"]
        assert told["reason"] == (
            "charged 4 times for one request, and charged more than the highest price that it was ordered at"
        )
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [120_000]
        again = await taken_in(rig, *records, digest="d2")
        assert (again.records, again.disputed, again.changed) == (0, [], [])
        assert [row["settled_micros"] for row in rig.look()["allowances"]] == [120_000]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_the_longest_ids_are_kept_by_each_database(tmp_path: Path, kind: str) -> None:
    async with rigged(tmp_path, kind=kind) as rig:
        ref, key = ("".join(chr(first + number) for number in range(TEXT_CHARS_MAX)) for first in (0x10000, 0x1F000))
        done = await taken_in(rig, charge(ref, key=key))
        assert len(done.orphans) == 1
        (orphan,) = await rig.parts.database.read(charges.list_orphans)
        assert (orphan["ref"], orphan["record_key"]) == (ref, key)


async def test_a_sum_in_one_currency_leaves_room_in_another(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        huge = charge("of nobody", WHOLE_MAX)
        done = await taken_in(rig, huge, replace(huge, key="euros", currency="EUR"))
        assert len(done.orphans) == 2


async def test_what_several_attempts_of_a_step_cost_must_be_countable_too(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_fails")
        await rig.order(still(PRICE + ONE_REPLACEMENT), prompt=PROMPT)
        first, second = sorted((await rig.work())["refs"], key=lambda row: row["created_at"])
        await taken_in(rig, charge(first["ref"], WHOLE_MAX - 100_000))  # the other one stands at worst
        with rig.unchanged(), pytest.raises(BadValueError, match=r"step draw of job .* add up to more than"):
            await taken_in(rig, charge(second["ref"], 100_001), digest="d2")


@pytest.mark.parametrize("digests", [("d1",), ("d1", "d2")])
async def test_charges_beyond_all_counting_are_refused_and_move_nothing(
    tmp_path: Path, digests: tuple[str, ...]
) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(PRICE), prompt=PROMPT)
        await rig.work()
        ref = (await rig.view(job))["refs"]["draw"]
        huge = [charge(ref, WHOLE_MAX), charge(ref, WHOLE_MAX, key="again")]
        if len(digests) == 2:
            await taken_in(rig, huge.pop(), digest=digests[1])
        else:
            huge = [replace(each, ref="of nobody") for each in huge]
        with rig.unchanged(), pytest.raises(BadValueError, match="add up to more than"):
            await taken_in(rig, *huge, digest=digests[0])
