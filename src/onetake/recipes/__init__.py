"""The recipes that ship, as TOML files: products made of what the engine offers to all."""

from importlib.resources import files
from pathlib import Path

from onetake.domain.errors import RecipeError
from onetake.domain.jsonvalue import shown


def list_shipped() -> list[str]:
    """The names of the recipes that ship."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in files(__name__).iterdir() if entry.name.endswith(".toml")
    )


def read_shipped(name: str) -> str:
    """The TOML of a recipe that ships."""
    return (files(__name__) / f"{name}.toml").read_text("utf-8")


def find_recipe(name_or_file: str) -> tuple[str, str]:
    """The TOML of a recipe that ships, by its name, or of a file; and what to call it in messages.

    Raises:
        RecipeError: there is neither, or the file can't be read.
    """
    if name_or_file in list_shipped():
        return read_shipped(name_or_file), f"{name_or_file}.toml"
    path = Path(name_or_file)
    try:
        return path.read_text("utf-8"), path.name
    except (FileNotFoundError, ValueError) as error:  # ValueError: a NUL in the name, or bytes that aren't UTF-8
        if isinstance(error, UnicodeDecodeError):
            raise RecipeError(f"{path.name} isn't UTF-8: byte {error.start + 1} can't be decoded.") from None
        listed = ", ".join(list_shipped())
        raise RecipeError(f"There is no recipe {shown(name_or_file)!r}; shipped: {listed}, or name a file.") from None
    except OSError as error:
        raise RecipeError(f"The recipe file {name_or_file} can't be read ({error.strerror}).") from None
