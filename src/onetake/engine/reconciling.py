"""Reconciliation: the provider's own records beside ours. What agrees is settled; what doesn't becomes a case.

A record is evidence that something was charged. That there is none proves nothing: it is asked about.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from onetake.domain.amounts import told_micros
from onetake.domain.answers import Cost
from onetake.domain.billing import billing, doubts
from onetake.domain.errors import BadValueError
from onetake.domain.events import CaseEvent
from onetake.domain.roles import Act
from onetake.domain.states import FINAL_STEP, AttemptState, CaseKind, StepState
from onetake.domain.tables import WHOLE_MAX
from onetake.domain.usage import UsageRecord
from onetake.engine import spending
from onetake.engine.settling import close_cases, close_missing, open_case
from onetake.engine.turn import Turn
from onetake.store import accounts, allowances, attempts, cases, charges, ledger, steps
from onetake.store.attempts import Attempt
from onetake.store.database import Row


@dataclass(slots=True)
class Reconciled:
    """What an import came to.

    Attributes:
        is_new: False if the very same file was imported before; then nothing was done.
        records: charges that weren't known before.
        matched: those that are for one of our attempts.
        orphans: those that no attempt is known for; each is a case.
        uncharged: attempts of that time that are billed as far as we know, and that no record tells of; each is a case.
        disputed: attempts that were charged otherwise than was known or ordered, each once; each is a case.
        changed: records that stand already with another amount or id; they stay as they were.
    """

    is_new: bool = True
    records: int = 0
    matched: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    uncharged: list[str] = field(default_factory=list)
    disputed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def import_usage(turn: Turn, provider: str, name: str, digest: str, records: Sequence[UsageRecord]) -> Reconciled:
    """Take in a provider's records, in one transaction.

    Args:
        turn: whose act it is.
        provider: whose records.
        name: of the file.
        digest: of the file's bytes: the same file again changes nothing.
        records: as the provider wrote them.

    Raises:
        RoleError: the person may not.
        BadValueError: the charges add up to more than can be counted.
    """
    turn.check_over_all(Act.RECONCILE)
    _check_sums(records, name)
    import_id = charges.insert_import(
        turn.tx,
        turn.clock,
        provider=provider,
        digest=digest,
        name=name,
        records=list(records),
        actor=turn.actor,
    )
    done = Reconciled(is_new=import_id is not None)
    if import_id is None:
        return done
    for record in records:
        charge_id = charges.insert(turn.tx, turn.clock, import_id, provider, record)
        if charge_id is None:
            _compare(turn, provider, record, done)
            continue
        done.records += 1
        attempt_id = attempts.find_by_ref(turn.tx, provider_account=provider, ref=record.ref) if record.ref else None
        if attempt_id is None:
            done.orphans.append(_open_orphan(turn, charge_id, record))
        else:
            charges.match(turn.tx, charge_id, attempt_id)
            done.matched.append(attempt_id)
    done.disputed += [attempt_id for attempt_id in dict.fromkeys(done.matched) if not _take(turn, attempt_id)]
    _ask_about_missing(turn, provider, records, done)
    accounts.record_act(
        turn.tx,
        turn.clock,
        "reconciled",
        import_id,
        actor=turn.actor,
        data={"file": name, "records": done.records, "orphans": len(done.orphans), "uncharged": len(done.uncharged)},
    )
    return done


def adopt(turn: Turn, attempt: Attempt, ref: str) -> None:
    """A person attached an id for which charges without an attempt stood: they are this attempt's."""
    found = charges.list_orphans(turn.tx, ref=ref, provider=attempt.provider)
    for row in found:
        charges.match(turn.tx, row["id"], attempt.id)
        if row["case_id"]:
            reason = f"the id was attached to attempt {attempt.no} of job {attempt.job_id}"
            cases.close(turn.tx, turn.clock, row["case_id"], CaseEvent.ATTACHED, actor=turn.actor, reason=reason)
    if found:
        _take(turn, attempt.id)


def _compare(turn: Turn, provider: str, record: UsageRecord, done: Reconciled) -> None:
    standing = charges.find(turn.tx, provider, record.key) or {}
    says = (record.ref, record.amount_micros, record.currency)
    if says != (standing.get("ref"), standing.get("amount_micros"), standing.get("currency")):
        done.changed.append(record.key)


