"""A contract in plain words: what happens if an answer is lost now, on whose word, and what is the matter with it."""

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from onetake.domain.contract import Contract
from onetake.domain.promises import Idempotency, Lookup
from onetake.domain.recovering import LOOKS_MAX, LOOKS_TO_BELIEVE, POSTS_MAX, replay_until_s, stands

STALE_DAYS = 90
"""Age from which somebody should read the provider's pages again: two product lines died within one season."""

_BILLS = {"yes": "is billed", "no": "isn't billed", "unknown": "may be billed or not, and what is held stays held"}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a contract; a fault should be mended, a gap is something that the provider doesn't say."""

    is_fault: bool
    says: str


def explain(contract: Contract, today: str) -> list[str]:
    """What onetake does if the answer to a paid POST is lost today, step by step, and on whose word."""
    support = f" Whom to ask, with what: {contract.support}." if contract.support else ""
    return [
        *_lost(contract, today),
        f"What that can't settle is a person's: a case is opened, and the money stays held.{support}",
        _refusals(contract),
        _billing(contract),
        f"All this on the word of: {'; '.join(contract.evidence)}; as read on {contract.verified_on}.",
    ]


def find_faults(contract: Contract, today: str) -> list[Finding]:
    """What is old, has run out or contradicts itself, and then what the provider doesn't say."""
    faults = [*_old(contract, today), *_overlaps(contract)]
    gaps = [says for says, is_so in _gaps(contract) if is_so]
    return [Finding(is_fault=True, says=says) for says in faults] + [
        Finding(is_fault=False, says=says) for says in gaps
    ]


def _old(contract: Contract, today: str) -> Iterator[str]:
    age = age_days(contract, today)
    if age > STALE_DAYS:
        yield f"verified_on: {age} days ago; read the evidence again"
    if age < 0:
        yield f"verified_on: {contract.verified_on} is still to come"
    for name, statement in (("idempotency", contract.idempotency), ("lookup", contract.lookup)):
        if statement.kind != "none" and not stands(statement, today):
            yield f"{name}: counted until {statement.last_day}; nothing is done by it any more"


def _overlaps(contract: Contract) -> Iterator[str]:
    rules, promise = contract.refusals, contract.idempotency
    meanings = {
        "refuse.account_codes": rules.account_codes,
        "refuse.moderation_codes": rules.moderation_codes,
        "idempotency.reuse_codes": promise.reuse_codes,
    }
    for (one, codes), (other, more) in itertools.combinations(meanings.items(), 2):
        yield from (f"{one}: {code} is among {other} too" for code in sorted(codes & more))
    for status in sorted(promise.reuse_statuses & (rules.statuses | rules.later)):
        yield f"idempotency.reuse_statuses: {status} is listed as a refusal too"
    for name, listed in (("auth", rules.auth), ("account", rules.account)):
        for status in sorted(listed - rules.statuses - rules.later):
            yield f"refuse.{name}: {status} isn't among refuse.statuses, so it is never read"


def age_days(contract: Contract, today: str) -> int:
    """How many days ago somebody read the evidence."""
    return (datetime.date.fromisoformat(today) - datetime.date.fromisoformat(contract.verified_on)).days


def _gaps(contract: Contract) -> list[tuple[str, bool]]:
    poll = contract.poll
    return [
        ("idempotency: not promised, so a lost answer is never sent again", contract.idempotency.kind == "none"),
        ("lookup: not promised, so a lost answer is never looked up", contract.lookup.kind == "none"),
        ("support: nobody is named whom a person could ask about a lost answer", not contract.support),
        ("refuse.later: no status is known to mean not now, so a 429 is an unknown", not contract.refusals.later),
        ("poll.created_path: it can't be told whether a task was made when ours was sent", not poll.created_path),
        ("poll.model_path: it can't be told whether a task is of our model", not poll.model_path),
        ("poll.charged_on_failure: what is held for a failed task stays held", poll.charged_on_failure == "unknown"),
        ("poll.cost_path: what a task cost isn't told; the recipe's price counts", not poll.cost_path),
    ]


def _lost(contract: Contract, today: str) -> list[str]:
    idempotency, lookup = contract.idempotency, contract.lookup
    replays = idempotency.is_replay and stands(idempotency, today)
    return [
        _replayed(idempotency) if replays else f"Nothing is sent again: {_why_no_replay(idempotency)}.",
        _looked_up(lookup) if stands(lookup, today) else f"It isn't looked up: {_why_no_lookup(lookup)}.",
    ]


def _replayed(promise: Idempotency) -> str:
    place = f"header {promise.header}" if promise.header else f"field {promise.field}"
    again = {
        "replay": "the provider promises that it answers with the first task and buys nothing",
        "replay_fingerprint": "the provider promises that it answers with the first task and buys nothing",
        "reject_on_reuse": "the provider promises to refuse a key that it knows, which proves that it has the order",
    }[promise.kind]
    proof = " The refusal of such a replay proves that nothing was bought." if promise.refusal_is_proof else ""
    return (
        f"The same bytes are sent again under the same key ({place}), at most {POSTS_MAX - 1} times within"
        f" {_span(replay_until_s(promise))} of the first: {again}.{proof}"
    )


def _why_no_replay(promise: Idempotency) -> str:
    if promise.kind == "client_id":
        return "the task has an id of ours, but what a second order under it does isn't promised"
    if promise.kind == "none":
        return "nobody promises that the same request buys once"
    return f"that promise counted until {promise.last_day}"


def _looked_up(promise: Lookup) -> str:
    how = {
        "client_reference": "by our own reference",
        "list_echo": "in a list, by its inputs, and taken only if one task alone can be meant",
        "list_time": "in a list by model and time; what is found there is told to a person, not taken",
    }[promise.kind]
    proves = f"A task that {LOOKS_TO_BELIEVE} look-ups in a row don't show was never bought, and is ordered again"
    proof = proves if promise.is_conclusive else "That it isn't shown proves nothing"
    after = f"{_span(promise.visible_after_s)} after the POST" if promise.visible_after_s else "At once"
    return f"{after} it is looked up {how}, up to {LOOKS_MAX} times within {_span(promise.window_s)}. {proof}."


def _why_no_lookup(promise: Lookup) -> str:
    return "the provider shows no list" if promise.kind == "none" else f"that promise counted until {promise.last_day}"


def _refusals(contract: Contract) -> str:
    rules = contract.refusals
    later = f", and {_listed(rules.later)} means not now" if rules.later else ""
    return (
        f"Of answers in the provider's own words, {_listed(rules.statuses)} are refusals that buy nothing{later}; every"
        " other one that names no task is an unknown."
    )


def _billing(contract: Contract) -> str:
    poll = contract.poll
    return (
        f"A task that failed {_BILLS[poll.charged_on_failure]}; one that was refused for its content"
        f" {_BILLS[poll.charged_when_filtered]}."
    )


def _listed(statuses: frozenset[int]) -> str:
    return ", ".join(str(status) for status in sorted(statuses)) or "no status"


def _span(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"
