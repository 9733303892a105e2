"""`onetake contract`: what each provider promises, and what that means for a lost answer."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onetake.cli.printing import Json, emit, say
from onetake.domain.errors import BadValueError, SurroundingsError

if TYPE_CHECKING:
    from onetake.domain.contract import Contract

Which = Annotated[str, typer.Argument(metavar="PROVIDER", help="A provider's name, or a contract file.")]

group = typer.Typer(help="What providers promise about lost answers, and what follows.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="contract")


@group.command("list")
def list_(*, is_json: Json = False) -> None:
    """List the providers with what their contracts promise about lost answers."""
    from onetake.domain.contract_words import STALE_DAYS, age_days
    from onetake.opening import load_settings
    from onetake.providers.catalogue import contract_of, list_contracts

    settings = load_settings()
    for name in list_contracts():
        contract, file = contract_of(name, settings.provider(name).contract), settings.provider(name).contract
        age = age_days(contract, _today())
        if is_json:
            emit({**_told(contract), "file": file or None, "age_days": age})
            continue
        old = f", {age} days ago: read it again" if age > STALE_DAYS else ""
        source = f" (from {file})" if file else ""
        say(
            f"{name}{source}  {', '.join(sorted(contract.operations))}; idempotency {contract.idempotency.kind},"
            f" lookup {contract.lookup.kind}; read on {contract.verified_on}{old}"
        )


@group.command("explain")
def explain(which: Which, *, is_json: Json = False) -> None:
    """Say in plain words what happens if the answer to a paid POST is lost now, and on whose word."""
    from onetake.domain import contract_words

    contract = _read(which)
    sentences = contract_words.explain(contract, _today())
    if is_json:
        emit({**_told(contract), "sentences": sentences})
        return
    say(f"If the answer to a paid POST to {contract.provider} is lost now:")
    for no, sentence in enumerate(sentences, start=1):
        say(f"  {no}. {sentence}")


@group.command("check")
def check(which: Which, *, is_json: Json = False) -> None:
    """Look for what is old, has run out or contradicts itself, and for what the provider doesn't say.

    Ends with 1 if something should be mended; what the provider doesn't say is only told.
    """
    from onetake.domain.contract_words import find_faults

    contract = _read(which)
    found = find_faults(contract, _today())
    for finding in found:
        if is_json:
            emit({"provider": contract.provider, "fault": finding.is_fault, "says": finding.says})
        else:
            say(f"{'FAULT' if finding.is_fault else 'gap  '}  {finding.says}")
    if any(finding.is_fault for finding in found):
        raise typer.Exit(1)
    if not is_json:
        say(f"{contract.provider}: the contract fits together.")


@group.command("init")
def init(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="The new provider's name: a-z, 0-9 and _.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to; else PROVIDER.toml.")] = None,
    *,
    is_json: Json = False,
) -> None:
    """Write the form of a new contract, in which nothing is promised yet."""
    from onetake.domain.jsonvalue import shown
    from onetake.domain.tables import NAME
    from onetake.providers.contract_form import new_contract

    if not re.fullmatch(NAME, provider):
        raise BadValueError(f"{shown(provider)} can't be a provider's name: give a-z, 0-9 and _, a letter first.")
    path = out or Path(f"{provider}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(new_contract(provider, _today()))
    except FileExistsError:
        raise BadValueError(f"{shown(str(path))} is there already: name another with --out.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise SurroundingsError(f"{shown(str(path))} can't be written ({why}): name another with --out.") from None
    told = {"provider": provider, "file": str(path)}
    emit(told) if is_json else say(
        f"{path} promises nothing yet; `onetake contract check {path}` says what is missing."
    )


def _read(which: str) -> "Contract":
    """The contract of a provider as the settings have it, or of a file."""
    from onetake.opening import load_settings
    from onetake.providers.catalogue import contract_of, list_contracts, read_contract

    if which in list_contracts():
        return contract_of(which, load_settings().provider(which).contract)
    return read_contract(which)


def _told(contract: "Contract") -> dict[str, object]:
    return {
        "provider": contract.provider,
        "version": contract.version,
        "operations": sorted(contract.operations),
        "idempotency": contract.idempotency.kind,
        "lookup": contract.lookup.kind,
        "verified_on": contract.verified_on,
        "evidence": list(contract.evidence),
    }


def _today() -> str:
    from onetake.clock import SystemClock
    from onetake.domain.recovering import day_of

    return day_of(SystemClock().now_us())
