"""The cases of K5: real ways to lose money, each by its number. The bill is the provider's own."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.domain.answers import Died
from onetake.domain.contract import Charged, Contract
from onetake.domain.errors import BadValueError, NotEnoughCreditsError, QuoteExpiredError, QuoteUsedError, RecipeError
from onetake.domain.recipe_contracts import check_contracts
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.states import CaseKind, StopKind
from onetake.engine.intake import accept, accept_quote
from onetake.engine.orders import Requoted, Taken, Terms, prepare
from onetake.engine.poller import record_death
from onetake.engine.quoting import quote
from onetake.engine.stopping import lift
from onetake.sandbox import SandboxOptions
from onetake.store import leases, stops
from onetake.store.database import Row
from tests.engine.recipes import still, stills
from tests.engine.rig import Rig, rigged

PROMPT = "A lighthouse in the fog"
PRICE = "[steps.price]\ncredits = 40\nspend_micros_max = 80000\ncurrency = 'USD'\n"
PRICED = still(PRICE)
LOCKED = SandboxOptions(tiny=True)


def billed(source: str, rule: str) -> str:
    """The recipe with a billing rule."""
    return source.replace("version = 1\n", f'version = 1\nbilling = "{rule}"\n', 1)


def charging(rig: Rig, *, refused: Charged = "no", failed: Charged = "no", filtered: Charged = "no") -> None:
    """Let the provider's contract say what is billed."""
    adapter = rig.parts.adapters["reapi"]
    contract: Contract = replace(
        adapter.contract,
        refusals=replace(adapter.contract.refusals, charged_when_filtered=refused),
        poll=replace(adapter.contract.poll, charged_on_failure=failed, charged_when_filtered=filtered),
    )
    rig.parts = replace(rig.parts, adapters={"reapi": replace(adapter, contract=contract)})


def where(balance: Row) -> tuple[int, int, int]:
    """Available, held and captured."""
    return balance["available"], balance["held"], balance["captured"]


# --- C047


