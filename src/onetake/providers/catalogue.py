"""The contracts that ship, by their providers' names; kept apart from the wire, whose library takes long to load."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from onetake.domain.contract import Contract, parse_contract
from onetake.domain.errors import RecipeError
from onetake.domain.jsonvalue import shown


@cache
def load_contract(provider: str) -> Contract:
    """The contract that ships for a provider.

    Raises:
        RecipeError: there is none, or its file is wrong.
    """
    file = files("onetake.providers") / "contracts" / f"{provider}.toml"
    if not provider.isidentifier() or not file.is_file():
        raise RecipeError(f"There is no provider {provider!r}; known: {', '.join(list_contracts())}.")
    return parse_contract(file.read_bytes(), f"{provider}.toml")


def contract_of(provider: str, file: str) -> Contract:
    """The provider's contract: that of the file, or the one that ships if none is named.

    Raises:
        RecipeError: there is none, or its file can't be read, is wrong, or is another provider's.
    """
    if not file:
        return load_contract(provider)
    contract = read_contract(file)
    if contract.provider != provider:
        raise RecipeError(f"{shown(file)}: `provider` is {contract.provider}, and {provider} was to be read.")
    return contract


def read_contract(file: str) -> Contract:
    """The contract that stands in a file.

    Raises:
        RecipeError: there is none, or it can't be read or is wrong.
    """
    try:
        text = Path(file).read_bytes()
    except (FileNotFoundError, ValueError):  # ValueError: a NUL in the name
        listed = ", ".join(list_contracts())
        raise RecipeError(f"There is no contract {shown(file)}: known are {listed}, or name a file.") from None
    except OSError as error:
        raise RecipeError(f"The contract file {shown(file)} can't be read ({error.strerror}).") from None
    return parse_contract(text, file)


def read_usage_map(provider: str) -> bytes | None:
    """The map of columns of the provider's usage exports, in TOML; None where none ships."""
    file = files("onetake.providers") / "usage" / f"{provider}.toml"
    return file.read_bytes() if provider.isidentifier() and file.is_file() else None


def list_contracts() -> list[str]:
    """The providers that have a contract."""
    folder = files("onetake.providers") / "contracts"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
