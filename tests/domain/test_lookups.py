"""Asking where a provider shows what it accepted: the address, what the answer shows, and whose a task is."""

import json
from dataclasses import replace

import pytest

from onetake.domain.answers import KeyRefused, NoAnswer
from onetake.domain.contract import Contract, parse_contract
from onetake.domain.lookups import Absent, Ambiguous, Found, Task, lookup_path, match, tasks_of
from onetake.domain.recognition import Sent, Shown, is_alike
from onetake.domain.wire import Answer, SendFault, SendPhase, SendReceipt, WireResult
from tests.engine.promises import BY_ECHO, BY_KEY, BY_TIME, stated

NOON_US = 1_796_212_800_000_000  # 2026-12-02 12:00:00 UTC
SENT = Sent(model="m", body={"prompt": "a fox", "n": 1}, from_us=NOON_US, until_us=NOON_US + 10_000_000)


def read(lookup: str) -> Contract:
    return parse_contract(stated(lookup=lookup), "c.toml")


KEYED, ECHOED, TIMED = read(BY_KEY + "absent = [404]\n"), read(BY_ECHO), read(BY_TIME)
SINGLE = read(BY_KEY.replace('items_path = "data[]"\n', ""))


def answered(body: object, status: int = 200, *, is_whole: bool = True, retry_after: str = "") -> WireResult:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"retry-after": retry_after} if retry_after else {}
    receipt = SendReceipt(phase=SendPhase.BODY_READ, at_us={}, status=status)
    return WireResult(receipt=receipt, answer=Answer(status=status, headers=headers, body=raw, is_whole=is_whole))


def item(ref: str = "t1", **more: object) -> dict[str, object]:
    return {"id": ref, "model": "m", "created_at": NOON_US // 1_000_000, "input": {"prompt": "a fox"}, **more}


def shown(ref: str = "t1", **more: object) -> Task:
    told: dict[str, object] = {"model": "m", "created_us": NOON_US, "echoes": {"prompt": "a fox"}, **more}
    return Task(ref=ref, shown=Shown(**told))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("contract", "reference", "path"),
    [
        (KEYED, "a1", "/api/v1/tasks?client_key=a1"),
        (KEYED, "a/b?c=d&e", "/api/v1/tasks?client_key=a%2Fb%3Fc%3Dd%26e"),
        (ECHOED, "", "/api/v1/tasks?created_after=1796212500&created_before=1796213110"),
        (read(BY_ECHO.replace('"unix"', '"unix_ms"')), "", "/api/v1/tasks?created_after=1796212500000&created_before"),
        (read(BY_ECHO.replace('"unix"', '"iso"')), "", "/api/v1/tasks?created_after=2026-12-02T11%3A55%3A00Z&created"),
        (read(BY_TIME.replace("created_after={from}", "model={model}")), "", "/api/v1/tasks?model=m&created_before=17"),
    ],
)
def test_the_address_has_all_that_is_put_in_encoded(contract: Contract, reference: str, path: str) -> None:
    assert lookup_path(contract.lookup, reference=reference, sent=SENT).startswith(path)


def test_tasks_are_read_with_what_they_tell() -> None:
    (task,) = tasks_of(ECHOED, answered({"data": [item()]}), now_s=0.0)  # type: ignore[misc]
    assert task == shown()
    (bare,) = tasks_of(ECHOED, answered({"data": [{"id": 7}]}), now_s=0.0)  # type: ignore[misc]
    assert bare == Task(ref="7", shown=Shown(model=None, created_us=None, echoes={"prompt": None}))
    (single,) = tasks_of(SINGLE, answered({"id": "t9"}), now_s=0.0)  # type: ignore[misc]
    assert single.ref == "t9"


