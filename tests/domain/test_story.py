"""A job's life in sentences: every event that is written is told, and no sentence shows its seams."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

from onetake.domain.states import FINAL_JOB, JobState
from onetake.domain.story import EVENTS, sentence, tell
from tests.repo.tree import sources, strings, tree_of

EVENT = re.compile(r"(job|step|attempt|case|alarm|fixture|ledger)\.[a-z_]+")
ENDED = {f"job.{state}" for state in (*FINAL_JOB, JobState.INCOMPLETE)}


def written() -> set[str]:
    """The events that the engine's code spells out, logs aside; the job's ends are spelt `job.{state}`."""
    found = set()
    for path in sources("src/onetake/engine"):
        logged = {node.args[0] for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call) and _is_log(node)}
        found |= {node.value for node in strings(path) if node not in logged}
    return {event for event in found if isinstance(event, str) and EVENT.fullmatch(event)} | ENDED


def _is_log(call: ast.Call) -> bool:
    return ast.unparse(call.func).startswith("_log.")


def calls_of(function: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls that are spelt so, each with the name of its file."""
    for path in sources():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                yield path.name, node


def test_every_event_that_is_written_is_told_and_every_told_one_is_written() -> None:
    assert written() == set(EVENTS)


def test_every_event_is_written_as_a_word_or_as_the_jobs_end() -> None:
    """A name made up at run time would slip past the test above."""
    spelt = [ast.unparse(call.args[0]) for _, call in calls_of("turn.tell")]
    assert len(spelt) > 20
    made_up = [each for each in spelt if each.strip("'\"") not in EVENTS]
    assert set(made_up) == {"f'job.{state}'", "event"}


def test_only_a_turn_writes_the_journal() -> None:
    assert [file for file, _ in calls_of("journal.record")] == ["turn.py"]


