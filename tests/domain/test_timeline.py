"""One job's life as bars and marks: which lanes change on which lines, and where everything goes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.domain.story import EVENTS, Line, sentence
from onetake.domain.timeline import _EVENTS, PEOPLE, Timeline, span, spread, timeline

S = 1_000_000
FILES = {"files": [{"digest": "ab" * 32, "size_bytes": 9}], "filled": 1}
CREATED = {"recipe": "two 1", "expected": 2, "held": 0}
ASKED = {"case": "cas_1", "kind": "unknown"}
LATER = {"code": "rate_limited", "again": True, "pause_s": 1.0}


def journal(*told: tuple[int, str, str, int | None, dict[str, Any]]) -> list[Line]:
    """Lines from second, event, step, attempt and data."""
    return [
        {"seq": seq, "at": at_s * S, "actor": "ada", "event": event, "step": step, "attempt_no": no, "data": data}
        for seq, (at_s, event, step, no, data) in enumerate(told, start=1)
    ]


def life(*told: tuple[int, str, str, int | None, dict[str, Any]], steps: tuple[str, ...] = ("a",)) -> Timeline:
    return timeline(journal(*told), steps, {})


def bars(of: Timeline, lane: str) -> list[str]:
    """A lane's bars, in order: step, tone, and from which second to which."""
    found = sorted((bar.row[1], bar.start_us, bar.end_us or -S, bar.tone) for bar in of.bars if bar.row[0] == lane)
    return [f"{step} {tone} {start // S}-{'' if end < 0 else end // S}".strip() for step, start, end, tone in found]


def until_sent(
    step: str = "a", at_s: int = 1, no: int = 1
) -> Iterator[tuple[int, str, str, int | None, dict[str, Any]]]:
    if no == 1:
        yield 0, "job.created", "", None, CREATED
    yield at_s, "step.ready", step, None, {}
    yield at_s + 1, "attempt.submitting", step, no, {}


ACCEPTED = (3, "attempt.accepted", "a", 1, {"ref": "task_1", "source": "answer"})


def test_a_lost_answer_is_held_until_a_person_attaches_it() -> None:
    told = life(
        *until_sent(),
        (3, "attempt.unknown", "a", 1, {"reason": "reset"}),
        (3, "case.opened", "a", 1, ASKED),
        (9, "attempt.accepted", "a", 1, {"ref": "task_1", "source": "attach"}),
        (9, "case.closed", "a", 1, {**ASKED, "decision": "attached", "reason": "known by attach"}),
        (12, "attempt.finished", "a", 1, {"outputs": 1}),
        (13, "attempt.delivered", "a", 1, FILES),
        (13, "step.complete", "a", None, {}),
        (13, "step.ready", "b", None, {}),
        steps=("a", "b"),
    )
    assert bars(told, "people") == ["doubt 3-9"]
    assert bars(told, "onetake") == [
        "a waiting 0-1",
        "a ready 1-2",
        "a submitting 2-3",
        "a submit_unknown 3-9",
        "a processing 9-12",
        "a collecting 12-13",
        "a complete 13-",
        "b waiting 0-13",
        "b ready 13-",
    ]
    assert bars(told, "provider") == ["a asked 2-3", "a doubt 3-9", "a working 9-12"]
    assert bars(told, "storage") == ["a fetching 12-13"]
    assert bars(told, "money") == ["a held 0-13", "a spent 13-", "b held 0-"]
    assert [(mark.text, mark.tone) for mark in told.marks if mark.row == PEOPLE] == [
        ("ordered", "person"),
        ("", "doubt"),
        ("attached", "person"),
        ("", "person"),
    ]


def test_after_a_429_the_step_is_ready_again_until_a_person_is_asked() -> None:
    told = life(
        *until_sent(),
        (3, "attempt.later", "a", 1, LATER),
        (5, "attempt.submitting", "a", 2, {}),
        (6, "attempt.later", "a", 2, {**LATER, "again": False}),
        (6, "step.parked", "a", None, {"waiting_for": "review", "why": "2 sends"}),
        (8, "job.resumed", "", None, {"polls": 0, "steps": 1}),
        (9, "attempt.submitting", "a", 3, {}),
    )
    assert bars(told, "onetake")[2:] == [
        "a submitting 2-3",
        "a ready 3-5",
        "a submitting 5-6",
        "a waiting 6-8",
        "a ready 8-9",
        "a submitting 9-",
    ]
    assert bars(told, "provider") == ["a asked 2-3", "a asked 5-6", "a asked 9-"]
    assert bars(told, "people") == ["doubt 6-8"]
    assert [mark.number for mark in told.marks if mark.number] == [1, 2, 3]


def test_what_waits_for_an_address_waits_for_nobody_and_is_not_resumed() -> None:
    told = life(
        *until_sent(),
        (3, "attempt.not_sent", "a", 1, {"fault": "dns", **LATER}),
        (4, "step.parked", "a", None, {"waiting_for": "address", "why": "old"}),
        (5, "job.resumed", "", None, {"polls": 0, "steps": 0}),
        (6, "step.renewed", "a", None, {}),
    )
    assert bars(told, "people") == []
    assert bars(told, "onetake")[-3:] == ["a ready 3-4", "a waiting 4-6", "a ready 6-"]


