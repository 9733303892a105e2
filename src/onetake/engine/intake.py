"""Taking a job: checked, keyed, quoted, held and written in one transaction, or refused with nothing written."""

from collections.abc import Mapping
from dataclasses import dataclass

from onetake.clock import new_id
from onetake.domain.canonical import encode
from onetake.domain.differences import differences
from onetake.domain.errors import BadValueError, KeyConflictError
from onetake.domain.inputs import derive_key, resolve_inputs, validate_key
from onetake.domain.jsonvalue import Json
from onetake.domain.output_fields import ExpectedOutput, expected_outputs
from onetake.domain.recipe import Recipe, Step
from onetake.domain.request import job_request_hash
from onetake.engine.settling import open_gates
from onetake.engine.turn import Turn
from onetake.store import accounts, artifacts, jobs, ledger, recipes, steps
from onetake.store.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request that has been checked and can be written.

    Attributes:
        source: the recipe's TOML, kept with the job.
        inputs: declared defaults included.
        key: stands for this request in its account, for ever.
    """

    recipe: Recipe
    source: str
    inputs: dict[str, Json]
    key: str
    request_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The job that stands for an order; `is_new` is False when it stood before."""

    job_id: str
    key: str
    is_new: bool


def prepare(recipe: Recipe, source: str, *, inputs: Mapping[str, object], key: object = None) -> Order:
    """The order that these inputs make.

    Args:
        recipe: what is ordered.
        source: the recipe's TOML.
        inputs: as the caller gave them.
        key: the caller's own key; None derives it from the recipe's key fields.

    Raises:
        BadValueError: an input or the key can't be taken, or the recipe has a step that this version can't run.
    """
    for step in recipe.steps:
        if step.kind != "generate":
            raise BadValueError(f"Recipe {recipe.name} has the local step {step.name!r}, which this version can't run.")
        for handoff in step.handoffs:
            if handoff.way != "provider_address":
                raise BadValueError(
                    f"Recipe {recipe.name} hands {handoff.output!r} over by {handoff.way}, which this version can't do:"
                    " use provider_address."
                )
    resolved = resolve_inputs(recipe, inputs)
    return Order(
        recipe=recipe,
        source=source,
        inputs=resolved,
        key=derive_key(recipe, resolved) if key is None else validate_key(key),
        request_hash=job_request_hash(recipe, resolved),
    )


def accept(turn: Turn, order: Order) -> Taken:
    """The job for the order: a new one, or the one that stands under its key for the same request.

    Raises:
        KeyConflictError: the key stands for another request; names the fields that differ.
        RecipeError: the recipe's name and version stand for other content.
    """
    account_id = accounts.ensure_embedded(turn.tx)
    standing = jobs.find_by_key(turn.tx, account_id, order.key)
    if standing is not None:
        if standing["request_hash"] != order.request_hash:
            raise _conflict(turn.tx, standing, order)
        return Taken(job_id=standing["id"], key=order.key, is_new=False)
    recipe = order.recipe
    recipes.record(
        turn.tx,
        name=recipe.name,
        version=recipe.version,
        digest=recipe.hash,
        content=recipe.canonical,
        source=order.source,
    )
    return Taken(job_id=_insert(turn, order, account_id), key=order.key, is_new=True)


def _conflict(tx: Tx, standing: Mapping[str, object], order: Order) -> KeyConflictError:
    old = jobs.get_inputs(tx, str(standing["id"]))
    fields = {f"/inputs{place}": change for place, change in differences(old, order.inputs).items()}
    before = f"{standing['recipe_name']} {standing['recipe_version']}"
    if standing["recipe_hash"] != order.recipe.hash:
        fields["/recipe"] = f"is {order.recipe.name} {order.recipe.version}, was {before}"
    changed = ", ".join(fields)
    return KeyConflictError(
        f"The key {order.key[:80]!r} stands for another request (job {standing['id']}); it differs in {changed}:"
        " use another key for an intended second job.",
        fields=fields,
    )


def _insert(turn: Turn, order: Order, account_id: str) -> str:
    recipe, tx = order.recipe, turn.tx
    job_id, quote_id = new_id("job", turn.clock), new_id("qte", turn.clock)
    wanted = expected_outputs(recipe, order.inputs)
    ledger.insert_quote(tx, quote_id, account_id=account_id, recipe_hash=recipe.hash, request_hash=order.request_hash)
    jobs.insert(
        tx,
        job_id=job_id,
        account_id=account_id,
        key=order.key,
        quote_id=quote_id,
        recipe=(recipe.name, recipe.version, recipe.hash),
        request_hash=order.request_hash,
        expected=len(wanted),
        inputs_json=encode(order.inputs).decode(),
    )
    told = {"recipe": f"{recipe.name} {recipe.version}", "expected": len(wanted), "held": 0}
    turn.tell("job.created", job_id, data=told)
    for position, step in enumerate(recipe.steps):
        outputs = [output for output in wanted if output.step == step.name]
        _insert_step(turn, step, position, outputs, owner=ledger.Owner(account_id, quote_id, job_id))
    open_gates(turn, recipe, job_id)
    return job_id


def _insert_step(turn: Turn, step: Step, position: int, outputs: list[ExpectedOutput], *, owner: ledger.Owner) -> None:
    """The step, its expected outputs with a hold for each, and what it may cost at the provider at worst."""
    tx, clock, job_id = turn.tx, turn.clock, owner.job_id
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
    spend_micros = step.price.spend_micros_max if step.price else 0
    currency = step.price.currency if step.price else ""
    for output in outputs:
        line = ledger.Line(
            step_name=step.name,
            output_name=output.name,
            ordinal=output.ordinal,
            credits_max=0,  # plan `none`: the same path with a hold of nothing
            spend_micros_max=spend_micros,
            currency=currency,
        )
        hold_id = ledger.hold(tx, clock, line, owner)
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
    buys_max = 1 + (step.replacement.count_max if step.replacement else 0)
    ledger.reserve(
        tx,
        clock,
        job_id=job_id,
        step_id=step_id,
        provider=step.provider,
        currency=currency,
        amount_micros=spend_micros * len(outputs) * buys_max,
        requests=buys_max,
    )
