"""What an answer means under a contract: the outcome of one POST, and what one poll says.

Pure functions over bytes and a contract. `outcome_of` is DESIGN's table of outcomes: whatever proves neither
acceptance nor refusal is unknown, and nothing here ever guesses in favour of sending again.
"""

import json
import math
import re
import urllib.parse
from dataclasses import dataclass, replace
from fractions import Fraction

from onetake.domain.amounts import amount_of, rounded_up
from onetake.domain.contract import Charged, Contract, Operation, status_key
from onetake.domain.pacing import retry_after_s
from onetake.domain.quoting import plain
from onetake.domain.states import ErrorCategory
from onetake.domain.tables import WHOLE_MAX
from onetake.domain.wire import Answer, SendFault, WireResult

_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_MESSAGE_CHARS_MAX = 300  # a sentence or two: enough for a person, too little to hold a prompt or a page
_REF_CHARS_MAX = 1024  # the longest documented id is an operation name of some 100 characters


class _Torn:
    """What a key holds that stands there twice, with different values: no value of any kind, so nobody trusts it."""

    def __bool__(self) -> bool:
        return False


TORN = _Torn()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """No byte of the request left this machine."""

    fault: SendFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The provider may have accepted, and may bill; `is_landed`: it says that it has, without naming the task."""

    reason: str
    is_landed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The provider's id is in hand.

    Attributes:
        locator: the address to poll that the answer named; empty when it named none.
    """

    ref: str
    locator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The provider said no, in a way that its contract lists.

    Attributes:
        is_later: the same request may be sent again, not before `retry_after_s`.
        is_moderation: the content was refused; never repeated by a rule.
        is_account: our account can't buy anything; nothing more is sent before a person says so.
        charged: whether it is billed all the same: yes, no or unknown.
    """

    category: ErrorCategory
    code: str
    message: str
    is_later: bool = False
    is_moderation: bool = False
    is_account: bool = False
    charged: Charged = "no"
    retry_after_s: float | None = None


Outcome = NotSent | Unknown | Accepted | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """Not done yet. `is_queued` only when the provider says so."""

    word: str
    is_queued: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a task cost at the provider, in millionths of the currency."""

    micros: int
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Done, with the addresses of its outputs.

    Attributes:
        addresses: each at its place in the provider's list; an empty one where that place names no file.
        cost: what the provider says that it cost; None if it doesn't say.
    """

    addresses: tuple[str, ...]
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The provider's final word: failed; `cost` as in `Finished`."""

    code: str
    message: str
    is_moderation: bool
    charged: Charged
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAddresses:
    """Done, says the provider, but names no output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """No such task, says the provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRefused:
    """Our key is not accepted for this question."""

    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisted:
    """A status word that the contract doesn't know."""

    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Nothing was learnt: throttled, an error, unreadable or lost. Ask again later."""

    reason: str
    retry_after_s: float | None = None


Reading = Working | Finished | Died | NoAddresses | Missing | KeyRefused | Unlisted | NoAnswer


def outcome_of(contract: Contract, result: WireResult, *, now_s: float) -> Outcome:
    """What one POST came to.

    Args:
        contract: the provider's promises.
        result: the receipt and, if a status line was read, the answer.
        now_s: the wall clock in seconds, for a Retry-After that names a date.
    """
    if not result.receipt.may_have_left:
        return NotSent(fault=result.receipt.fault or SendFault.OTHER)
    answer = result.answer
    if answer is None:
        return Unknown(reason=f"no answer: {result.receipt.fault or 'lost'}")
    body = json_of(answer)
    if 200 <= answer.status < 300:
        return _acceptance(contract, answer, body)
    if answer.is_whole and _is_reuse(contract, answer, body):
        return _acceptance_of_reuse(contract, answer, body)
    refusal = _refusal(contract, answer, body, now_s)
    return refusal or Unknown(reason=f"HTTP {answer.status} proves neither acceptance nor refusal")


def _is_reuse(contract: Contract, answer: Answer, body: object) -> bool:
    """Whether the provider says, in its own shape, that this key was used before."""
    promise, code = contract.idempotency, _code(body, contract.refusals.code_path)
    is_listed = answer.status in promise.reuse_statuses or code in promise.reuse_codes
    return is_listed and is_own_error(contract, body)


def _acceptance_of_reuse(contract: Contract, answer: Answer, body: object) -> Outcome:
    """A key of ours that is known has bought: the task is named beside the refusal, or can't be known from it."""
    adopted = _acceptance(contract, answer, body)
    if isinstance(adopted, Accepted):
        return adopted
    return Unknown(reason="the provider says that the key was used before, and doesn't name the task", is_landed=True)


