"""Whether a recipe fits the contracts of the providers that it orders from, as far as these say."""

from collections.abc import Iterator, Mapping

from onetake.domain.contract import Contract, Operation
from onetake.domain.recipe import Recipe, Step
from onetake.domain.tables import bad_file, hint


def check_contracts(recipe: Recipe, contracts: Mapping[str, Contract], file: str) -> tuple[str, ...]:
    """What no contract can check, in sentences for people.

    Args:
        recipe: checked in itself.
        contracts: of every provider, by name.
        file: the recipe's name, for messages.

    Raises:
        RecipeError: a provider or an operation isn't there, a field is missing or misspelt; names file and key.
    """
    paid = [(index, step) for index, step in enumerate(recipe.steps) if step.kind == "generate"]
    return tuple(each for index, step in paid for each in _unchecked(index, step, contracts, file))


def _unchecked(index: int, step: Step, contracts: Mapping[str, Contract], file: str) -> Iterator[str]:
    contract = contracts.get(step.provider)
    if contract is None:
        known = f"is no provider{hint(step.provider, contracts)}; known: {', '.join(sorted(contracts))}"
        raise bad_file(file, ("steps", index, "provider"), f'= "{step.provider}" {known}')
    operation = contract.operations.get(step.operation)
    if operation is None:
        known = (
            f"{hint(step.operation, contract.operations)}; its contract lists: {', '.join(sorted(contract.operations))}"
        )
        reason = f'= "{step.operation}" is no operation of {contract.provider}{known}'
        raise bad_file(file, ("steps", index, "operation"), reason)
    for name, most in operation.items_max.items():
        given = step.request.get(name)
        if isinstance(given, list) and len(given) > most:
            reason = f"has {len(given)} items; {contract.provider} {operation.name} takes at most {most}"
            raise bad_file(file, ("steps", index, "request", name), reason)
    strangers = _strangers(index, step, operation, file)
    if strangers:
        named = ", ".join(f"`{name}`" for name in strangers)
        yield f"step {step.name}: {contract.provider}'s contract doesn't know {named}; sent as written"
    yield f"step {step.name}: whether {step.model} takes these fields and their values only {contract.provider} knows"


def _strangers(index: int, step: Step, operation: Operation, file: str) -> list[str]:
    """The fields that the contract doesn't name, none of which looks like one that it does."""
    if not operation.required and not operation.known:
        return []
    place = ("steps", index, "request")
    fields = (*operation.required, *operation.known)
    strangers = [name for name in step.request if name not in fields]
    for name in strangers:
        if meant := hint(name, [field for field in fields if field not in step.request]):
            raise bad_file(file, (*place, name), f"isn't a field of {step.provider} {operation.name}{meant}")
    for name in operation.required:
        if name not in step.request:
            reason = f"is missing: {step.provider} {operation.name} wants it in every request"
            raise bad_file(file, (*place, name), reason)
    return strangers
