"""What proves that a provider's task isn't the one that a lost request made."""

import json
from dataclasses import replace

import pytest

from onetake.domain.moments import moment_of, utc
from onetake.domain.recognition import CLOCKS_APART_US, Sent, contradiction
from onetake.domain.wire import Answer, SendPhase, SendReceipt, WireResult
from onetake.providers.catalogue import load_contract

NOON_US = 1_796_212_800_000_000  # 2026-12-02 12:00:00 UTC
SENT = Sent(model="m", body={"prompt": "a fox", "n": 1}, from_us=NOON_US, until_us=NOON_US + 10_000_000)
PLAIN = load_contract("reapi")
REAPI = replace(PLAIN, poll=replace(PLAIN.poll, echoes={"prompt": "input.prompt", "n": "input.n"}))


def task(**fields: object) -> WireResult:
    answer = Answer(status=200, headers={}, body=json.dumps({"id": "t", **fields}).encode(), is_whole=True)
    return WireResult(receipt=SendReceipt(phase=SendPhase.BODY_READ, at_us={}, status=200), answer=answer)


@pytest.mark.parametrize(
    ("fields", "fact"),
    [
        ({}, None),
        ({"model": "m", "created_at": NOON_US // 1_000_000}, None),
        ({"created_at": (NOON_US - CLOCKS_APART_US) // 1_000_000}, None),
        ({"created_at": (NOON_US + CLOCKS_APART_US) // 1000}, None),
        ({"created_at": "2026-12-02T13:00:04+01:00"}, None),
        ({"created_at": "2026-12-01T00:00:00"}, None),  # in whose zone?
        ({"created_at": "yesterday"}, None),
        ({"created_at": True}, None),
        ({"model": "other"}, "runs the model other, this step ordered m"),
        (
            {"created_at": "2026-12-02T11:00:00Z"},
            "was made at 2026-12-02 11:00:00 UTC, this request was sent between 2026-12-02 12:00:00 UTC and 2026-12",
        ),
        ({"created_at": NOON_US / 1e6 + 3600.5}, "was made at 2026-12-02 13:00:00 UTC"),
        ({"input": {"prompt": "a fox", "n": 1}}, None),
        ({"input": {"prompt": "a wolf"}}, "has 6 characters as its `prompt`, this request other 5"),
        ({"input": {"n": 4}}, "has 4 as its `n`, this request 1"),
        ({"input": {"n": "1"}}, None),  # told otherwise, not another one
    ],
)
def test_what_contradicts_is_told_as_two_facts(fields: dict[str, object], fact: str | None) -> None:
    found = contradiction(REAPI, task(**fields), SENT)
    assert found == fact if fact is None else fact in str(found)
    assert "wolf" not in str(found)


def test_a_moment_is_seconds_milliseconds_or_iso_with_a_zone() -> None:
    assert {moment_of(each) for each in (1_796_212_800, 1_796_212_800_000, "2026-12-02T12:00:00Z")} == {NOON_US}
    nonsense: list[object] = [0, -1, 10**30, 17, None, [], "1796212800", ""]
    assert {moment_of(each) for each in nonsense} == {None}
    assert utc(NOON_US) == "2026-12-02 12:00:00 UTC"
