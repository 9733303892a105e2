"""The steps of a recipe file, and whether they fit together: needs, references and handoffs."""

from collections.abc import Mapping
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import assert_never, cast

from onetake.domain.jsonvalue import Json
from onetake.domain.output_fields import FIELDS_BY_KIND, field_fault, length_fault, with_defaults
from onetake.domain.recipe import (
    HANDOFF_WAYS,
    Handoff,
    HandoffWay,
    Input,
    Output,
    Price,
    Repeats,
    Replacement,
    Step,
)
from onetake.domain.references import BadRef, InputRef, ModelRef, OutputRef, Ref, list_refs
from onetake.domain.tables import WHOLE_MAX, Table, hint

REPLACEMENT_REASONS = ("provider_failed",)
"""Final failures that a recipe may buy again after: the provider's own last word, nothing else."""

COUNT_MAX = 2**31 - 1
"""Largest count and length of time in a recipe: what a database's integer holds, and 68 years in seconds."""

OUTPUTS_MAX = 100
"""Most outputs of a recipe: ten times what any provider makes of one request; each is a row with a hold of its own."""

PERCENT_MAX = 1_000_000
"""Largest mark-up: ten thousand times the price; beyond that it is a slip."""

_NEVER_REPLACED = {"input", "moderation"}  # the same request would be refused again, or was refused for what it is
_DEADLINE_S = 900  # most models take 2 to 6 minutes; by a quarter of an hour somebody should look


def read_steps(root: Table, inputs: Mapping[str, Input]) -> tuple[Step, ...]:
    """The recipe's steps in the file's order.

    Raises:
        RecipeError: a step is wrong in itself, or they don't fit together.
    """
    tables = root.tables("steps")
    steps: dict[str, Step] = {}
    for table in tables:
        step = _step(table, inputs)
        if step.name in steps:
            raise table.refuse("is the name of another step", "name")
        steps[step.name] = step
    for table, step in zip(tables, steps.values(), strict=True):
        _check_needs(table, step, steps)
        _check_references(table, step, steps, inputs)
    _check_order(root, steps)
    _check_amounts(root, steps)
    return tuple(steps.values())


def _step(table: Table, inputs: Mapping[str, Input]) -> Step:
    is_paid = table.one_of("kind", ("generate", "process"), "generate") == "generate"
    request = table.value("request") if is_paid or table.has("request") else {}
    if not isinstance(request, dict):
        raise table.refuse("must be a table", "request")
    step = Step(
        name=table.name("name"),
        kind="generate" if is_paid else "process",
        provider=table.name("provider") if is_paid else "",
        operation=table.name("operation"),
        model=table.text("model", pattern=r"\S{1,200}", what="a model's id, without blanks") if is_paid else "",
        needs=table.names("needs", ()),
        deadline_s=table.whole("deadline_s", _DEADLINE_S, at_least=1, at_most=COUNT_MAX),
        request=request,
        handoffs=_handoffs(table.table("handoff"), request),
        repeats=_repeats(table.table("repeats")) if is_paid else Repeats(),
        replacement=_replacement(table.table("replacement")) if is_paid and table.has("replacement") else None,
        price=_price(table.table("price"), inputs) if is_paid and table.has("price") else None,
        outputs=_outputs(table, inputs),
    )
    table.end()
    return step


def _handoffs(table: Table, request: Json) -> tuple[Handoff, ...]:
    """One for each output that the request refers to; the table may only speak of those."""
    refs = dict.fromkeys(ref for _, ref in list_refs(request) if isinstance(ref, OutputRef))
    for step, outputs in table.tables_by_name().items():
        for output in outputs:
            if OutputRef(step=step, output=output) not in refs:
                raise outputs.refuse("isn't referred to in the request", output)
    ways = {ref: table.table(ref.step).one_of(ref.output, HANDOFF_WAYS, "provider_address") for ref in refs}
    return tuple(Handoff(step=ref.step, output=ref.output, way=cast("HandoffWay", way)) for ref, way in ways.items())


def _repeats(table: Table) -> Repeats:
    usual = Repeats()
    repeats = Repeats(
        count_max=table.whole("count_max", usual.count_max, at_most=COUNT_MAX),
        elapsed_s_max=table.whole("elapsed_s_max", usual.elapsed_s_max, at_most=COUNT_MAX),
    )
    table.end()
    return repeats


def _replacement(table: Table) -> Replacement:
    reasons = table.names("reasons")
    if not reasons:
        raise table.refuse("must name at least one reason", "reasons")
    for index, reason in enumerate(reasons):
        if reason in _NEVER_REPLACED:
            raise table.refuse("is never bought again by a rule", "reasons", index)
        if reason not in REPLACEMENT_REASONS:
            raise table.refuse(f"must be one of: {', '.join(REPLACEMENT_REASONS)}", "reasons", index)
    replacement = Replacement(reasons=reasons, count_max=table.whole("count_max", 1, at_least=1, at_most=COUNT_MAX))
    table.end()
    return replacement


