"""What an answer means: DESIGN's table of outcomes row by row, and each reading of a poll.

The shipped contract of reAPI speaks, but where a case is about a promise that it doesn't make.
"""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from onetake.domain.answers import (
    Accepted,
    Cost,
    Died,
    Finished,
    KeyRefused,
    Missing,
    NoAddresses,
    NoAnswer,
    NotSent,
    Outcome,
    Reading,
    Refused,
    Unknown,
    Unlisted,
    Working,
    as_ref,
    bare,
    echoed_model,
    models_of,
    outcome_of,
    pick,
    poll_path,
    reading_of,
)
from onetake.domain.contract import Contract
from onetake.domain.promises import Idempotency
from onetake.domain.states import ErrorCategory
from onetake.domain.wire import Answer, SendFault, SendPhase, SendReceipt, WireResult
from onetake.providers.adapter import load_contract

REAPI = load_contract("reapi")
NOW_S = 1_796_083_200.0
PAGE = b"<html><head><title>502 Bad Gateway</title></head></html>"
NO = {"error": {"code": "invalid_request", "message": "no such size"}}
NOTHINGS: tuple[object, ...] = (None, False, "", {}, [], 0)
INPUT, AUTH, PROVIDER = ErrorCategory.INPUT, ErrorCategory.AUTH, ErrorCategory.PROVIDER