def bare(outcome: Outcome) -> Outcome:
    """The same outcome without the provider's words: what it does to an attempt stays, and so does an accepted id."""
    if isinstance(outcome, Accepted):
        return replace(outcome, locator="")
    if isinstance(outcome, Refused):
        return replace(outcome, code="refused", message="")
    return outcome


def _acceptance(contract: Contract, answer: Answer, body: object) -> Outcome:
    if not answer.is_whole or body is None:
        return Unknown(reason=f"HTTP {answer.status} with a body that can't be read")
    named = [value for path in contract.accept.ref_paths for value in pick(body, path)]
    refs = {ref for value in named if (ref := as_ref(value)) is not None}
    if len(refs) > 1 or TORN in named:
        return Unknown(reason=f"HTTP {answer.status} with two ids that disagree")
    if not refs:
        return Unknown(reason=f"HTTP {answer.status} with no usable id")
    locator = next((x for x in pick(body, contract.accept.locator_path) if isinstance(x, str)), "")
    return Accepted(ref=refs.pop(), locator=locator)


def as_ref(value: object) -> str | None:
    """The provider's id that a value is: text that can be seen and written down, or a whole number; else None."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _REF_CHARS_MAX:
        return None
    return text


def _refusal(contract: Contract, answer: Answer, body: object, now_s: float) -> Refused | None:
    rules = contract.refusals
    if answer.status not in rules.statuses | rules.later or not answer.is_whole:
        return None
    if not is_own_error(contract, body):
        return None  # a gateway's page or a foreign shape: not the provider's word
    if any(pick(body, path) for path in contract.accept.ref_paths):
        return None  # it refuses and names a task: nobody can tell which of the two is so
    code, message = _code(body, rules.code_path), _word(body, rules.message_path)
    is_later = answer.status in rules.later
    is_account = answer.status in rules.account or code in rules.account_codes
    is_auth = answer.status in rules.auth or is_account
    is_moderation = code in rules.moderation_codes
    return Refused(
        category=ErrorCategory.AUTH if is_auth else ErrorCategory.PROVIDER if is_later else ErrorCategory.INPUT,
        code=code or f"http_{answer.status}",
        message=message,
        is_later=is_later and not is_account,
        is_moderation=is_moderation,
        is_account=is_account,
        charged=rules.charged_when_filtered if is_moderation else "no",
        retry_after_s=retry_after_s(answer.headers.get("retry-after"), now_s=now_s) if is_later else None,
    )


def is_own_error(contract: Contract, body: object) -> bool:
    """Whether the body says no in the provider's own shape: something stands there, with a reason where one belongs."""
    rules = contract.refusals
    reasons = [*pick(body, rules.code_path), *pick(body, rules.message_path)]
    return any(pick(body, rules.shape_path)) and any(value for value in reasons if _is_word(value))


def reading_of(contract: Contract, operation: Operation, ref: str, result: WireResult, *, now_s: float) -> Reading:
    """What one poll of a saved ref says.

    Args:
        contract: the provider's promises.
        operation: names where its outputs stand.
        ref: the id that was asked about; an answer that names another one is not an answer.
        result: the receipt and the answer of the GET.
        now_s: the wall clock in seconds, for a Retry-After that names a date.
    """
    answer, rules = result.answer, contract.poll
    if answer is None:
        return NoAnswer(reason=f"no answer: {result.receipt.fault or 'lost'}")
    if answer.status in rules.auth:
        return KeyRefused(status=answer.status)
    body = json_of(answer)
    if answer.status in rules.missing and is_own_error(contract, body):
        return Missing()
    if not 200 <= answer.status < 300:
        wait_s = retry_after_s(answer.headers.get("retry-after"), now_s=now_s)
        return NoAnswer(reason=f"HTTP {answer.status}", retry_after_s=wait_s)
    if not answer.is_whole or body is None:
        return NoAnswer(reason=f"HTTP {answer.status} with a body that can't be read")
    named = [value for path in contract.accept.ref_paths for value in pick(body, path)]
    if any(str(value) != ref for value in named):
        return NoAnswer(reason="the answer is about another task")
    return _task(contract, operation, body)


def _task(contract: Contract, operation: Operation, body: object) -> Reading:
    """The task as an answer about it shows it. A listed word that it goes on, or a file, outweighs an error beside it.

    But content that was refused stays refused, whatever the status says: nobody works on that any more.
    """
    rules, refusals = contract.poll, contract.refusals
    word = _word(body, rules.status_path)
    code = _code(body, rules.code_path) or _code(body, refusals.code_path)
    meaning = rules.statuses.get(status_key(word))
    addresses = _addresses(operation, body) if meaning == "finished" else ()
    is_refused = code in refusals.moderation_codes
    if any(addresses):
        return Finished(addresses=addresses, cost=_cost(contract, body))
    if meaning == "failed" or is_refused or (is_own_error(contract, body) and meaning not in ("queued", "working")):
        return Died(
            code=code or "failed",
            message=_word(body, rules.message_path) or _word(body, refusals.message_path),
            is_moderation=is_refused,
            charged=rules.charged_when_filtered if is_refused else rules.charged_on_failure,
            cost=_cost(contract, body),
        )
    if meaning is None:
        return Unlisted(word=word)
    if meaning == "finished":
        return NoAddresses()
    return Working(word=word, is_queued=meaning == "queued")