def _price(table: Table, inputs: Mapping[str, Input]) -> Price:
    price = Price(
        credits=table.whole("credits", 0),
        spend_micros_max=table.whole("spend_micros_max"),
        currency=table.text("currency", pattern=r"[A-Z]{3}", what='three capitals, such as "USD"'),
        credits_per_s=table.whole("credits_per_s") if table.has("credits_per_s") else None,
        spend_micros_per_s=table.whole("spend_micros_per_s") if table.has("spend_micros_per_s") else None,
        seconds=_seconds(table, inputs) if table.has("seconds") else None,
        percent=_percent(table) if table.has("percent") else None,
    )
    is_timed = price.credits_per_s is not None or price.spend_micros_per_s is not None
    if is_timed and price.seconds is None:
        raise table.refuse("must be given with a price per second: a number, or a reference to an input", "seconds")
    if price.seconds is not None and not is_timed:
        raise table.refuse("says nothing without credits_per_s or spend_micros_per_s", "seconds")
    table.end()
    return price


def _seconds(table: Table, inputs: Mapping[str, Input]) -> Json:
    value = table.value("seconds")
    if fault := length_fault(value, inputs):
        raise table.refuse(fault, "seconds")
    return value


def _percent(table: Table) -> int | Decimal:
    value = table.value("percent")
    if not isinstance(value, int | Decimal) or isinstance(value, bool) or not 0 < value <= PERCENT_MAX:
        raise table.refuse(f"must be a number above 0, at most {PERCENT_MAX}", "percent")
    return value


def _outputs(step: Table, inputs: Mapping[str, Input]) -> tuple[Output, ...]:
    outputs: dict[str, Output] = {}
    for table in step.tables("outputs"):
        name = table.name("name")
        if name in outputs:
            raise table.refuse("is the name of another output of this step", "name")
        outputs[name] = Output(name=name, spec=_spec(table, inputs))
        table.end()
    return tuple(outputs.values())


def _spec(table: Table, inputs: Mapping[str, Input]) -> dict[str, Json]:
    kind = table.one_of("kind", tuple(FIELDS_BY_KIND))
    spec: dict[str, Json] = {"kind": kind}
    for field in FIELDS_BY_KIND[kind]:
        if table.has(field):
            spec[field] = table.value(field)
            if fault := field_fault(field, spec[field], inputs):
                raise table.refuse(fault, field)
    if "duration_s" in spec and "duration_ms" in spec:
        raise table.refuse("says the same as duration_ms; give one of them", "duration_s")
    return with_defaults(spec)


def _check_needs(table: Table, step: Step, steps: Mapping[str, Step]) -> None:
    for index, name in enumerate(step.needs):
        if name not in steps:
            raise table.refuse(f"names no step of this recipe{hint(name, steps)}", "needs", index)


def _check_references(table: Table, step: Step, steps: Mapping[str, Step], inputs: Mapping[str, Input]) -> None:
    for path, ref in list_refs(step.request):
        if fault := _reference_fault(ref, step, steps, inputs):
            raise table.refuse(fault, "request", *path)


def _reference_fault(
    ref: Ref | BadRef, step: Step, steps: Mapping[str, Step], inputs: Mapping[str, Input]
) -> str | None:
    match ref:
        case BadRef():
            return ref.reason
        case InputRef():
            return None if ref.name in inputs else f"refers to no input of this recipe{hint(ref.name, inputs)}"
        case ModelRef():
            return None if step.model else "refers to a model, and a process step has none"
        case OutputRef():
            return _output_fault(ref, step, steps)
        case _:
            assert_never(ref)


def _output_fault(ref: OutputRef, step: Step, steps: Mapping[str, Step]) -> str | None:
    if ref.step not in steps:
        return f"refers to no step of this recipe{hint(ref.step, steps)}"
    if ref.step not in step.needs:
        return f"refers to step `{ref.step}`, which `needs` doesn't name"
    names = [output.name for output in steps[ref.step].outputs]
    return None if ref.output in names else f"refers to no output of step `{ref.step}`{hint(ref.output, names)}"


def _check_order(root: Table, steps: Mapping[str, Step]) -> None:
    try:
        TopologicalSorter({step.name: step.needs for step in steps.values()}).prepare()
    except CycleError as error:
        raise root.refuse("need each other in a circle: " + " -> ".join(error.args[1]), "steps") from None


def _check_amounts(root: Table, steps: Mapping[str, Step]) -> None:
    """Refuse what no job could hold: too many outputs, or a price that is beyond exact whole numbers in all."""
    if (count := sum(len(step.outputs) for step in steps.values())) > OUTPUTS_MAX:
        raise root.refuse(f"have {count} outputs in all; at most {OUTPUTS_MAX} may be expected of a job", "steps")
    priced = [step for step in steps.values() if step.price]
    if sum(step.price.credits * len(step.outputs) for step in priced if step.price) > WHOLE_MAX:
        raise root.refuse(f"cost more than {WHOLE_MAX} in all, by `price.credits` and outputs", "steps")
    if sum(step.price.spend_micros_max * step.buys_max for step in priced if step.price) > WHOLE_MAX:
        raise root.refuse(f"cost more than {WHOLE_MAX} in all, by `price.spend_micros_max` and replacements", "steps")