def _open_orphan(turn: Turn, charge_id: str, record: UsageRecord) -> str:
    case_id = cases.open_alone(turn.tx, turn.clock, CaseKind.ORPHAN)
    charges.put_case(turn.tx, charge_id, case_id)
    facts = {
        "ref": record.ref,
        "model": record.model,
        "amount_micros": record.amount_micros,
        "currency": record.currency,
        "charged_at": record.charged_at,
    }
    cases.add_evidence(turn.tx, turn.clock, case_id, "provider_record", facts, actor=turn.actor)
    return charge_id


def _take(turn: Turn, attempt_id: str) -> bool:
    """Whether what was charged for the attempt fits what is known of it; it is settled by that all the same.

    Only charges in the currency in which it was ordered add up; what is in another is asked about.

    Raises:
        BadValueError: they add up to more than can be counted.
    """
    attempt, rows = attempts.get(turn.tx, attempt_id), charges.list_of_attempt(turn.tx, attempt_id)
    step, costs = steps.get(turn.tx, attempt.step_id), [_cost(row) for row in rows]
    ordered, (charged, told) = allowances.price_of(turn.tx, step.id), attempts.billed(turn.tx, attempt_id)
    currency = ordered.currency or told or costs[0].currency
    own = [cost for cost in costs if cost.currency == currency]
    if own:
        cost_micros = _counted(own, f"attempt {attempt.no} of job {attempt.job_id}")
        charges.note_cost(turn.tx, attempt_id, cost_micros=cost_micros, currency=currency)
        _counted(_spent(turn, step.id), f"step {step.name} of job {attempt.job_id}")
    reason = doubts(costs, ordered, currency=currency, charged=charged)
    if reason:
        said = [told_micros(cost.micros, cost.currency) for cost in costs]
        open_case(turn, CaseKind.CHARGE, attempt, step.name, {"reason": reason, "charges": said, "known_as": charged})
    else:
        close_cases(turn, CaseKind.CHARGE, CaseEvent.SETTLED, attempt, "the provider's record shows the charge")
    if own and charged == "unknown":
        _pay(turn, step.id, attempt)
    if step.state in FINAL_STEP:
        spending.settle(turn, step.id)
    return not reason


def _cost(row: Row) -> Cost:
    return Cost(micros=row["amount_micros"], currency=row["currency"])


def _spent(turn: Turn, step_id: str) -> list[Cost]:
    """What all attempts of a step cost so far."""
    row = allowances.find_spent(turn.tx, step_id)
    return [Cost(micros=row["spent"], currency=row["currency"])] if row else []


def _check_sums(records: Sequence[UsageRecord], name: str) -> None:
    by_currency: dict[str, list[Cost]] = defaultdict(list)
    for record in records:
        by_currency[record.currency].append(Cost(micros=record.amount_micros, currency=record.currency))
    for costs in by_currency.values():
        _counted(costs, name)


def _counted(costs: Sequence[Cost], whose: str) -> int:
    """What costs in one currency come to.

    Raises:
        BadValueError: more than can be counted.
    """
    total = sum(cost.micros for cost in costs)
    if total > WHOLE_MAX:
        raise BadValueError(
            f"The charges of {whose} add up to more than {WHOLE_MAX} millionths of {costs[0].currency}: nothing was"
            " taken in."
        )
    return total


def _pay(turn: Turn, step_id: str, attempt: Attempt) -> None:
    """Close what was held because nobody knew whether a failed attempt was charged."""
    step = steps.get(turn.tx, step_id)
    if step.state is not StepState.FAILED or attempt.state is not AttemptState.FAILED:
        return
    before = ledger.money_of_job(turn.tx, step.job_id)
    event = billing(turn.recipe_of(step.job_id).billing, "yes", was_accepted=True)
    if event is None or not before["open"]:
        return
    close_missing(turn, step, event, "the provider's record shows the charge")
    closed = before["held"] - ledger.money_of_job(turn.tx, step.job_id)["held"]
    turn.tell("step.paid", attempt, step.name, {"holds": event, "credits": closed})


def _ask_about_missing(turn: Turn, provider: str, records: Sequence[UsageRecord], done: Reconciled) -> None:
    """Open a case on each attempt that should have been charged in the time that the records cover."""
    moments = [record.charged_at for record in records if record.charged_at is not None]
    if not moments:
        return
    for row in charges.list_uncharged(turn.tx, provider, from_us=min(moments), until_us=max(moments)):
        _ask(turn, row)
        done.uncharged.append(row["id"])


def _ask(turn: Turn, row: Row) -> None:
    attempt = attempts.get(turn.tx, row["id"])
    facts: dict[str, object] = {"reason": "the provider's records don't show it", "ref": row["ref"]}
    open_case(turn, CaseKind.CHARGE, attempt, row["step"], facts)