def _cost(contract: Contract, body: object) -> Cost | None:
    """What an answer says that the task cost, rounded up; None where it says nothing usable.

    A float is taken as it is written: `json` gives the shortest spelling that means it.
    """
    poll = contract.poll
    value = next(iter(pick(body, poll.cost_path)), None)
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    amount = amount_of(str(value))
    if amount is None or amount < 0:
        return None
    micros = rounded_up(Fraction(amount) * poll.cost_unit_micros)
    return Cost(micros=micros, currency=poll.cost_currency) if micros <= WHOLE_MAX else None


def _addresses(operation: Operation, body: object) -> tuple[str, ...]:
    """What stands at each place where an output belongs; empty where it is no address."""
    found = [value for path in operation.address_paths for value in _places(body, path)]
    return tuple(value if isinstance(value, str) and value.strip() else "" for value in found)


def echoed_model(contract: Contract, result: WireResult) -> str | None:
    """The model that a poll's answer says the task runs, if it says so."""
    if result.answer is None or not contract.poll.model_path:
        return None
    return _word(json_of(result.answer), contract.poll.model_path) or None


def echoed(result: WireResult, path: str) -> object:
    """What a poll's answer says at a path; None where it says nothing there, or not one thing."""
    found = pick(json_of(result.answer), path) if result.answer is not None else []
    return found[0] if len(found) == 1 and found[0] is not TORN else None


def models_of(contract: Contract, result: WireResult) -> tuple[str, ...] | None:
    """The models offered to our key; None when the answer doesn't tell."""
    if result.answer is None or result.answer.status != 200:
        return None
    found = tuple(value for value in pick(json_of(result.answer), contract.models_item_path) if isinstance(value, str))
    return found or None


def poll_path(contract: Contract, ref: str) -> str:
    """The path to poll, below the provider's origin; every reserved character of the id is percent-encoded.

    An id of dots alone would be taken for a step up the path, so its dots are encoded too (RFC 3986, 5.2.4).
    """
    encoded = urllib.parse.quote(ref, safe="")
    return contract.poll.path.replace("{ref}", encoded.replace(".", "%2E") if not encoded.strip(".") else encoded)


def pick(body: object, path: str) -> list[object]:
    """Every value that stands at a dotted path; `[]` after a name spreads a list. Nothing there: an empty list."""
    return [value for value in _places(body, path) if value is not None] if path else []


def _places(body: object, path: str) -> list[object]:
    """What stands at a dotted path, with None for each place where nothing does; `[]` after a name spreads a list."""
    found = [body]
    for part in path.split("."):
        name, spread = part.removesuffix("[]"), part.endswith("[]")
        found = [_at(item, name) for item in found]
        if spread:
            found = [value for item in found if isinstance(item, list) for value in item]
    return found


def _at(item: object, name: str) -> object:
    """What an object has under a name; what can't be trusted stays so in all its parts."""
    if item is TORN:
        return TORN
    return item.get(name) if isinstance(item, dict) else None


def _word(body: object, path: str) -> str:
    """The text or number at a path, for people: shortened, and without any address in it."""
    value = next(iter(pick(body, path)), "")
    if not _is_word(value):
        return ""
    return plain(str(value)[:_MESSAGE_CHARS_MAX])[:_MESSAGE_CHARS_MAX]


def _is_word(value: object) -> bool:
    """Whether it is text or a whole number; a truth is neither."""
    return isinstance(value, str) or type(value) is int


def _code(body: object, path: str) -> str:
    """The short word that names a reason; anything longer or odder is no code and may quote the customer."""
    word = _word(body, path)
    return word if _CODE.fullmatch(word) else ""


def json_of(answer: Answer) -> object:
    """The body as JSON, or None.

    NaN and infinity, which JSON hasn't, count as missing: never as a number, and a senseless price hides no id. A key
    that an object has twice, with different values, is `TORN`: readers differ in which one they take.
    """
    try:
        return json.loads(answer.body, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None


def _finite(spelling: str) -> float | None:
    number = float(spelling)
    return number if math.isfinite(number) else None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if repr(value) != repr(found[name]):  # `==` would take `true` for 1
                found[name] = TORN
    return found
