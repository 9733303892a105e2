"""The contracts that ship, by their providers' names; kept apart from the wire, whose library takes long to load."""

from functools import cache
from importlib.resources import files

from onetake.domain.contract import Contract, parse_contract
from onetake.domain.errors import RecipeError


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


def read_usage_map(provider: str) -> bytes | None:
    """The map of columns of the provider's usage exports, in TOML; None where none ships."""
    file = files("onetake.providers") / "usage" / f"{provider}.toml"
    return file.read_bytes() if provider.isidentifier() and file.is_file() else None


def list_contracts() -> list[str]:
    """The providers that have a contract."""
    folder = files("onetake.providers") / "contracts"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