@pytest.mark.parametrize(("fault", "ending"), [(None, (60, 0, 40)), ("task_fails", (100, 0, 0))])
async def test_c047_a_deadline_moves_no_money_and_the_last_word_does_once(
    tmp_path: Path, fault: str | None, ending: tuple[int, int, int]
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        rig.sandbox.script("task_never_finishes")
        job = await rig.buy(still(PRICE, deadline_s=60), prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "alarm.raised", every_s=10)
        assert where(await rig.balance()) == (60, 40, 0)
        assert (await rig.view(job))["status"] == "in_progress"
        rig.clock.leap(3600)
        if fault:
            held = (await rig.parts.database.read(leases.list_watched, [rig.look()["attempts"][0]["id"]]))[0]
            await rig.act(record_death, held, Died(code="c", message="", is_moderation=False, charged="no"))
        else:
            rig.let_finish()
        await rig.work()
        assert where(await rig.balance()) == ending
        await rig.work()
        assert where(await rig.balance()) == ending


async def test_c047_what_never_ends_stays_held_and_is_listed(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        rig.sandbox.script("accept_then_drop")
        job = await rig.buy(PRICED, prompt=PROMPT)
        for _ in range(3):
            await rig.work()
            rig.clock.leap(10 * 86_400)
        view = await rig.view(job)
        assert (view["status"], view["money"]["held"], where(await rig.balance())) == (
            "submission_unknown",
            40,
            (60, 40, 0),
        )
        assert [case["state"] for case in view["cases"]] == ["open"]


# --- C049


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_c049_of_eight_that_read_the_same_failure_one_releases_100_times(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig:
        await rig.fund(4000)
        rig.sandbox.script("task_never_finishes", times=100)
        jobs = [await rig.buy(PRICED, prompt=f"{PROMPT} {number}") for number in range(100)]
        async with rig.working():
            for job in jobs:
                await rig.until(job, "draw_processing")
        died = Died(code="c", message="", is_moderation=False, charged="no")
        ids = [row["id"] for row in rig.look()["attempts"]]
        for held in await rig.parts.database.read(leases.list_watched, ids):
            await asyncio.gather(*(rig.act(record_death, held, died) for _ in range(8)))
        rows = rig.look()
        assert len([entry for entry in rows["ledger_entries"] if entry["kind"] == "release"]) == 100
        assert where(await rig.balance()) == (4000, 0, 0)


# --- C050


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_c050_one_credit_buys_one_picture(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig:
        await rig.fund(1)
        source = still(PRICE.replace("credits = 40", "credits = 1"))
        tries = [rig.buy(source, prompt=f"{PROMPT} {number}") for number in range(20)]
        found = await asyncio.gather(*tries, return_exceptions=True)
        refused = [each for each in found if isinstance(each, NotEnoughCreditsError)]
        assert len(refused) == 19
        assert refused[0].exit_code == 11
        assert where(await rig.balance()) == (0, 1, 0)  # the hold stands before anything is sent
        await rig.work()
        assert rig.bill["totals"]["posts"] == len(rig.bought()) == 1
        assert where(await rig.balance()) == (0, 0, 1)


# --- C053

CUT = """
[recipe]
name = "cut"
version = 1
key = ["prompt"]
[inputs.prompt]
type = "text"
[inputs.seconds]
type = "number"
min = 1
max = 30
default = 7.5
[[steps]]
name = "move"
provider = "reapi"
operation = "video"
model = "wan3.0-video"
[steps.request]
model = { ref = "step.model" }
prompt = { ref = "inputs.prompt" }
duration = { ref = "inputs.seconds" }
image_with_roles = [{ url = "https://cdn.example/a.png", role = "first_frame" }]
[steps.price]
credits_per_s = 75000
seconds = { ref = "inputs.seconds" }
spend_micros_max = 1
currency = "USD"
[[steps.outputs]]
name = "clip"
kind = "video"
"""


async def test_c053_the_default_that_is_priced_is_the_one_that_is_sent(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(1_000_000)
        await rig.buy(CUT, up_to=562_500, prompt=PROMPT)
        assert (await rig.balance())["held"] == 562_500
        async with rig.working():
            await rig.meanwhile(lambda: _has(rig, "attempts"))
        assert b'"duration":7.5' in rig.look()["wires"][0]["body"]


async def _has(rig: Rig, table: str) -> bool:
    return bool(rig.look()[table])


async def test_c053_a_quote_of_an_old_price_is_answered_with_a_new_one_and_holds_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        old, dearer = PRICED, PRICED.replace("version = 1", "version = 2").replace("credits = 40", "credits = 50")
        order = prepare(parse_recipe(old, "t"), old, inputs={"prompt": PROMPT})
        made = await rig.act(quote, order, valid_s=3600)
        now = prepare(parse_recipe(dearer, "t"), dearer, inputs={"prompt": PROMPT})
        found = await rig.act(accept_quote, now, made.id)
        assert isinstance(found, Requoted)
        assert (set(found.fields), found.quote.credits_max) == ({"/recipe", "/credits"}, 50)
        assert found.fields["/credits"] == "is 50, was 40"
        assert (where(await rig.balance()), rig.look()["jobs"]) == ((100, 0, 0), [])
        taken = await rig.act(accept_quote, now, found.quote.id)
        assert isinstance(taken, Taken)
        assert (taken.held, where(await rig.balance())) == (50, (50, 50, 0))


async def test_c053_a_quote_whose_time_is_over_is_answered_with_a_new_one_and_holds_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        order = prepare(parse_recipe(PRICED, "t"), PRICED, inputs={"prompt": PROMPT})
        made = await rig.act(quote, order, valid_s=3600)
        rig.clock.leap(3600)
        found = await rig.act(accept_quote, order, made.id)
        assert isinstance(found, Requoted)
        assert (found.expired_at, found.fields) == (made.expires_at, {})
        assert found.quote.expires_at == made.expires_at + 3600 * 1_000_000
        error = found.error()
        assert isinstance(error, QuoteExpiredError)
        assert f"look at {found.quote.id}, up to 40 credits, and accept that one" in error.sentence
        assert (where(await rig.balance()), rig.look()["jobs"]) == ((100, 0, 0), [])
        assert isinstance(await rig.act(accept_quote, order, made.id), Requoted)  # it stays over
        taken = await rig.act(accept_quote, order, found.quote.id)
        assert isinstance(taken, Taken)
        assert (taken.held, where(await rig.balance())) == (40, (60, 40, 0))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_c053_of_orders_that_accept_one_quote_at_once_one_is_taken(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig, rig.beside() as other:
        await rig.fund(1000)
        for number in range(10):
            inputs = {"prompt": f"{PROMPT} {number}"}
            orders = [
                prepare(parse_recipe(PRICED, "t"), PRICED, inputs=inputs, key=f"{number} {each}") for each in "abcd"
            ]
            made = await rig.act(quote, orders[0], valid_s=3600)
            tries = [
                parts.act("ada", accept_quote, order, made.id)
                for parts, order in zip((rig.parts, other) * 2, orders, strict=True)
            ]
            found = await asyncio.gather(*tries, return_exceptions=True)
            assert sum(isinstance(each, Taken) for each in found) == 1
            assert sum(isinstance(each, QuoteUsedError) for each in found) == 3
        assert where(await rig.balance()) == (600, 400, 0)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_c053_a_quote_accepted_twice_at_once_under_one_key_is_one_job(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig, rig.beside() as other:
        await rig.fund(1000)
        for number in range(10):
            order = prepare(parse_recipe(PRICED, "t"), PRICED, inputs={"prompt": f"{PROMPT} {number}"})
            made = await rig.act(quote, order, valid_s=3600)
            tries = [parts.act("ada", accept_quote, order, made.id) for parts in (rig.parts, other) * 2]
            found = [each for each in await asyncio.gather(*tries) if isinstance(each, Taken)]
            assert len(found) == 4
            assert len({each.job_id for each in found}) == 1
            assert sum(each.is_new for each in found) == 1
        assert where(await rig.balance()) == (600, 400, 0)


async def test_c053_a_price_of_the_callers_own_is_refused(tmp_path: Path) -> None:
    async with rigged(tmp_path):
        with pytest.raises(BadValueError, match="/inputs/price isn't an input"):
            prepare(parse_recipe(PRICED, "t"), PRICED, inputs={"prompt": PROMPT, "price": 1})


async def test_c053_one_reference_more_than_the_model_takes_is_refused_before_the_hold(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        contract = rig.parts.adapters["reapi"].contract
        video = replace(contract.operations["video"], items_max={"image_with_roles": 1})
        narrow = replace(contract, operations={**contract.operations, "video": video})
        role = '{ url = "https://cdn.example/a.png", role = "first_frame" }'
        recipe = parse_recipe(CUT.replace(role, f"{role}, {role}"), "t")
        with pytest.raises(RecipeError, match="has 2 items; reapi video takes at most 1"):
            check_contracts(recipe, {"reapi": narrow}, "t")
        assert check_contracts(parse_recipe(CUT, "t"), {"reapi": narrow}, "t")


# --- C054, C057


@pytest.mark.parametrize(
    ("rule", "failed", "ending", "open_"),
    [
        ("charged", "no", (100, 0, 0), []),
        ("charged", "yes", (60, 0, 40), []),
        ("charged", "unknown", (60, 40, 0), [CaseKind.CHARGE]),
        ("bill", "no", (60, 0, 40), []),
        ("bill", "unknown", (60, 0, 40), []),
        ("return", "yes", (100, 0, 0), []),
        ("return", "unknown", (100, 0, 0), []),
    ],
)
async def test_c054_acceptance_only_holds_and_a_failure_goes_by_the_rule(
    tmp_path: Path, rule: str, failed: Charged, ending: tuple[int, int, int], open_: list[str]
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        charging(rig, failed=failed)
        rig.sandbox.script("task_fails")
        job = await rig.buy(billed(PRICED, rule), prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "attempt.accepted")
            assert where(await rig.balance()) == (60, 40, 0)
            await rig.until(job, "failed")
        view = await rig.view(job)
        assert [case["kind"] for case in view["cases"] if case["state"] == "open"] == open_
        assert where(await rig.balance()) == ending


@pytest.mark.parametrize(
    ("filtered", "ending", "told"),
    [("no", (100, 0, 0), "released"), ("yes", (60, 0, 40), "captured"), ("unknown", (60, 40, 0), "held")],
)
@pytest.mark.parametrize("fault", ["refuse_moderation", "at the end"])
async def test_c057_what_was_filtered_is_settled_as_the_contract_says(
    tmp_path: Path, fault: str, filtered: Charged, ending: tuple[int, int, int], told: str
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        charging(rig, refused=filtered, filtered=filtered)
        job = await rig.buy(PRICED, prompt=PROMPT)
        if fault == "refuse_moderation":
            rig.sandbox.script(fault)
            await rig.work()
        else:
            rig.sandbox.script("task_never_finishes")
            async with rig.working():
                await rig.until(job, "draw_processing")
            (held,) = await rig.parts.database.read(leases.list_watched, [rig.look()["attempts"][0]["id"]])
            died = Died(code="content_policy_violation", message="", is_moderation=True, charged=filtered)
            await rig.act(record_death, held, died)
        view = await rig.view(job)
        assert (view["state"], where(await rig.balance())) == ("failed", ending)
        assert [line["data"]["holds"] for line in await rig.journal(job) if line["event"] == "step.failed"] == [told]
        assert [case["kind"] for case in view["cases"]] == (["charge"] if filtered == "unknown" else [])


async def test_c057_of_four_the_three_that_came_are_spent_and_one_is_given_back(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(160)
        source = stills(asked=3, expected=4, partial="incomplete").replace(
            "[[steps.outputs]]", f"{PRICE}[[steps.outputs]]", 1
        )
        job = await rig.buy(source, prompt=PROMPT)
        await rig.work()
        assert (await rig.state(job), where(await rig.balance())) == ("incomplete", (40, 0, 120))


# --- C058


async def test_c058_a_locked_account_stops_the_batch(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=1) as rig:
        await rig.fund(34 * 40)
        jobs = [await rig.buy(PRICED, prompt=f"{PROMPT} {number}") for number in range(34)]
        rig.sandbox.script("refuse_account_locked", prompt_contains=f"{PROMPT} 4")
        await rig.work()
        states = [await rig.state(job) for job in jobs]
        assert (states[:4], states[4], set(states[5:])) == (["complete"] * 4, "failed", {"draw_ready"})
        assert rig.bill["totals"]["posts"] == 5
        assert where(await rig.balance()) == (40, 29 * 40, 4 * 40)
        (stop,) = await rig.parts.database.read(stops.list_open)
        assert (stop["kind"], stop["subject"], "account_locked" in stop["reason"]) == ("provider", "reapi", True)
        await rig.restart()
        await rig.work()
        assert rig.bill["totals"]["posts"] == 5  # a restart opens nothing
        await rig.act(lift, StopKind.PROVIDER, "reapi")
        await rig.work()
        assert [await rig.state(job) for job in jobs[5:]] == ["complete"] * 29


async def test_terms_that_are_too_low_hold_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.fund(100)
        order = prepare(parse_recipe(PRICED, "t"), PRICED, inputs={"prompt": PROMPT})
        for terms, words in (
            (Terms(), "accept that with --accept-up-to 40"),
            (Terms(accept_up_to=39), "up to 39 were"),
        ):
            with pytest.raises(BadValueError.__mro__[1], match=words):
                await rig.act(accept, order, terms)
        assert (where(await rig.balance()), rig.look()["jobs"]) == ((100, 0, 0), [])