def answered(
    status: int, body: object = None, headers: dict[str, str] | None = None, *, is_whole: bool = True
) -> WireResult:
    """The result of a request that got an answer; `body` is bytes as they stand, or a value as JSON."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    receipt = SendReceipt(phase=SendPhase.BODY_READ if is_whole else SendPhase.STATUS, at_us={}, status=status)
    return WireResult(receipt=receipt, answer=Answer(status=status, headers=headers or {}, body=raw, is_whole=is_whole))


def unanswered(phase: SendPhase, fault: SendFault | None) -> WireResult:
    return WireResult(receipt=SendReceipt(phase=phase, at_us={}, fault=fault), answer=None)


def outcome(result: WireResult, contract: Contract = REAPI) -> Outcome:
    return outcome_of(contract, result, now_s=NOW_S)


def read(result: WireResult, contract: Contract = REAPI, *, ref: str = "task_1", operation: str = "image") -> Reading:
    return reading_of(contract, contract.operation(operation), ref, result, now_s=NOW_S)


# --- one POST: what was never sent, and what nobody answered


@pytest.mark.parametrize("fault", [*SendFault, None])
@pytest.mark.parametrize("phase", SendPhase)
def test_without_an_answer_the_receipt_alone_decides(phase: SendPhase, fault: SendFault | None) -> None:
    came_to = outcome(unanswered(phase, fault))
    if phase < SendPhase.HEADERS_SENT:
        assert came_to == NotSent(fault=fault or SendFault.OTHER)
    else:
        assert came_to == Unknown(reason=f"no answer: {fault or 'lost'}")


# --- one POST: 2xx

ACCEPTANCES: dict[str, tuple[int, object, str | None]] = {  # the id, or None for unknown
    "C011a 201 with an id": (201, {"id": "task_1"}, "task_1"),
    "C011b 202 with an id": (202, {"id": "task_1"}, "task_1"),
    "C011d 202 with nothing in it": (202, {}, None),
    "C011e 204": (204, None, None),
    "C012a a refusal inside a 200": (200, {"code": 400, **NO}, None),
    "C012b a refusal and an id": (200, {"id": "task_1", **NO}, "task_1"),
    "C012c a code that nobody knows": (200, {"code": 77}, None),
    "C012d an empty id": (200, {"id": ""}, None),
    "C012e a null id": (200, {"id": None}, None),
    "the id under its other name": (200, {"task_id": "task_1"}, "task_1"),
    "both names agree": (200, {"id": "task_1", "task_id": "task_1"}, "task_1"),
    "both agree, once as a number": (200, {"id": 17, "task_id": "17"}, "17"),
    "both disagree": (200, {"id": "task_1", "task_id": "task_2"}, None),
    "one is empty": (200, {"id": "", "task_id": "task_2"}, "task_2"),
    "a whole number": (200, {"id": 9007199254740993}, "9007199254740993"),
    "a broken number": (200, {"id": 1.5}, None),
    "a truth": (200, {"id": True}, None),
    "a list": (200, {"id": ["task_1"]}, None),
    "blanks": (200, {"id": "  "}, None),
    "a line break in it": (200, {"id": "task\n1"}, None),
    "a NUL in it": (200, {"id": "task\x001"}, None),
    "a lone surrogate": (200, b'{"id": "\\ud83d"}', None),
    "letters of another script": (200, {"id": "aufträge/é 1"}, "aufträge/é 1"),
    "500 characters": (200, {"id": "x" * 500}, "x" * 500),
    "longer than any id": (200, {"id": "x" * 1025}, None),
    "a number longer than any id": (200, b'{"id": ' + b"9" * 1025 + b"}", None),
    "a number longer than Python reads": (200, b'{"id": ' + b"9" * 5000 + b"}", None),
    "C121 an id that is no number": (200, b'{"id": NaN}', None),
    "C121 an id without end": (200, b'{"id": 1e999}', None),
    "C121 a price that is no number": (200, b'{"id": "task_1", "cost": NaN}', "task_1"),
    "C121 a price without end": (200, b'{"id": "task_1", "cost": [1e999, -Infinity]}', "task_1"),
    "a list instead of an object": (200, [{"id": "task_1"}], None),
    "a text instead of an object": (200, "task_1", None),
    "a page": (200, PAGE, None),
    "not UTF-8": (200, b'{"id": "\xff"}', None),
    "cut in the middle": (200, b'{"id": "task_', None),
    "nested without end": (200, b"[" * 100_000, None),
    "the id twice, the same": (200, b'{"id": "task_1", "id": "task_1"}', "task_1"),
    "another key twice": (200, b'{"id": "task_1", "cost": 1, "cost": 2}', "task_1"),
}

TORN_IDS = {
    "both names disagree": b'{"id": "task_1", "task_id": "task_2"}',
    "twice": b'{"id": "task_1", "id": "task_2"}',
    "twice, and once more like the first": b'{"id": "task_1", "id": "task_2", "id": "task_1"}',
    "twice, the second empty": b'{"id": "task_1", "id": ""}',
    "twice, the first null": b'{"id": null, "id": "task_1"}',
    "twice, a truth and a number that Python calls equal": b'{"id": true, "id": 1}',
    "twice, and agreed to once": b'{"id": "task_1", "id": "task_2", "task_id": "task_2"}',
}


@pytest.mark.parametrize("body", TORN_IDS.values(), ids=TORN_IDS)
def test_two_ids_that_disagree_are_none(body: bytes) -> None:
    assert outcome(answered(200, body)) == Unknown(reason="HTTP 200 with two ids that disagree")


def test_two_objects_under_one_name_give_no_id() -> None:
    contract = replace(REAPI, accept=replace(REAPI.accept, ref_paths=("data.id",)))
    body = b'{"data": {"id": "task_1"}, "data": {"id": "task_1", "cost": 1}}'
    assert outcome(answered(200, body), contract) == Unknown(reason="HTTP 200 with two ids that disagree")


@pytest.mark.parametrize(("status", "body", "ref"), ACCEPTANCES.values(), ids=ACCEPTANCES)
def test_a_2xx_is_accepted_with_its_id_and_otherwise_unknown(status: int, body: object, ref: str | None) -> None:
    came_to = outcome(answered(status, body))
    if ref is None:
        assert isinstance(came_to, Unknown)
        assert came_to.reason.startswith(f"HTTP {status} with ")
    else:
        assert came_to == Accepted(ref=ref, locator="")


def test_a_2xx_that_did_not_arrive_whole_is_unknown_even_if_it_reads() -> None:
    came_to = outcome(answered(200, {"id": "task_1"}, is_whole=False))
    assert came_to == Unknown(reason="HTTP 200 with a body that can't be read")


def test_c011c_an_address_to_poll_is_no_id_where_the_contract_does_not_say_so() -> None:
    assert isinstance(outcome(answered(202, b"", {"location": "/api/v1/tasks/task_1"})), Unknown)


def test_the_locator_is_read_where_the_contract_says() -> None:
    contract = replace(REAPI, accept=replace(REAPI.accept, locator_path="urls.get"))
    body = {"id": "task_1", "urls": {"get": "https://reapi.ai/tasks/task_1"}}
    assert outcome(answered(200, body), contract) == Accepted(ref="task_1", locator="https://reapi.ai/tasks/task_1")
    assert outcome(answered(200, {"id": "t", "urls": {"get": 5}}), contract) == Accepted(ref="t", locator="")


# --- one POST: everything else


@pytest.mark.parametrize("status", range(300, 600))
def test_only_listed_refusals_in_the_providers_own_shape_are_refusals(status: int) -> None:
    came_to = outcome(answered(status, NO))
    if status in REAPI.refusals.statuses:
        category = AUTH if status in (401, 402, 403) else INPUT
        is_account = status == 402
        assert came_to == Refused(
            category=category, code="invalid_request", message="no such size", is_account=is_account
        )
    elif status == 429:
        assert came_to == Refused(category=PROVIDER, code="invalid_request", message="no such size", is_later=True)
    else:
        assert came_to == Unknown(reason=f"HTTP {status} proves neither acceptance nor refusal")


def test_what_may_have_passed_a_gateway_is_on_no_list() -> None:
    listed = REAPI.refusals.statuses | REAPI.refusals.later
    assert not listed & {408, 409, 425, 499, *range(300, 400), *range(500, 600)}


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422, 429])
@pytest.mark.parametrize(
    "body",
    [
        PAGE,
        b"",
        b"Too Many Requests",
        {},
        {"detail": "no"},
        *({"error": nothing} for nothing in NOTHINGS),
        {"error": True, "message": "no"},
        {"error": "Bad Request", "status": 400},
        *({"error": {"code": nothing, "message": nothing}} for nothing in NOTHINGS),
        {"error": {"code": True, "message": ["no"]}},
        {"id": "task_1", **NO},
        {"task_id": 7, **NO},
        [NO],
        b'{"error": {"co',
        b'{"error": {"code": "a"}, "error": {"code": "b"}}',
        b'{"error": {"code": "a"}, "error": false}',
    ],
    ids=repr,
)
def test_a_status_without_the_providers_own_shape_refuses_nothing(status: int, body: object) -> None:
    assert outcome(answered(status, body)) == Unknown(reason=f"HTTP {status} proves neither acceptance nor refusal")


@pytest.mark.parametrize("status", [400, 429])
def test_a_refusal_that_did_not_arrive_whole_refuses_nothing(status: int) -> None:
    assert isinstance(outcome(answered(status, NO, is_whole=False)), Unknown)


@pytest.mark.parametrize(
    ("value", "wait_s"), [("30", 30), ("Tue, 01 Dec 2026 00:00:30 GMT", 30), ("-3", None), (None, None)]
)
def test_not_now_says_how_long(value: str | None, wait_s: float | None) -> None:  # C135: every spelling in test_pacing
    headers = {} if value is None else {"retry-after": value}
    came_to = outcome(answered(429, NO, headers))
    assert isinstance(came_to, Refused)
    assert came_to.retry_after_s == wait_s
    final = outcome(answered(400, NO, headers))
    assert isinstance(final, Refused)
    assert final.retry_after_s is None


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": 1301, "message": 5}, "1301", "5"),
        ({"code": None, "message": "no"}, "http_400", "no"),
        ({"code": {"n": 1}, "message": "no"}, "http_400", "no"),
        ({"code": "invalid", "message": ["no"]}, "invalid", ""),
    ],
)
def test_a_refusal_without_a_code_is_named_by_its_status(error: object, code: str, message: str) -> None:
    assert outcome(answered(400, {"error": error})) == Refused(category=INPUT, code=code, message=message)


@pytest.mark.parametrize("code", sorted(REAPI.refusals.moderation_codes))
def test_content_that_was_refused_is_told_apart(code: str) -> None:
    came_to = outcome(answered(400, {"error": {"code": code}}))
    assert isinstance(came_to, Refused)
    assert came_to.is_moderation


def test_a_message_holds_no_address_and_stays_short() -> None:
    told = "can't fetch HTTPS://u:p@cdn.reapi.ai/a.png?X-Sig=s3cret nor s3+x://b/s3cret, " + "so " * 300
    came_to = outcome(answered(400, {"error": {"code": told, "message": told}}))
    assert isinstance(came_to, Refused)
    assert came_to.message.startswith("can't fetch (address) nor (address) so so ")
    for text in (came_to.message, came_to.code):
        assert len(text) <= 300
        assert "s3cret" not in text


def test_what_can_not_be_printed_is_not_taken_from_a_provider() -> None:
    told = {"error": {"code": "no\ud800pe", "message": "a\x00b\x1b[31m\nc\ud83d"}}
    refused = outcome(answered(400, told))
    assert isinstance(refused, Refused)
    assert (refused.code, refused.message) == ("http_400", "a b [31m c ")


def test_a_code_that_quotes_the_customer_is_none() -> None:
    refused = outcome(answered(400, {"error": {"code": "a secret prompt was refused", "message": ""}}))
    assert isinstance(refused, Refused)
    assert refused.code == "http_400"


def test_a_message_of_a_megabyte_is_no_work() -> None:
    came_to = outcome(answered(400, {"error": {"message": "a" * 1_000_000}}))
    assert isinstance(came_to, Refused)
    assert came_to.message == "a" * 300


# --- one poll

DONE = {"id": "task_1", "status": "completed", "output": {"image_urls": ["https://cdn.reapi.ai/a.png?sig=1"]}}
ADDRESS = "https://cdn.reapi.ai/a.png?sig=1"


DIED = Died(code="invalid_request", message="no such size", is_moderation=False, charged="no")


def done(output: object) -> dict[str, object]:
    return {"id": "task_1", "status": "completed", "output": output}


READINGS: dict[str, tuple[int, object, Reading]] = {
    "working": (200, {"id": "task_1", "status": "processing"}, Working(word="processing", is_queued=False)),
    "queued": (200, {"id": "task_1", "status": "queued"}, Working(word="queued", is_queued=True)),
    "without its id": (200, {"status": "processing"}, Working(word="processing", is_queued=False)),
    "another 2xx": (202, {"status": "processing"}, Working(word="processing", is_queued=False)),
    "finished": (200, DONE, Finished(addresses=(ADDRESS,))),
    "finished, several": (200, done({"image_urls": ["a", "b"]}), Finished(addresses=("a", "b"))),
    "finished, the first is missing": (200, done({"image_urls": ["", "b"]}), Finished(addresses=("", "b"))),
    "finished, with holes": (
        200,
        done({"image_urls": [None, "b", {"error": "filtered"}, " ", "e"]}),
        Finished(addresses=("", "b", "", "", "e")),
    ),
    "finished, the list twice": (
        200,
        b'{"status": "completed", "output": {"image_urls": ["a"], "image_urls": ["b"]}}',
        NoAddresses(),
    ),
    "C031 the answer is null": (200, done(None), NoAddresses()),
    "C031 the list is null": (200, done({"image_urls": None}), NoAddresses()),
    "C031 the list is empty": (200, done({"image_urls": []}), NoAddresses()),
    "C031 the address is empty": (200, done({"image_urls": [""]}), NoAddresses()),
    "C031 the item is no address": (200, done({"image_urls": [{"error": "filtered"}]}), NoAddresses()),
    "C031 nothing filtered, one real": (200, {**DONE, "filtered_count": 0}, Finished(addresses=(ADDRESS,))),
    "C031 addresses of the other kind": (200, done({"video_urls": ["b"]}), NoAddresses()),
    "C030c success, and an empty list": (200, {**done({"image_urls": []}), "success": True}, NoAddresses()),
    "C030a failed, the reason beside it": (
        200,
        {"id": "task_1", "status": "failed", **NO},
        DIED,
    ),
    "C030a failed by moderation": (
        200,
        {"status": "failed", "error": {"code": "moderation_blocked", "message": "see https://x.y/z"}},
        Died(code="moderation_blocked", message="see (address)", is_moderation=True, charged="no"),
    ),
    "failed without a word": (
        200,
        {"status": "failed"},
        Died(code="failed", message="", is_moderation=False, charged="no"),
    ),
    "C028 a word that nobody listed": (200, {"status": "finalizing"}, Unlisted(word="finalizing")),
    "C030a an error beside a success without files": (200, {**done({"image_urls": []}), **NO}, DIED),
    "C030a an error beside a word that nobody listed": (200, {"id": "task_1", "status": "errored", **NO}, DIED),
    "C030a moderation beside a word that it goes on": (
        200,
        {"id": "task_1", "status": "processing", "error": {"code": "moderation_blocked", "message": "no"}},
        Died(code="moderation_blocked", message="no", is_moderation=True, charged="no"),
    ),
    "C030b an error where the status should be": (200, NO, DIED),
    "an error beside files": (200, {**DONE, **NO}, Finished(addresses=(ADDRESS,))),
    "an error beside a word that it goes on": (
        200,
        {"status": "processing", **NO},
        Working(word="processing", is_queued=False),
    ),
    "no error where the status should be": (200, {"error": False}, Unlisted(word="")),
    "a status twice": (200, b'{"status": "failed", "status": "processing"}', Unlisted(word="")),
    "an id twice": (
        200,
        b'{"id": "task_1", "id": "task_2", "status": "failed"}',
        NoAnswer(reason="the answer is about another task"),
    ),
    "a status that is no word": (200, {"status": {"code": 1}}, Unlisted(word="")),
    "no status": (200, {"id": "task_1"}, Unlisted(word="")),
    "another task": (200, {**DONE, "id": "task_2"}, NoAnswer(reason="the answer is about another task")),
    "two ids": (200, {**DONE, "task_id": "task_2"}, NoAnswer(reason="the answer is about another task")),
    "a page": (200, PAGE, NoAnswer(reason="HTTP 200 with a body that can't be read")),
    "nothing": (200, b"", NoAnswer(reason="HTTP 200 with a body that can't be read")),
    "a list": (200, [DONE], Unlisted(word="")),
    "no such task": (404, NO, Missing()),
    "a 404 that isn't the provider's": (404, PAGE, NoAnswer(reason="HTTP 404")),
    "a 404 without an error": (404, {"error": False}, NoAnswer(reason="HTTP 404")),
    "key refused": (401, NO, KeyRefused(status=401)),
    "key refused by a gateway": (403, PAGE, KeyRefused(status=403)),
    "an error of theirs": (500, NO, NoAnswer(reason="HTTP 500")),
    "elsewhere": (302, None, NoAnswer(reason="HTTP 302")),
    "a refusal": (400, NO, NoAnswer(reason="HTTP 400")),
}


@pytest.mark.parametrize(("status", "body", "reading"), READINGS.values(), ids=READINGS)
def test_each_reading_of_a_poll(status: int, body: object, reading: Reading) -> None:
    assert read(answered(status, body)) == reading


def test_c030d_a_poll_without_an_answer_teaches_nothing() -> None:
    assert read(unanswered(SendPhase.BODY_SENT, SendFault.DEADLINE)) == NoAnswer(reason="no answer: deadline")
    assert read(unanswered(SendPhase.BODY_SENT, None)) == NoAnswer(reason="no answer: lost")
    assert read(answered(200, DONE, is_whole=False)) == NoAnswer(reason="HTTP 200 with a body that can't be read")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_poll_that_came_too_early_says_how_long(status: int) -> None:
    headers = {"retry-after": "Tue, 01 Dec 2026 00:02:00 GMT"}
    assert read(answered(status, PAGE, headers)) == NoAnswer(reason=f"HTTP {status}", retry_after_s=120)


def test_a_numeric_id_is_the_id_that_was_asked_about() -> None:
    assert read(answered(200, {"id": 17, "status": "processing"}), ref="17") == Working(
        word="processing", is_queued=False
    )


def test_each_output_keeps_its_place_whatever_misses_before_it() -> None:
    video = replace(REAPI.operation("video"), address_paths=("output.clips[].url", "output.last_frame"))
    contract = replace(REAPI, operations={**REAPI.operations, "video": video})
    body = done({"clips": [{"id": 1}, {"url": "b"}, None], "last_frame": "c"})
    assert read(answered(200, body), contract, operation="video") == Finished(addresses=("", "b", "", "c"))


def test_each_operation_has_its_own_outputs() -> None:
    body = done({"image_urls": ["a"], "video_urls": ["b"]})
    assert read(answered(200, body), operation="video") == Finished(addresses=("b",))


@pytest.mark.parametrize("word", ["succeeded", "SUCCESS", " Completed ", "completed"])
def test_c028_listed_synonyms_count_whatever_their_case_and_blanks(word: str) -> None:
    statuses = {**REAPI.poll.statuses, "succeeded": "finished", "success": "finished"}
    contract = replace(REAPI, poll=replace(REAPI.poll, statuses=statuses))
    assert read(answered(200, {**DONE, "status": word}), contract) == Finished(addresses=(ADDRESS,))


def test_c028_a_status_one_level_deeper_is_read_where_the_contract_says() -> None:
    poll = replace(REAPI.poll, status_path="data.status", statuses={"done": "finished"})
    body = {"data": {"status": "done"}, "output": DONE["output"]}
    assert read(answered(200, body), replace(REAPI, poll=poll)) == Finished(addresses=(ADDRESS,))
    assert read(answered(200, body)) == Unlisted(word="")


# --- what else is asked


def test_the_models_offered_to_a_key() -> None:
    body = {"data": [{"id": "wan3.0-video"}, {"id": 5}, {}, "x", {"id": "veo"}]}
    assert models_of(REAPI, answered(200, body)) == ("wan3.0-video", "veo")
    for silent in (answered(200, {"data": []}), answered(500, body), answered(200, PAGE)):
        assert models_of(REAPI, silent) is None
    assert models_of(REAPI, unanswered(SendPhase.BODY_SENT, None)) is None


def test_the_model_that_a_task_says_it_runs() -> None:
    result = answered(200, {"model": "wan3.0-video"})
    assert echoed_model(REAPI, result) == "wan3.0-video"
    assert echoed_model(REAPI, answered(200, {})) is None
    assert echoed_model(REAPI, unanswered(SendPhase.BODY_SENT, None)) is None
    assert echoed_model(replace(REAPI, poll=replace(REAPI.poll, model_path="")), result) is None


# --- ids and paths

ODD_IDS = {  # case C123
    "models/veo/operations/ab:c": "models%2Fveo%2Foperations%2Fab%3Ac",
    "a/../b": "a%2F..%2Fb",
    "x?y#z": "x%3Fy%23z",
    "id with space": "id%20with%20space",
    "é": "%C3%A9",
    "x" * 500: "x" * 500,
    "-rf": "-rf",
    ".": "%2E",
    "..": "%2E%2E",
    "...": "%2E%2E%2E",
    "a.b": "a.b",
    "100%": "100%25",
    "{ref}": "%7Bref%7D",
    "a+b;c=d&e@f,g$h!i'j(k)*l~m": "a%2Bb%3Bc%3Dd%26e%40f%2Cg%24h%21i%27j%28k%29%2Al~m",
}


@pytest.mark.parametrize(("ref", "encoded"), ODD_IDS.items(), ids=range(len(ODD_IDS)))
def test_c123_an_id_is_one_segment_of_the_path_whatever_stands_in_it(ref: str, encoded: str) -> None:
    assert as_ref(ref) == ref
    assert poll_path(REAPI, ref) == f"/api/v1/tasks/{encoded}"


@given(some.text())
def test_c123_every_id_that_is_taken_can_be_asked_about(ref: str) -> None:
    if as_ref(ref) is not None:
        path = poll_path(REAPI, ref)
        assert path.isascii()
        assert path.count("/") == 4
        assert not set(path) & set("?# \n")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", []),
        ("a", [{"b": [{"c": 1}, {"c": 2}, {"d": 3}, 4], "n": None}]),
        ("a.b[].c", [1, 2]),
        ("a.b", [[{"c": 1}, {"c": 2}, {"d": 3}, 4]]),
        ("a.n", []),
        ("a[].b", []),
        ("a.b.c", []),
        ("x.y", []),
        ("l[]", [1, 2]),
    ],
)
def test_paths_into_an_answer(path: str, found: list[object]) -> None:
    body = {"a": {"b": [{"c": 1}, {"c": 2}, {"d": 3}, 4], "n": None}, "l": [1, 2]}
    assert pick(body, path) == found


def test_a_bare_result_has_nobodys_words() -> None:
    receipt = SendReceipt(phase=SendPhase.BODY_READ, at_us={"BODY_READ": 7}, status=200, detail="words")
    told = WireResult(
        receipt=receipt, answer=Answer(status=200, headers={"a": "b"}, body=b"words", is_whole=True)
    ).bare()
    assert "words" not in repr(told)
    assert (told.receipt.status, told.answer and told.answer.status) == (200, 200)
    assert WireResult(receipt=receipt, answer=None).bare().answer is None


def test_a_bare_outcome_does_the_same_without_the_providers_words() -> None:
    accepted = Accepted(ref="task_1", locator="/tasks/task_1?words")
    refused = Refused(category=ErrorCategory.INPUT, code="words", message="words", is_later=False)
    unknown = Unknown(reason="no answer: lost")
    assert bare(accepted) == Accepted(ref="task_1", locator="")
    assert bare(refused) == replace(refused, code="refused", message="")
    assert bare(unknown) is unknown


# --- what it cost

COSTED = replace(REAPI, poll=replace(REAPI.poll, cost_path="cost", cost_unit_micros=10_000, cost_currency="USD"))
COSTS: dict[str, tuple[object, Cost | None]] = {
    "a whole number": (12, Cost(micros=120_000, currency="USD")),
    "a fraction, exactly": (0.1, Cost(micros=1000, currency="USD")),
    "text": ("2.5", Cost(micros=25_000, currency="USD")),
    "rounded up": ("0.00001", Cost(micros=1, currency="USD")),
    "nothing": (None, None),
    "less than nothing": (-1, None),
    "no number": ("free", None),
    "a truth": (True, None),
    "more than is counted": ("9007199254740991", None),
}


@pytest.mark.parametrize("name", COSTS)
def test_c052_a_cost_that_the_provider_tells_is_exact(name: str) -> None:
    value, cost = COSTS[name]
    done = {"id": "task_1", "status": "completed", "cost": value, "output": {"image_urls": ["https://c/a.png"]}}
    assert read(answered(200, done), COSTED) == Finished(addresses=("https://c/a.png",), cost=cost)
    died = read(answered(200, {"id": "task_1", "status": "failed", "cost": value, **NO}), COSTED)
    assert isinstance(died, Died)
    assert died.cost == cost


KEYED = replace(
    REAPI,
    idempotency=Idempotency(
        kind="reject_on_reuse",
        header="Idempotency-Key",
        window_s=60,
        reuse_statuses=frozenset({409}),
        reuse_codes=frozenset({"key_reused"}),
    ),
)


@pytest.mark.parametrize(
    ("status", "body", "came_to"),
    [
        (409, {"error": {"code": "conflict"}}, "landed"),
        (422, {"error": {"code": "key_reused"}}, "landed"),
        (409, {"error": {"code": "conflict"}, "id": "t1"}, "adopted"),  # C009 (b): it names the task
        (409, {"error": {"code": "conflict"}, "id": ""}, "landed"),
        (409, PAGE, "unknown"),
        (409, {"detail": "a gateway's"}, "unknown"),
        (422, NO, "refused"),
    ],
)
def test_c009_a_key_that_was_used_proves_that_the_first_landed(status: int, body: object, came_to: str) -> None:
    outcome = outcome_of(KEYED, answered(status, body), now_s=NOW_S)
    if came_to == "adopted":
        assert outcome == Accepted(ref="t1", locator="")
    elif came_to == "refused":
        assert isinstance(outcome, Refused)
    else:
        assert isinstance(outcome, Unknown)
        assert outcome.is_landed == (came_to == "landed")
    plain = outcome_of(REAPI, answered(409, {"error": {"code": "key_reused"}}), now_s=NOW_S)
    assert plain == Unknown(reason="HTTP 409 proves neither acceptance nor refusal")
