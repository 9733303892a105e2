"""Asking a provider where it shows what it accepted: the address, and what the answer shows.

Which of the tasks is whose is said nowhere: a task belongs to a lost request if nothing else can be meant. The rule:

    by reference    the one task shown under our reference
    by echo         the one task of the time that repeats our inputs, is nobody's, and that no other lost request can
                    have made as well
    by time         none: what has the model and the time alone may be anybody's, and is told to a person
"""

import datetime
import urllib.parse
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from onetake.domain.answers import TORN, KeyRefused, NoAnswer, as_ref, is_own_error, json_of, pick
from onetake.domain.contract import Contract
from onetake.domain.moments import moment_of
from onetake.domain.pacing import retry_after_s
from onetake.domain.promises import Lookup, TimeFormat
from onetake.domain.recognition import CLOCKS_APART_US, Sent, Shown, is_alike, what_differs
from onetake.domain.wire import WireResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task that a look-up shows."""

    ref: str
    shown: Shown


@dataclass(frozen=True, slots=True)
class Found:
    """The one task that the lost request made."""

    ref: str


@dataclass(frozen=True, slots=True)
class Absent:
    """No task that the lost request can have made."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Tasks that it may have made, or that another lost request may have made as well."""

    refs: tuple[str, ...]


Match = Found | Absent | Ambiguous


def lookup_path(lookup: Lookup, *, reference: str, sent: Sent) -> str:
    """The path to ask, below the provider's origin; all that is put in is percent-encoded."""
    words = {
        "{reference}": reference,
        "{model}": sent.model,
        "{from}": _written(sent.from_us - CLOCKS_APART_US, lookup.times),
        "{until}": _written(sent.until_us + CLOCKS_APART_US, lookup.times),
    }
    path = lookup.path
    for name, word in words.items():
        path = path.replace(name, urllib.parse.quote(word, safe=""))
    return path


def tasks_of(contract: Contract, result: WireResult, *, now_s: float) -> tuple[Task, ...] | KeyRefused | NoAnswer:
    """What the answer shows; none of it is believed where an entry can't be read, for it may be the one."""
    answer, lookup = result.answer, contract.lookup
    if answer is None:
        return NoAnswer(reason=f"no answer: {result.receipt.fault or 'lost'}")
    if answer.status in contract.poll.auth:
        return KeyRefused(status=answer.status)
    body = json_of(answer)
    if answer.status in lookup.absent and is_own_error(contract, body):
        return ()
    if answer.status != 200 or not answer.is_whole or body is None:
        wait_s = retry_after_s(answer.headers.get("retry-after"), now_s=now_s)
        return NoAnswer(reason=f"HTTP {answer.status}", retry_after_s=wait_s)
    items = pick(body, lookup.items_path) if lookup.items_path else [body]
    if not items and not _has_list(body, lookup.items_path):
        return NoAnswer(reason="the answer has no list where one belongs")
    tasks = [_task(contract, item) for item in items]
    if None in tasks:
        return NoAnswer(reason="a task in the answer has no usable id")
    return tuple(task for task in tasks if task is not None)


def match(
    lookup: Lookup, tasks: Sequence[Task], sent: Sent, *, bound: Collection[str], others: Sequence[Sent]
) -> Match:
    """Which of the tasks the lost request made.

    Args:
        lookup: the provider's promise.
        tasks: what it shows.
        sent: the request.
        bound: ids that belong to an attempt already.
        others: the other requests at this provider and model whose outcome is unknown.
    """
    fitting = [task for task in tasks if task.ref not in bound and what_differs(task.shown, sent) is None]
    if lookup.kind == "client_reference":
        refs = tuple(dict.fromkeys(task.ref for task in fitting))
        return Found(refs[0]) if len(refs) == 1 else Ambiguous(refs) if refs else Absent()
    possible = [task for task in fitting if task.shown.created_us is not None]
    if not possible:
        return Absent()
    alike = [task for task in possible if lookup.kind == "list_echo" and is_alike(task.shown, sent)]
    if len(alike) == 1 and not any(what_differs(alike[0].shown, other) is None for other in others):
        return Found(alike[0].ref)
    return Ambiguous(tuple(task.ref for task in alike or possible))


def _task(contract: Contract, item: object) -> Task | None:
    lookup = contract.lookup
    named = [value for path in contract.accept.ref_paths for value in pick(item, path)]
    refs = {as_ref(value) for value in named}
    ref = refs.pop() if len(refs) == 1 else None
    if ref is None:
        return None
    model = _one(item, lookup.model_path)
    echoes = {field: _one(item, path) for field, path in lookup.echoes.items()}
    return Task(
        ref=ref,
        shown=Shown(
            model=model if isinstance(model, str) else None,
            created_us=moment_of(_one(item, lookup.created_path)),
            echoes=echoes,
        ),
    )


def _one(item: object, path: str) -> object:
    found = pick(item, path)
    return found[0] if len(found) == 1 and found[0] is not TORN else None


def _has_list(body: object, items_path: str) -> bool:
    """Whether the list is there, though it is empty."""
    return any(isinstance(value, list) for value in pick(body, items_path.removesuffix("[]")))


def _written(moment_us: int, times: TimeFormat) -> str:
    if times == "iso":
        moment = datetime.datetime.fromtimestamp(moment_us // 1_000_000, datetime.UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(moment_us // (1_000_000 if times == "unix" else 1000))
