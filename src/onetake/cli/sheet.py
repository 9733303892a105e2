"""One job as a page of text: what happened, what holds, what may happen next, what became of the money."""

from collections.abc import Iterator
from typing import Any

from onetake.cli.printing import coloured, when

Job = dict[str, Any]

_NEXT = {
    "preparing": "a worker sends it; nothing was bought for this step yet",
    "submitting": "the answer, or its lease's end; it is not sent twice",
    "submission_unknown": "a person finds the provider's id: `onetake attach {id} PROVIDER_ID`; it isn't sent again",
    "queued": "the provider; it is polled from its saved id",
    "in_progress": "the provider; it is polled from its saved id",
    "processing": "download and checks; free to repeat",
    "needs_review": "a person: see the cases and alarms; `onetake jobs resume {id}` looks again for free",
    "completed": "nothing; the files stand",
    "incomplete": "a person may order what is missing",
    "failed": "nothing; an intended new try is a new job under another key",
    "cancelled": "nothing",
}


def lines_of(job: Job) -> Iterator[str]:
    """The page, line by line; times are in UTC."""
    money = job["money"]
    yield f"job      {job['id']}"
    yield f"key      {job['key']}"
    yield f"recipe   {job['recipe']} {job['recipe_version']}  ({job['recipe_hash'][:12]})"
    yield f"state    {job['state']}  ({coloured(job['status'])})"
    yield f"next     {_next(job)}"
    yield f"credits  {_credits(money)}"
    yield f"ordered  {when(job['created_at'])}"
    yield f"changed  {when(job['updated_at'])}"
    yield f"ended    {when(job['completed_at'])}"
    if job["inputs"]:
        yield f"inputs   {', '.join(f'{name}: {_input(value)}' for name, value in job['inputs'].items())}"
    if job["last_error"]:
        yield f"error    {job['error_category']}: {job['last_error']}"
    for step in job["steps"]:
        yield from _step(step)
    for output in job["outputs"]:
        yield from _output(output)
    for file in job["rejected_files"]:
        yield f"refused  {file['step']}: {file['reason']}"
        yield f"           {file['path']}{_gone(file)}"
    for case in job["cases"]:
        yield f"case     {case['id']}  {case['kind']}  {case['state']}  since {when(case['opened_at'])}"
        for facts in case["evidence"]:
            yield f"           {', '.join(f'{name}: {value}' for name, value in facts.items() if value is not None)}"
    for alarm in job["alarms"]:
        yield f"alarm    {alarm['kind']}: {alarm['detail']}  since {when(alarm['since'])}"


def _next(job: Job) -> str:
    """What moves the job on, and who."""
    if any(file["is_gone"] for file in job["outputs"]):
        return "a person: a file is missing where it was stored, see below"
    open_ = [case["kind"] for case in job["cases"] if case["state"] == "open"]
    if open_ and set(open_) == {"output_rejected"}:
        return "a person: look at the refused file, below; it isn't judged again"
    lines = sorted({step["waiting_on"] for step in job["steps"] if step["waiting_for"] == "budget"})
    if lines and job["status"] == "preparing":
        return f"room in budget line {', '.join(lines)}, which `onetake budgets list` shows; it goes on by itself"
    is_over = job["status"] in ("completed", "failed", "cancelled", "incomplete")
    if is_over and open_:
        return "a person: a case is open, though the job has ended; see below"
    return _NEXT.get(job["status"], "see its steps").format(id=job["id"])


def _credits(money: Job) -> str:
    if not money["quoted"]:
        return "none are counted for this job"
    holds = f"{money['open']} of {money['holds']} holds open"
    return f"{money['held']} held, {money['captured']} used, {money['released']} returned; {holds}"


def _input(value: object) -> str:
    """An input as it may be shown: a text by its length and its digest."""
    if isinstance(value, dict):
        return f"{value['chars']} characters, sha256 {value['sha256'][:16]}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _step(step: Job) -> Iterator[str]:
    waits = f", waits for {step['waiting_for']} {step['waiting_on'] or ''}".rstrip() if step["waiting_for"] else ""
    yield f"step     {step['name']}: {step['state']}{waits}  {step['provider']} {step['operation']}, {step['model']}"
    if step["request_hash"]:
        yield f"           request sha256 {step['request_hash'][:16]}"
    for attempt in step["attempts"]:
        ref = f", id {attempt['ref']} by {attempt['source']}" if attempt["ref"] else ""
        reach = f" after {attempt['receipt']['phase']}" if attempt["receipt"] else ""
        told = f"send: {attempt['outcome'] or 'no answer recorded'}{reach}{ref}; charged: {attempt['charged']}"
        verb = "tried" if attempt["state"] == attempt["outcome"] == "not_sent" else "sent"
        yield f"           attempt {attempt['no']}: {attempt['state']}, {verb} {when(attempt['created_at'])}  ({told})"
        if attempt["error_code"]:
            yield f"             {attempt['error_message'] or attempt['error_code']}"


def _output(output: Job) -> Iterator[str]:
    name = f"{output['step']}.{output['output']}"
    if output["path"] is None:
        yield f"output   {name}: missing"
    else:
        yield f"output   {name}: {output['media_type']}, {output['size_bytes']:,} bytes"
        yield f"           {output['path']}{_gone(output)}"


def _gone(file: Job) -> str:
    """What is said of a file that isn't where it was stored."""
    return "  missing: put it back from a backup, then run `onetake doctor --hash`" if file["is_gone"] else ""