LINES: dict[str, tuple[dict[str, Any], str]] = {
    "job.created": ({"recipe": "a 1", "expected": 2, "held": 0}, "Ordered by recipe a 1: 2 outputs are expected."),
    "step.admitted": ({}, "Step image: the budget has room for it now; it is ready again."),
    "step.paid": (
        {"holds": "captured", "credits": 40},
        "Step image: ada found what the provider charged; 40 credits are spent.",
    ),
    "ledger.corrected": (
        {"output": "still", "credits": 40, "moved": 1},
        (
            "Step image: still came after its credits were given back, so 1 credit is spent after all; the ledger has a"
            " correction for it."
        ),
    ),
    "ledger.not_corrected": (
        {"output": "still", "credits": 40},
        (
            "Step image: still came after its 40 credits were given back, and the account hasn't got them any more: the"
            " file is kept, nothing is charged for it."
        ),
    ),
    "step.ready": ({"hash": "1f"}, "Step image has all it needs; its request is frozen."),
    "attempt.submitting": ({}, "Step image: attempt 2 is about to be sent, once."),
    "attempt.accepted": (
        {"ref": "task_1", "source": "answer"},
        "Step image: the provider answered with the id task_1; it is polled from now on.",
    ),
    "attempt.unknown": (
        {"reason": "reset", "phase": "body_sent"},
        (
            "Step image: nobody knows whether the provider took attempt 2 (reset)."
            " It is not sent again; the money stays held."
        ),
    ),
    "attempt.replaying": (
        {"n": 2},
        (
            "Step image: the same bytes are about to be sent again under the same key, as POST 2 of attempt 2; by the"
            " contract they buy once."
        ),
    ),
    "attempt.replayed": (
        {"n": 2, "outcome": "unknown", "pause_s": 1.5},
        "Step image: POST 2 of attempt 2: its answer was lost as well; it is asked again in 1.5 s.",
    ),
    "attempt.looked_up": (
        {"found": "nothing", "looks": 1, "pause_s": 5.0},
        ("Step image: the provider was asked for attempt 2, and shows no task for it; it is asked again in 5.0 s."),
    ),
    "attempt.not_sent": (
        {"fault": "dns", "again": True, "pause_s": 1.5},
        "Step image: attempt 2 provably never left (dns); it may be sent again in 1.5 s.",
    ),
    "attempt.later": (
        {"code": "rate_limited", "category": "provider", "again": False, "pause_s": 1.5},
        "Step image: the provider said not now (rate_limited) and took nothing; it isn't sent again by itself.",
    ),
    "attempt.refused": (
        {"code": "bad_size", "category": "input"},
        "Step image: the provider refused attempt 2 (bad_size) and took nothing.",
    ),
    "attempt.finished": (
        {"outputs": 3},
        "Step image: the provider says finished and names 3 outputs; the addresses are saved.",
    ),
    "attempt.failed": (
        {"code": "gpu", "charged": "no"},
        "Step image: the provider says attempt 2 failed (gpu). It doesn't bill for it.",
    ),
    "step.filled": (
        {"files": [{"digest": "ab" * 32, "size_bytes": 12}], "filled": 1},
        "Step image: fetched, decoded, measured and stored: abababababab (12 bytes).",
    ),
    "attempt.delivered": (
        {"files": [{"digest": "ab" * 32, "size_bytes": 1234567}], "filled": 1},
        "Step image: fetched, decoded, measured and stored: abababababab (1,234,567 bytes).",
    ),
    "step.complete": ({}, "Step image is complete."),
    "step.failed": (
        {"category": "provider", "code": "gpu", "charged": "no"},
        "Step image has failed (gpu); what was held for it is released.",
    ),
    "step.cancelled": ({}, "Step image was cancelled before it was sent; nothing was bought for it."),
    "step.parked": (
        {"waiting_for": "review", "why": "asked too often"},
        "Step image waits for a person: asked too often.",
    ),
    "step.replaced": (
        {"reason": "provider_failed", "n": 1, "of": 2},
        "Step image may be bought again by the recipe's rule (1 of 2).",
    ),
    "step.renewed": ({}, "Step image has a fresh address of what it needs and is ready again."),
    "case.opened": ({"case": "cas_1", "kind": "unknown"}, "Step image: case cas_1 was opened for a person (unknown)."),
    "case.closed": (
        {"case": "cas_1", "kind": "unknown", "decision": "attached", "reason": "the id is known by attach"},
        "Step image: case cas_1 is closed, attached: the id is known by attach.",
    ),
    "alarm.raised": ({"kind": "deadline", "detail": "it is late"}, "Step image: alarm, it is late."),
    "alarm.cleared": ({}, "Step image: all is well again."),
    "job.resumed": ({"polls": 1, "steps": 0}, "ada resumed the job: 1 saved id polled now, 0 steps released."),
    "job.cancel_requested": ({}, "ada asked to cancel; what was sent goes on to its end."),
    "fixture.frozen": (
        {"approved_by": "bea", "still": "ab" * 32, "seal": "cd" * 32},
        (
            "bea approved the still abababababab; ada froze it as a regression fixture (cdcdcdcdcdcd)."
            " Nothing is published."
        ),
    ),
    "job.complete": ({"filled": 2, "expected": 2}, "The job is complete: 2 of 2 outputs stand."),
    "job.incomplete": ({"filled": 1, "expected": 2}, "The job is incomplete: 1 of 2 outputs stand."),
    "job.failed": ({"filled": 0, "expected": 2}, "The job has failed: 0 of 2 outputs stand."),
    "job.cancelled": ({"filled": 0, "expected": 2}, "The job is cancelled: 0 of 2 outputs stand."),
}


def line(event: str, data: dict[str, Any], *, step: str = "image") -> dict[str, Any]:
    return {"seq": 1, "at": 1_000, "actor": "ada", "event": event, "step": step, "attempt_no": 2, "data": data}


@pytest.mark.parametrize("event", EVENTS)
def test_each_event_is_a_sentence(event: str) -> None:
    data, told = LINES[event]
    assert sentence(line(event, data)) == told
    assert not re.search(r"None|[{}]|\bTrue\b|\bFalse\b|  ", told)


