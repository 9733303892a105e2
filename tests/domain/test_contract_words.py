"""A contract in plain words, and what is the matter with it."""

from dataclasses import replace

import pytest

from onetake.domain.contract import Contract, parse_contract
from onetake.domain.contract_words import STALE_DAYS, Finding, explain, find_faults
from onetake.domain.recovering import POSTS_MAX
from onetake.providers.catalogue import load_contract
from onetake.providers.contract_form import new_contract
from tests.engine.promises import BY_ECHO, BY_KEY, BY_TIME, REFUSED, REPLAYED, stated

TODAY = "2026-12-01"
CLIENT_ID = '[idempotency]\nkind = "client_id"\nfield = "taskUUID"\n'


def read(**tables: str) -> Contract:
    return parse_contract(stated(**tables), "c.toml")


def told(contract: Contract, today: str = TODAY) -> str:
    return " ".join(explain(contract, today))


def faults(contract: Contract, today: str = TODAY) -> list[str]:
    return [finding.says for finding in find_faults(contract, today) if finding.is_fault]


def test_what_nobody_promises_is_a_persons() -> None:
    reapi = told(load_contract("reapi"))
    assert "Nothing is sent again: nobody promises that the same request buys once." in reapi
    assert "It isn't looked up: the provider shows no list." in reapi
    assert "a case is opened, and the money stays held. Whom to ask, with what: reAPI support" in reapi
    assert "and 429 means not now; every other one that names no task is an unknown" in reapi
    assert "as read on 2026-11-30." in reapi


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"idempotency": REPLAYED}, f"(header Idempotency-Key), at most {POSTS_MAX - 1} times within 54 minutes"),
        ({"idempotency": REPLAYED}, "The refusal of such a replay proves that nothing was bought."),
        ({"idempotency": REPLAYED.replace("true", "false")}, "answers with the first task and buys nothing. 10"),
        ({"idempotency": REPLAYED.replace('header = "Idempotency-Key"', 'field = "key"')}, "(field key)"),
        ({"idempotency": REFUSED}, "to refuse a key that it knows, which proves that it has the order"),
        ({"idempotency": CLIENT_ID}, "the task has an id of ours, but what a second order under it does isn't"),
        ({"idempotency": REPLAYED + 'valid_until = "2026-11-30"\n'}, "that promise counted until 2026-11-30"),
        (
            {"lookup": BY_KEY},
            "10 seconds after the POST it is looked up by our own reference, up to 10 times within 24",
        ),
        ({"lookup": BY_KEY}, "A task that 3 look-ups in a row don't show was never bought, and is ordered again."),
        ({"lookup": BY_KEY.replace("visible_after_s = 10", "visible_after_s = 0")}, "At once it is looked up"),
        ({"lookup": BY_ECHO}, "taken only if one task alone can be meant"),
        ({"lookup": BY_ECHO}, "That it isn't shown proves nothing."),
        ({"lookup": BY_TIME}, "what is found there is told to a person, not taken"),
        ({"lookup": BY_KEY + 'valid_until = "2026-11-30"\n'}, "It isn't looked up: that promise counted until 2026"),
    ],
)
def test_each_promise_is_told(tables: dict[str, str], words: str) -> None:
    tables = dict(tables)
    tables.setdefault("lookup", BY_KEY)
    assert words in told(read(**tables))


def test_a_contract_that_names_nobody_and_no_status_says_so() -> None:
    plain = load_contract("reapi")
    bare = replace(plain, support="", refusals=replace(plain.refusals, later=frozenset(), statuses=frozenset()))
    assert "no status are refusals that buy nothing; every other" in told(bare)
    assert "Whom to ask" not in told(bare)


def test_what_ships_fits_together_and_its_gaps_are_told() -> None:
    found = find_faults(load_contract("reapi"), TODAY)
    assert [finding.is_fault for finding in found] == [False] * len(found)
    assert Finding(is_fault=False, says="lookup: not promised, so a lost answer is never looked up") in found


@pytest.mark.parametrize(
    ("today", "count"), [("2026-11-30", 0), ("2027-02-28", 0), ("2027-03-01", 1), ("2026-11-29", 1)]
)
def test_a_contract_is_read_again_after_a_season(today: str, count: int) -> None:
    assert STALE_DAYS == 90
    assert len(faults(load_contract("reapi"), today)) == count


def test_what_has_run_out_and_what_overlaps_is_a_fault() -> None:
    old = read(idempotency=REPLAYED + 'valid_until = "2026-11-30"\n', lookup=BY_KEY)
    assert faults(old) == ["idempotency: counted until 2026-11-30; nothing is done by it any more"]
    kept, plain = read(idempotency=REFUSED), load_contract("reapi")
    promise = replace(kept.idempotency, reuse_codes=frozenset({"moderation"}), reuse_statuses=frozenset({409, 422}))
    rules = replace(
        plain.refusals,
        account_codes=frozenset({"moderation"}),
        auth=frozenset({401, 498}),
        account=frozenset({402}),
    )
    assert faults(replace(plain, idempotency=promise, refusals=rules)) == [
        "refuse.account_codes: moderation is among refuse.moderation_codes too",
        "refuse.account_codes: moderation is among idempotency.reuse_codes too",
        "refuse.moderation_codes: moderation is among idempotency.reuse_codes too",
        "idempotency.reuse_statuses: 422 is listed as a refusal too",
        "refuse.auth: 498 isn't among refuse.statuses, so it is never read",
    ]


def test_a_new_contract_can_be_read_and_promises_nothing() -> None:
    new = parse_contract(new_contract("luma", TODAY), "luma.toml")
    assert (new.provider, new.idempotency.kind, new.lookup.kind) == ("luma", "none", "none")
    assert faults(new) == []
    assert len(find_faults(new, TODAY)) == 8