@pytest.mark.parametrize(
    ("contract", "result", "reading"),
    [
        (KEYED, answered({"data": []}), ()),
        (KEYED, answered({"error": {"code": "none"}}, 404), ()),
        (KEYED, answered(b"<html>", 404), NoAnswer(reason="HTTP 404")),
        (ECHOED, answered({"error": {"code": "none"}}, 404), NoAnswer(reason="HTTP 404")),
        (KEYED, answered({"error": {"code": "no"}}, 401), KeyRefused(status=401)),
        (KEYED, answered({}, 429, retry_after="7"), NoAnswer(reason="HTTP 429", retry_after_s=7.0)),
        (KEYED, answered({"data": []}, is_whole=False), NoAnswer(reason="HTTP 200")),
        (KEYED, answered(b"no json"), NoAnswer(reason="HTTP 200")),
        (KEYED, answered({}), NoAnswer(reason="the answer has no list where one belongs")),
        (KEYED, answered({"data": None}), NoAnswer(reason="the answer has no list where one belongs")),
        (KEYED, answered({"data": [item(), {"id": ""}]}), NoAnswer(reason="a task in the answer has no usable id")),
        (KEYED, answered({"data": [item(task_id="t2")]}), NoAnswer(reason="a task in the answer has no usable id")),
        (SINGLE, answered({"data": None}), NoAnswer(reason="a task in the answer has no usable id")),
        (
            KEYED,
            WireResult(receipt=SendReceipt(phase=SendPhase.BODY_SENT, at_us={}, fault=SendFault.RESET), answer=None),
            NoAnswer(reason="no answer: reset"),
        ),
        (
            KEYED,
            WireResult(receipt=SendReceipt(phase=SendPhase.BODY_SENT, at_us={}), answer=None),
            NoAnswer(reason="no answer: lost"),
        ),
    ],
)
def test_what_can_not_be_read_whole_shows_nothing(contract: Contract, result: WireResult, reading: object) -> None:
    assert tasks_of(contract, result, now_s=0.0) == reading


LATE, OTHER_MODEL = shown(created_us=NOON_US + 3_600_000_000), shown(model="other")
TWIN = replace(SENT, from_us=NOON_US + 1_000_000)


@pytest.mark.parametrize(
    ("contract", "tasks", "bound", "others", "found"),
    [
        # by our reference: the one that is shown
        (KEYED, [shown()], [], [TWIN], Found("t1")),
        (KEYED, [shown(), shown()], [], [], Found("t1")),
        (KEYED, [shown(), shown("t2")], [], [], Ambiguous(("t1", "t2"))),
        (KEYED, [shown()], ["t1"], [], Absent()),
        (KEYED, [OTHER_MODEL], [], [], Absent()),
        (KEYED, [], [], [], Absent()),
        # by what it repeats: the one that nothing else can have made
        (ECHOED, [shown(), shown("t2", echoes={"prompt": "a wolf"})], [], [], Found("t1")),
        (ECHOED, [shown(), LATE, shown("t3", model="other")], [], [], Found("t1")),
        (ECHOED, [shown(), shown("t2")], [], [], Ambiguous(("t1", "t2"))),
        (ECHOED, [shown(), shown("t2")], ["t2"], [], Found("t1")),
        (ECHOED, [shown()], [], [TWIN], Ambiguous(("t1",))),
        (ECHOED, [shown()], [], [replace(TWIN, body={"prompt": "a wolf"})], Found("t1")),
        (ECHOED, [shown(echoes={"prompt": None})], [], [], Ambiguous(("t1",))),
        (ECHOED, [shown(created_us=None)], [], [], Absent()),
        (ECHOED, [LATE], [], [], Absent()),
        # by the time alone: never taken
        (TIMED, [shown(echoes={})], [], [], Ambiguous(("t1",))),
        (TIMED, [], [], [], Absent()),
    ],
)
def test_whose_a_task_is(
    contract: Contract, tasks: list[Task], bound: list[str], others: list[Sent], found: object
) -> None:
    assert match(contract.lookup, tasks, SENT, bound=bound, others=others) == found


@pytest.mark.parametrize(
    ("echoes", "body", "is_so"),
    [
        ({"prompt": "a fox"}, {"prompt": "a fox"}, True),
        ({"prompt": "a fox", "n": 1}, {"prompt": "a fox", "n": 1}, True),
        ({"prompt": "a fox", "n": True}, {"prompt": "a fox", "n": 1}, False),
        ({"prompt": "a fox", "n": 2}, {"prompt": "a fox", "n": 1}, False),
        ({"n": 1}, {"n": 1}, False),  # a number alone is many requests'
        ({"prompt": "a fox"}, {"text": "a fox"}, False),
        ({}, {"prompt": "a fox"}, False),
        ({"prompt": "a fox"}, ["a fox"], False),
    ],
)
def test_a_task_is_alike_if_all_it_repeats_agrees(echoes: dict[str, object], body: object, *, is_so: bool) -> None:
    task = Shown(model="m", created_us=NOON_US, echoes=echoes)
    assert is_alike(task, replace(SENT, body=body)) == is_so  # type: ignore[arg-type]
