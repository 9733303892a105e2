"""`onetake reconcile`: the provider's own records beside ours."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onetake.cli.asking import act, read_over_all
from onetake.cli.files import read_whole
from onetake.cli.printing import Json, emit, say, when
from onetake.domain.amounts import told_micros
from onetake.domain.errors import BadValueError, RecipeError
from onetake.domain.roles import Act

if TYPE_CHECKING:
    from onetake.domain.usage import UsageMap

EXPORT_BYTES_MAX = 268_435_456
"""Largest export: a million records of some 200 bytes."""

group = typer.Typer(help="Compare with what the provider says that it charged.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="reconcile")


@group.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The provider's usage export, in CSV or JSON.")],
    provider: Annotated[
        str, typer.Option("--provider", metavar="NAME", help="Whose export; its shipped map of columns is used.")
    ] = "reapi",
    map_file: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="A map of columns of your own, in TOML.")
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """Take in a usage export.

    Charges that fit are settled by what they cost. Charges that no attempt is known for, attempts that should have been
    charged in that time and weren't, and attempts that were charged otherwise than was known or ordered are each a
    case. The same file again changes nothing; no record proves that nothing was charged.
    """
    from onetake.domain.usage import read_usage
    from onetake.engine import reconciling

    usage_map = _read_map(provider, map_file)
    data = _read(file)
    records = read_usage(data, usage_map, file.name)
    digest = hashlib.sha256(data).hexdigest()
    done = act(reconciling.import_usage, usage_map.provider, file.name, digest, records)
    if is_json:
        emit(
            {
                "new": done.is_new,
                "records": done.records,
                "matched": done.matched,
                "orphans": done.orphans,
                "uncharged": done.uncharged,
                "disputed": done.disputed,
                "changed": done.changed,
            }
        )
        return
    if not done.is_new:
        say("This very file was imported before; nothing was changed.")
        return
    say(f"{done.records} charges: {len(done.matched)} are for attempts of ours, {len(done.orphans)} for none known.")
    if done.orphans:
        say("  `onetake reconcile list` shows those; attach the id of one with `onetake attach JOB PROVIDER_ID`.")
    if done.uncharged:
        say(f"{len(done.uncharged)} attempts of that time were not charged, as far as this file goes; each is a case.")
    if done.disputed:
        say(f"{len(done.disputed)} attempts were charged otherwise than was known or ordered; each is a case.")
    if done.changed:
        say(f"{len(done.changed)} records stand already with other content, and stay as they were.")


@group.command("list")
def list_(*, is_json: Json = False) -> None:
    """List the charges that no attempt is known for."""
    from onetake.store import charges

    found = read_over_all(charges.list_orphans, Act.RECONCILE)
    for row in found:
        if is_json:
            emit(row)
            continue
        amount = told_micros(row["amount_micros"], row["currency"])
        ref = row["ref"] or "no id"
        say(f"{row['provider']}  {ref}  {row['model']}  {amount}  {when(row['charged_at'])}  case {row['case_id']}")
    if not found and not is_json:
        say("Every charge that was imported is for an attempt of ours.")


def _read_map(provider: str, file: Path | None) -> "UsageMap":
    from onetake.domain.usage import parse_map
    from onetake.providers.catalogue import list_contracts, read_usage_map

    if file is None:
        source = read_usage_map(provider)
        if source is None:
            raise RecipeError(f"No map of columns ships for {provider!r}: give one with --map FILE.")
        return parse_map(source, f"{provider}.toml")
    usage_map = parse_map(_read(file), file.name)
    if usage_map.provider not in list_contracts():
        listed = ", ".join(list_contracts())
        raise RecipeError(f"{file.name}: `provider` names no provider; known are {listed}.")
    return usage_map


def _read(file: Path) -> bytes:
    try:
        return read_whole(file, size_bytes_max=EXPORT_BYTES_MAX)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise BadValueError(f"{file} can't be read ({why}).") from None
