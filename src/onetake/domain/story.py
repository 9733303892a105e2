"""A job's life in sentences, from its journal alone. Pure: lines in, sentences out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Line = Mapping[str, Any]
"""A journal line: seq, at (microseconds), actor, event, step, attempt_no, data."""


def tell(lines: Sequence[Line]) -> list[tuple[int, str]]:
    """For each line, when it happened and what happened."""
    return [(line["at"], sentence(line)) for line in lines]


def sentence(line: Line) -> str:
    """What one line says; an event that this version doesn't know is named as it stands."""
    teller = _TELLERS.get(line["event"])
    return teller(line, line["data"]) if teller else f"{line['step'] or 'The job'}: {line['event']}."


def _created(_: Line, data: Line) -> str:
    held = f"; {_credits(data['held'])} held" if data["held"] else ""
    return f"Ordered by recipe {data['recipe']}: {_expected(data['expected'])}{held}."


def _credits(count: int) -> str:
    return "1 credit is" if count == 1 else f"{count:,} credits are"


def _expected(count: int) -> str:
    return "1 output is expected" if count == 1 else f"{count} outputs are expected"


def _ready(line: Line, _: Line) -> str:
    return f"{_step(line)} has all it needs; its request is frozen."


def _submitting(line: Line, _: Line) -> str:
    return f"{_step(line)}: attempt {line['attempt_no']} is about to be sent, once."


def _accepted(line: Line, data: Line) -> str:
    told = {
        "answer": f"the provider answered with the id {data['ref']}",
        "attach": f"{line['actor']} found the id {data['ref']}, and the provider knows it",
    }
    known = told.get(data["source"], f"the provider is known by {data['source']} to have the id {data['ref']}")
    return f"{_step(line)}: {known}; it is polled from now on."


def _unknown(line: Line, data: Line) -> str:
    doubt = f"{_step(line)}: nobody knows whether the provider took attempt {line['attempt_no']} ({data['reason']})."
    if data.get("asked"):
        return f"{doubt} The provider is asked, as its contract permits; the money stays held."
    return f"{doubt} It is not sent again; the money stays held."


def _replaying(line: Line, data: Line) -> str:
    return (
        f"{_step(line)}: the same bytes are about to be sent again under the same key, as POST {data['n']} of attempt"
        f" {line['attempt_no']}; by the contract they buy once."
    )


def _replayed(line: Line, data: Line) -> str:
    said = {
        "accepted": "the provider answered it",
        "rejected": "the provider refused it",
        "later": "the provider said not now",
        "not_sent": "it never left",
        "unknown": "its answer was lost as well",
    }[data["outcome"]]
    if data.get("is_landed"):
        said = "the provider says that it has the order, and doesn't name it"
    return f"{_step(line)}: POST {data['n']} of attempt {line['attempt_no']}: {said}{_next_try(data)}."


def _looked_up(line: Line, data: Line) -> str:
    said = {
        "task": "and shows its task",
        "nothing": "and shows no task for it",
        "several": "and shows tasks of which nobody knows whether one is it",
        "no_answer": f"but gave no clear answer ({data.get('why')})",
    }[data["found"]]
    return f"{_step(line)}: the provider was asked for attempt {line['attempt_no']}, {said}{_next_try(data)}."


def _next_try(data: Line) -> str:
    return f"; it is asked again in {data['pause_s']} s" if "pause_s" in data else ""


def _not_sent(line: Line, data: Line) -> str:
    proven = "was never taken" if data["fault"] == "absent" else f"never left ({data['fault']})"
    return f"{_step(line)}: attempt {line['attempt_no']} provably {proven}; {_again(data)}."


def _later(line: Line, data: Line) -> str:
    return f"{_step(line)}: the provider said not now ({data['code']}) and took nothing; {_again(data)}."


def _again(data: Line) -> str:
    return f"it may be sent again in {data['pause_s']} s" if data["again"] else "it isn't sent again by itself"


def _refused(line: Line, data: Line) -> str:
    refused = f"{_step(line)}: the provider refused attempt {line['attempt_no']} ({data['code']}) and took nothing"
    if "again" in data:
        return f"{refused}; {_again(data)}."
    bills = {"no": "", "yes": " It bills for it all the same.", "unknown": " Whether it bills is unknown."}
    return f"{refused}.{bills[data.get('charged', 'no')]}"


def _finished(line: Line, data: Line) -> str:
    outputs = "one output" if data["outputs"] == 1 else f"{data['outputs']} outputs"
    return f"{_step(line)}: the provider says finished and names {outputs}; the addresses are saved."


def _died(line: Line, data: Line) -> str:
    bills = {"no": "It doesn't bill for it.", "yes": "It bills for it.", "unknown": "Whether it bills is unknown."}
    failed = f"{_step(line)}: the provider says attempt {line['attempt_no']} failed ({data['code']})."
    return f"{failed} {bills[data['charged']]}"


def _delivered(line: Line, data: Line) -> str:
    files = ", ".join(f"{file['digest'][:12]} ({file['size_bytes']:,} bytes)" for file in data["files"])
    nothing = "all that was ordered stands already" if data["filled"] else "nothing"
    return f"{_step(line)}: fetched, decoded, measured and stored: {files or nothing}."


