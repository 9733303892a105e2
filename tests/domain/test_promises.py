"""What a contract may state about lost answers, and what is refused in it."""

import pytest

from onetake.domain.contract import Contract, parse_contract
from onetake.domain.errors import RecipeError
from tests.engine.promises import BY_ECHO, BY_KEY, BY_TIME, REFUSED, REPLAYED, stated


def read(idempotency: str = '[idempotency]\nkind = "none"\n', lookup: str = '[lookup]\nkind = "none"\n') -> Contract:
    return parse_contract(stated(idempotency=idempotency, lookup=lookup), "c.toml")


def test_promises_are_read_as_they_stand() -> None:
    promise = read(idempotency=REPLAYED).idempotency
    assert (promise.kind, promise.header, promise.field, promise.window_s) == (
        "replay_fingerprint",
        "Idempotency-Key",
        "",
        3600,
    )
    assert promise.refusal_is_proof
    assert promise.reuse_codes == {"idempotency_mismatch"}
    lookup = read(lookup=BY_ECHO).lookup
    assert (lookup.kind, lookup.items_path, lookup.echoes, lookup.times) == (
        "list_echo",
        "data[]",
        {"prompt": "input.prompt"},
        "unix",
    )
    assert not lookup.is_conclusive
    assert read(lookup=BY_KEY.replace('header = "Idempotency-Key"', 'field = "ref"')).lookup.field == "ref"
    assert read(lookup=BY_TIME + "absent = [404]\n").lookup.absent == {404}


def test_the_key_is_the_reference_where_none_is_named() -> None:
    keyed = BY_KEY.replace('header = "Idempotency-Key"\n', "")
    assert read(idempotency=REPLAYED, lookup=keyed).lookup.header == ""
    client_id = '[idempotency]\nkind = "client_id"\nfield = "taskUUID"\n'
    contract = read(idempotency=client_id, lookup=keyed)
    assert (contract.idempotency.is_replay, contract.idempotency.field) == (False, "taskUUID")


@pytest.mark.parametrize(
    ("extra", "last_day"),
    [
        ("", "2027-11-30"),
        ('valid_until = "2027-01-31"\n', "2027-01-31"),
        ('valid_until = "2030-01-31"\n', "2027-11-30"),
        ('verified_on = "2026-01-01"\n', "2027-01-01"),
    ],
)
def test_a_statement_counts_for_a_year_or_less(extra: str, last_day: str) -> None:
    assert read(idempotency=REPLAYED + extra).idempotency.last_day == last_day


HEADER = 'header = "Idempotency-Key"\n'
BAD = [
    (REPLAYED.replace("replay_fingerprint", "twice"), "", "`idempotency.kind` must be one of: none, replay"),
    (REPLAYED + "retries = 3\n", "", "`idempotency.retries` isn't a key here"),
    ('[idempotency]\nkind = "none"\nwindow_s = 5\n', "", "`idempotency.window_s` isn't a key here"),
    (REPLAYED.replace("window_s = 3600\n", ""), "", "`idempotency.window_s` is missing"),
    (REPLAYED.replace("window_s = 3600", "window_s = 0"), "", "`idempotency.window_s` must be a whole number from 1"),
    (REPLAYED.replace(HEADER, ""), "", "`idempotency` names where the key goes: either header or field"),
    (REPLAYED.replace(HEADER, HEADER + 'field = "k"\n'), "", "either header or field"),
    (REPLAYED.replace("Idempotency-Key", "Key: x"), "", "`idempotency.header` must be the name of a header"),
    (REPLAYED.replace(HEADER, 'field = "a.b"\n'), "", "`idempotency.field` must be the name of a field"),
    (REPLAYED.replace("true", '"yes"'), "", "`idempotency.refusal_is_proof` must be true or false"),
    (REPLAYED + 'valid_until = "soon"\n', "", "`idempotency.valid_until` must be a day, as YYYY-MM-DD"),
    (REFUSED.replace('reuse_codes = ["idempotency_key_reuse"]\n', ""), "", "`idempotency.reuse_codes` is missing: how"),
    (REFUSED + "reuse_statuses = [200]\n", "", "`idempotency.reuse_statuses[0]` must be an HTTP status from 300"),
    ("", BY_KEY.replace("client_reference", "telepathy"), "`lookup.kind` must be one of: none, client_reference"),
    ("", BY_KEY.replace("{reference}", "x"), "`lookup.path` must be a path with {reference} in it"),
    ("", BY_TIME.replace('path = "/', 'path = "'), "`lookup.path` must be a path that begins with /"),
    ("", BY_KEY.replace(HEADER, ""), "`lookup.field` is missing: where does our reference go in the order?"),
    (
        "",
        BY_KEY.replace(HEADER, HEADER + 'field = "ref"\n'),
        "`lookup` names where our reference goes: header or field",
    ),
    ("", BY_ECHO.partition("[lookup.echoes]")[0], "`lookup.echoes` is missing: which inputs does the list repeat"),
    ("", BY_ECHO.replace("input.prompt", "input[0]"), "`lookup.echoes.prompt` must be a dotted path"),
    ("", BY_TIME.replace('created_path = "created_at"\n', ""), "`lookup.created_path` is missing"),
    ("", BY_TIME.replace('items_path = "data[]"\n', ""), "`lookup.items_path` is missing"),
    ("", BY_TIME.replace('"unix"', '"sundial"'), "`lookup.times` must be one of: iso, unix, unix_ms"),
    ("", BY_KEY.replace("window_s = 86400", "window_s = 10"), "`lookup.window_s` must be longer than visible_after_s"),
    ("", BY_TIME + 'header = "X"\n', "`lookup.header` isn't a key here"),
    ("", '[lookup]\nkind = "none"\npath = "/x"\n', "`lookup.path` isn't a key here"),
]


@pytest.mark.parametrize(("idempotency", "lookup", "words"), BAD)
def test_what_does_not_fit_names_file_key_and_reason(idempotency: str, lookup: str, words: str) -> None:
    tables = {"idempotency": idempotency, "lookup": lookup}
    with pytest.raises(RecipeError) as caught:
        read(**{name: text for name, text in tables.items() if text})
    assert caught.value.sentence.startswith("c.toml: ")
    assert words in caught.value.sentence