@pytest.mark.parametrize(("charged", "money"), [("no", ["a held 0-5", "a returned 5-"]), ("unknown", ["a held 0-"])])
def test_a_failure_gives_back_what_is_not_billed(charged: str, money: list[str]) -> None:
    data = {"category": "provider", "code": "boom", "charged": charged}
    told = life(*until_sent(), ACCEPTED, (5, "attempt.failed", "a", 1, data), (5, "step.failed", "a", 1, data))
    assert bars(told, "onetake")[-2:] == ["a processing 3-5", "a failed 5-"]
    assert bars(told, "money") == money


def test_a_cancelled_step_gives_its_money_back_and_a_replaced_one_is_ready() -> None:
    told = life(
        *until_sent(),
        ACCEPTED,
        (5, "attempt.failed", "a", 1, {"code": "boom", "charged": "no"}),
        (5, "step.replaced", "a", 1, {"n": 1, "of": 1}),
        (7, "step.cancelled", "b", None, {}),
        steps=("a", "b"),
    )
    assert bars(told, "onetake")[-3:] == ["a ready 5-", "b waiting 0-7", "b cancelled 7-"]
    assert bars(told, "money") == ["a held 0-", "b held 0-7", "b returned 7-"]


def test_a_late_file_that_fills_nothing_costs_nothing_and_nobody_is_needed_for_what_is_cancelled() -> None:
    told = life(
        *until_sent(),
        ACCEPTED,
        (4, "step.parked", "b", None, {"waiting_for": "review", "why": "asked too often"}),
        (5, "attempt.finished", "a", 1, {"outputs": 1}),
        (6, "attempt.delivered", "a", 1, {"files": [], "filled": 0}),
        (7, "step.cancelled", "b", None, {}),
        steps=("a", "b"),
    )
    assert bars(told, "money") == ["a held 0-", "b held 0-7", "b returned 7-"]
    assert bars(told, "people") == ["doubt 4-7"]


def test_an_earlier_attempt_moves_the_step_only_when_it_turns_out_to_be_running() -> None:
    told = life(
        *until_sent(),
        (3, "attempt.unknown", "a", 1, {"reason": "reset"}),
        *until_sent(at_s=4, no=2),
        (6, "attempt.unknown", "a", 1, {"reason": "still"}),
        (7, "attempt.accepted", "a", 1, {"ref": "task_1", "source": "callback"}),
        (8, "attempt.refused", "a", 2, {"code": "x"}),
    )
    assert bars(told, "onetake")[-3:] == ["a ready 4-5", "a submitting 5-7", "a processing 7-"]


def test_every_line_is_one_mark_with_its_sentence_and_a_send_says_how_far_it_got() -> None:
    lines = journal(*until_sent(), (4, "odd.event", "a", None, {}), (5, "odder.event", "", None, {}))
    at_us = {"connected": 900, "headers_sent": 1_200_000}
    cut = {"at_us": at_us, "fault": "given_up"}
    told = timeline(lines, ["a"], {("a", 1): cut})
    assert len(told.marks) == len(lines)
    assert [mark.title for mark in told.marks if mark.number is None] == [
        sentence(line) for line in lines if line["attempt_no"] is None
    ]
    assert told.marks[2].title.endswith("connected after 1 ms, headers sent after 1.20 s; then: given up.")
    assert [mark.row for mark in told.marks[-2:]] == [("onetake", "a"), PEOPLE]
    nothing = timeline(lines, ["a"], {("a", 1): {"at_us": {}, "fault": None}})
    assert nothing.marks[2].title.endswith("The request: nothing left.")


def test_every_event_that_can_be_told_has_its_place() -> None:
    assert set(_EVENTS) == set(EVENTS)


@pytest.mark.parametrize(
    ("waits_s", "folded"),
    [
        ([5], []),
        ([1, 2, 60, 1], []),
        ([1, 2, 3600, 1], [2]),
        ([1, 28_800, 2, 30_000, 3], [1, 3]),
        ([30_000, 28_800], []),
    ],
)
def test_a_long_wait_is_folded_so_that_it_hides_nothing(waits_s: list[int], folded: list[int]) -> None:
    moments = [sum(waits_s[:n]) * S for n in range(len(waits_s) + 1)]
    places, folds = spread(moments, width=1000, gap_min=10)
    assert folds == [moments[index] for index in folded]
    assert places[-1] == pytest.approx(1000)


@given(st.lists(st.integers(min_value=1, max_value=10**12), max_size=60))
def test_moments_keep_their_order_and_their_distance(waits: list[int]) -> None:
    moments = [sum(waits[:n]) for n in range(len(waits) + 1)]
    places, _ = spread(moments, width=500, gap_min=20)
    assert len(places) == len(moments)
    assert all(after - before >= 19.99 for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("length_us", "text"),
    [
        (7_400, "7 ms"),
        (2_615_000, "2.62 s"),
        (31_000_000, "31 s"),
        (720_000_000, "12 min"),
        (12_000_000_000, "3 h 20 min"),
        (187_200_000_000, "2 d 4 h"),
    ],
)
def test_lengths_of_time_are_words(length_us: int, text: str) -> None:
    assert span(length_us) == text