def _step_failed(line: Line, data: Line) -> str:
    money = {
        "captured": "what was held for it is spent",
        "released": "what was held for it is released",
    }.get(data.get("holds", "released" if data["charged"] == "no" else ""), "what was held for it stays held")
    return f"{_step(line)} has failed ({data['code']}); {money}."


def _admitted(line: Line, _: Line) -> str:
    return f"{_step(line)}: the budget has room for it now; it is ready again."


def _corrected(line: Line, data: Line) -> str:
    return (
        f"{_step(line)}: {data['output']} came after its credits were given back, so {_credits(data['moved'])} spent"
        " after all; the ledger has a correction for it."
    )


def _not_corrected(line: Line, data: Line) -> str:
    return (
        f"{_step(line)}: {data['output']} came after its {data['credits']:,} credits were given back, and the account"
        " hasn't got them any more: the file is kept, nothing is charged for it."
    )


def _paid(line: Line, data: Line) -> str:
    told = {"captured": "spent", "released": "given back"}[data["holds"]]
    return f"{_step(line)}: {line['actor']} found what the provider charged; {_credits(data['credits'])} {told}."


def _case_opened(line: Line, data: Line) -> str:
    why = f", because the file is not what was ordered: {data['why']}" if "why" in data else ""
    if "ref" in data:
        why = f": the provider's id {data['ref']} doesn't fit what is known"
    return f"{_step(line)}: case {data['case']} was opened for a person ({data['kind']}){why}."


def _case_closed(line: Line, data: Line) -> str:
    return f"{_step(line)}: case {data['case']} is closed, {data['decision']}: {data['reason']}."


def _parked(line: Line, data: Line) -> str:
    whom = " for a person" if data["waiting_for"] == "review" else ""
    return f"{_step(line)} waits{whom}: {data['why']}."


def _replaced(line: Line, data: Line) -> str:
    return f"{_step(line)} may be bought again by the recipe's rule ({data['n']} of {data['of']})."


def _alarm(line: Line, data: Line) -> str:
    return f"{_step(line)}: alarm, {data['detail']}."


def _resumed(line: Line, data: Line) -> str:
    ids = "1 saved id" if data["polls"] == 1 else f"{data['polls']} saved ids"
    steps = "1 step" if data["steps"] == 1 else f"{data['steps']} steps"
    files = {0: "", 1: ", 1 file fetched from a fresh address"}.get(
        data.get("files", 0), f", {data.get('files')} files fetched from fresh addresses"
    )
    return f"{line['actor']} resumed the job: {ids} polled now{files}, {steps} released."


def _frozen(line: Line, data: Line) -> str:
    approved = f"{data['approved_by']} approved the still {data['still'][:12]}"
    return f"{approved}; {line['actor']} froze it as a regression fixture ({data['seal'][:12]}). Nothing is published."


def _ended(word: str) -> Callable[[Line, Line], str]:
    return lambda _, data: f"The job {word}: {_of(data['filled'], data['expected'])}."


def _of(filled: int, expected: int) -> str:
    return f"{filled} of {expected} {'output stands' if expected == 1 else 'outputs stand'}"


def _step(line: Line) -> str:
    return f"Step {line['step']}" if line["step"] else "The job"


_TELLERS: dict[str, Callable[[Line, Line], str]] = {
    "job.created": _created,
    "step.ready": _ready,
    "attempt.submitting": _submitting,
    "attempt.accepted": _accepted,
    "attempt.unknown": _unknown,
    "attempt.replaying": _replaying,
    "attempt.replayed": _replayed,
    "attempt.looked_up": _looked_up,
    "attempt.not_sent": _not_sent,
    "attempt.later": _later,
    "attempt.refused": _refused,
    "attempt.finished": _finished,
    "attempt.failed": _died,
    "step.filled": _delivered,
    "attempt.delivered": _delivered,
    "step.complete": lambda line, _: f"{_step(line)} is complete.",
    "step.failed": _step_failed,
    "step.cancelled": lambda line, _: f"{_step(line)} was cancelled before it was sent; nothing was bought for it.",
    "step.parked": _parked,
    "step.renewed": lambda line, _: f"{_step(line)} has a fresh address of what it needs and is ready again.",
    "step.replaced": _replaced,
    "step.admitted": _admitted,
    "step.paid": _paid,
    "ledger.corrected": _corrected,
    "ledger.not_corrected": _not_corrected,
    "case.opened": _case_opened,
    "case.closed": _case_closed,
    "alarm.raised": _alarm,
    "alarm.cleared": lambda line, _: f"{_step(line)}: all is well again.",
    "job.resumed": _resumed,
    "job.cancel_requested": lambda line, _: f"{line['actor']} asked to cancel; what was sent goes on to its end.",
    "fixture.frozen": _frozen,
    "job.complete": _ended("is complete"),
    "job.incomplete": _ended("is incomplete"),
    "job.failed": _ended("has failed"),
    "job.cancelled": _ended("is cancelled"),
}

EVENTS = tuple(_TELLERS)
"""Every event that a journal may hold; a test finds one that is written and not told."""
