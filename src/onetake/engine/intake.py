"""Taking a job: checked, keyed, quoted, held and written in one transaction, or refused with nothing written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onetake.clock import new_id
from onetake.domain.canonical import encode
from onetake.domain.differences import differences
from onetake.domain.errors import KeyConflictError, PriceError
from onetake.domain.output_fields import ExpectedOutput, expected_outputs
from onetake.domain.pricing import NO_CREDITS, QuoteLine, quote_lines, worst_of
from onetake.domain.recipe import Step
from onetake.domain.roles import Act
from onetake.engine.members import Member
from onetake.engine.orders import OPEN, Order, Requoted, Taken, Terms
from onetake.engine.quoting import check_consent, check_quote, found_quote, quoted_as, record_recipe
from onetake.engine.settling import open_gates
from onetake.engine.turn import Turn
from onetake.store import allowances, artifacts, jobs, ledger, quotes, steps
from onetake.store.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """What was agreed on: the quote, its lines by what they are for, and the outputs that they pay for."""

    quote_id: str
    outputs: tuple[ExpectedOutput, ...]
    lines: Sequence[QuoteLine]
    line_ids: Mapping[quotes.Place, str]


def accept(turn: Turn, order: Order, terms: Terms = OPEN) -> Taken:
    """The job for the order: a new one, or the one that stands under its key for the same request.

    A new one stands with its holds and a quote that is accepted as it is made, in one transaction, or nothing does.

    Raises:
        NotFoundError: there is no such account.
        RoleError: the person may not order there.
        KeyConflictError: the key stands for another request; names the fields that differ.
        RecipeError: the recipe's name and version stand for other content.
        ConsentError: what has to be agreed to wasn't.
        PriceError: it may cost more than was agreed to.
        NotEnoughCreditsError: it may cost more than the account has available.
    """
    member = turn.member(Act.ORDER)
    standing = _find_standing(turn.tx, member, order)
    if standing is not None:
        return standing
    record_recipe(turn, order)
    check_consent(order.recipe, terms.consent)
    outputs, lines = _price(member, order)
    _check_accepted(sum(line.credits_max for line in lines), member, terms)
    quote_id = new_id("qte", turn.clock)
    quoted = quoted_as(order, member, consent_version=terms.consent or "")
    quotes.insert(turn.tx, quote_id, quoted, is_accepted=True)
    line_ids = quotes.insert_lines(turn.tx, turn.clock, quote_id, lines)
    return _buy(turn, order, member, Purchase(quote_id=quote_id, outputs=outputs, lines=lines, line_ids=line_ids))


def accept_quote(turn: Turn, order: Order, quote_id: str, *, consent: str | None = None) -> Taken | Requoted:
    """The job for the order, on the terms of a quote; `Requoted` where its time is over, or what it was made for moved.

    Then nothing is held, and somebody has to look at the new quote. A quote is accepted once.

    Raises:
        NotFoundError: there is no such account, or no such quote of it.
        QuoteUsedError: the quote was accepted before.
        Otherwise as `accept`.
    """
    member = turn.member(Act.ORDER)
    quoted = quotes.find(turn.tx, member.account_id, quote_id)  # first: of two at once, one sees what the other did
    standing = _find_standing(turn.tx, member, order)
    if standing is not None:
        return standing
    record_recipe(turn, order)
    outputs, lines = _price(member, order)
    moved = check_quote(turn, member, order, lines, found_quote(quoted, quote_id))
    if moved is not None:
        return moved
    check_consent(order.recipe, consent)
    if not quotes.accept(turn.tx, quote_id, consent_version=consent or ""):
        raise AssertionError(f"quote {quote_id} was accepted by somebody else while it was ours")
    line_ids = quotes.lines_by_place(quotes.list_lines(turn.tx, quote_id))
    return _buy(turn, order, member, Purchase(quote_id=quote_id, outputs=outputs, lines=lines, line_ids=line_ids))


def _find_standing(tx: Tx, member: Member, order: Order) -> Taken | None:
    standing = jobs.find_by_key(tx, member.account_id, order.key)
    if standing is None:
        return None
    if (standing["request_hash"], standing["campaign"]) != (order.request_hash, order.campaign):
        raise _conflict(tx, standing, order)
    return Taken(job_id=standing["id"], key=order.key, is_new=False, held=0)


def _price(member: Member, order: Order) -> tuple[tuple[ExpectedOutput, ...], list[QuoteLine]]:
    outputs = expected_outputs(order.recipe, order.inputs)
    return outputs, quote_lines(order.recipe, order.inputs, outputs, plan=member.plan)


def _buy(turn: Turn, order: Order, member: Member, purchase: Purchase) -> Taken:
    cost = sum(line.credits_max for line in purchase.lines)
    job_id = _insert(turn, order, member, purchase)
    if cost:  # last: whoever else orders for the account waits from here until the commit
        ledger.take(turn.tx, member.account_id, cost)
    return Taken(job_id=job_id, key=order.key, is_new=True, held=cost)


def _check_accepted(cost: int, member: Member, terms: Terms) -> None:
    if member.plan == NO_CREDITS:
        return
    if terms.accept_up_to is None:
        raise PriceError(
            f"This costs up to {cost} credits: accept that with --accept-up-to {cost}, or make a quote first with"
            " `onetake quote`; nothing was ordered, nothing is held."
        )
    if cost > terms.accept_up_to:
        raise PriceError(
            f"This costs up to {cost} credits, and up to {terms.accept_up_to} were accepted:"
            " nothing was ordered, nothing is held."
        )


def _conflict(tx: Tx, standing: Mapping[str, object], order: Order) -> KeyConflictError:
    old = jobs.get_inputs(tx, str(standing["id"]))
    fields = {f"/inputs{place}": change for place, change in differences(old, order.inputs).items()}
    before = f"{standing['recipe_name']} {standing['recipe_version']}"
    if standing["recipe_hash"] != order.recipe.hash:
        fields["/recipe"] = f"is {order.recipe.name} {order.recipe.version}, was {before}"
    if standing["campaign"] != order.campaign:
        fields["/campaign"] = f"is {order.campaign or 'none'}, was {standing['campaign'] or 'none'}"
    changed = ", ".join(fields)
    return KeyConflictError(
        f"The key {order.key[:80]!r} stands for another request (job {standing['id']}); it differs in {changed}:"
        " use another key for an intended second job.",
        fields=fields,
    )


def _insert(turn: Turn, order: Order, member: Member, purchase: Purchase) -> str:
    recipe, tx = order.recipe, turn.tx
    job_id = new_id("job", turn.clock)
    jobs.insert(
        tx,
        job_id=job_id,
        account_id=member.account_id,
        key=order.key,
        quote_id=purchase.quote_id,
        campaign=order.campaign,
        recipe=(recipe.name, recipe.version, recipe.hash),
        request_hash=order.request_hash,
        expected=len(purchase.outputs),
        inputs_json=encode(order.inputs).decode(),
    )
    told = {
        "recipe": f"{recipe.name} {recipe.version}",
        "expected": len(purchase.outputs),
        "held": sum(line.credits_max for line in purchase.lines),
    }
    turn.tell("job.created", job_id, data=told)
    for position, step in enumerate(recipe.steps):
        _insert_step(turn, step, position, order, owner=(job_id, member.account_id), purchase=purchase)
    open_gates(turn, recipe, job_id)
    return job_id


def _insert_step(
    turn: Turn, step: Step, position: int, order: Order, *, owner: tuple[str, str], purchase: Purchase
) -> None:
    """The step, its expected outputs with a hold for each, and what it may cost at the provider at worst."""
    tx, clock, (job_id, account_id) = turn.tx, turn.clock, owner
    step_id = new_id("stp", clock)
    steps.insert(
        tx,
        step_id=step_id,
        job_id=job_id,
        name=step.name,
        position=position,
        provider=step.provider,
        operation=step.operation,
        model=step.model,
        deadline_s=step.deadline_s,
    )
    for output, line in zip(purchase.outputs, purchase.lines, strict=True):
        if output.step != step.name:
            continue
        hold_id = ledger.hold(
            tx,
            clock,
            job_id=job_id,
            account_id=account_id,
            line_id=purchase.line_ids[output.step, output.name, output.ordinal],
            amount=line.credits_max,
            actor=turn.actor,
        )
        artifacts.insert_expected(
            tx,
            clock,
            job_id=job_id,
            step_id=step_id,
            hold_id=hold_id,
            name=output.name,
            ordinal=output.ordinal,
            spec=output.spec,
        )
    worst = worst_of(step, order.inputs)
    allowances.insert(tx, clock, worst, job_id=job_id, step_id=step_id, provider=step.provider)