@pytest.mark.parametrize(
    ("event", "data", "told"),
    [
        ("attempt.accepted", {"ref": "t", "source": "attach"}, "ada found the id t, and the provider knows it;"),
        ("attempt.accepted", {"ref": "t", "source": "callback"}, "is known by callback to have the id t"),
        (
            "attempt.unknown",
            {"reason": "reset", "asked": True},
            "The provider is asked, as its contract permits; the money stays held.",
        ),
        (
            "attempt.replayed",
            {"n": 2, "outcome": "unknown", "is_landed": True, "pause_s": 1.0},
            "the provider says that it has the order, and doesn't name it; it is asked again in 1.0 s.",
        ),
        ("attempt.replayed", {"n": 2, "outcome": "accepted"}, "the provider answered it."),
        (
            "attempt.not_sent",
            {"fault": "absent", "again": True, "pause_s": 1.5},
            "attempt 2 provably was never taken; it may be sent again in 1.5 s.",
        ),
        ("attempt.looked_up", {"found": "task"}, "was asked for attempt 2, and shows its task."),
        ("attempt.looked_up", {"found": "several", "refs": ["t"]}, "shows tasks of which nobody knows"),
        ("attempt.looked_up", {"found": "no_answer", "why": "HTTP 503"}, "but gave no clear answer (HTTP 503)."),
        (
            "attempt.refused",
            {"code": "c", "again": True, "pause_s": 2.5},
            "it may be sent again in 2.5 s.",
        ),
        ("attempt.finished", {"outputs": 1}, "names one output;"),
        ("attempt.failed", {"code": "c", "charged": "yes"}, "It bills for it."),
        ("attempt.failed", {"code": "c", "charged": "unknown"}, "Whether it bills is unknown."),
        ("attempt.delivered", {"files": [], "filled": 0}, "stored: nothing."),
        ("attempt.delivered", {"files": [], "filled": 2}, "stored: all that was ordered stands already."),
        ("step.parked", {"waiting_for": "address", "why": "w"}, "Step image waits: w."),
        ("job.resumed", {"polls": 2, "steps": 1}, "2 saved ids polled now, 1 step released."),
        ("job.resumed", {"polls": 1, "files": 1, "steps": 0}, "now, 1 file fetched from a fresh address, 0 steps"),
        ("job.resumed", {"polls": 1, "files": 3, "steps": 0}, "now, 3 files fetched from fresh addresses, 0 steps"),
        ("step.failed", {"code": "c", "charged": "unknown"}, "what was held for it stays held."),
        (
            "case.opened",
            {"case": "c", "kind": "ref_conflict", "ref": "task_1"},
            "the provider's id task_1 doesn't",
        ),
    ],
)
def test_a_sentence_says_what_differs(event: str, data: dict[str, Any], told: str) -> None:
    assert told in sentence(line(event, data))


def test_a_line_about_no_step_is_about_the_job() -> None:
    assert sentence(line("alarm.cleared", {}, step="")) == "The job: all is well again."


def test_an_event_of_a_newer_version_is_named_as_it_stands() -> None:
    assert sentence(line("step.painted", {"colour": "red"})) == "image: step.painted."
    assert sentence(line("job.sold", {}, step="")) == "The job: job.sold."


def test_a_life_is_told_in_order_with_its_times() -> None:
    lines = [{**line(event, LINES[event][0]), "at": place} for place, event in enumerate(EVENTS)]
    assert tell(lines) == [(place, LINES[event][1]) for place, event in enumerate(EVENTS)]


def test_one_output_is_one() -> None:
    line = {"seq": 1, "at": 1, "actor": "a", "step": "", "attempt_no": None}
    created = {**line, "event": "job.created", "data": {"recipe": "a 1", "expected": 1, "held": 0}}
    ended = {**line, "event": "job.complete", "data": {"filled": 1, "expected": 1}}
    assert sentence(created) == "Ordered by recipe a 1: 1 output is expected."
    assert sentence(ended) == "The job is complete: 1 of 1 output stands."
