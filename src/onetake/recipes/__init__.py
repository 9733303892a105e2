"""The recipes that ship, as TOML files: products made of what the engine offers to all."""

from importlib.resources import files


def list_shipped() -> list[str]:
    """The names of the recipes that ship."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in files(__name__).iterdir() if entry.name.endswith(".toml")
    )


def read_shipped(name: str) -> str:
    """The TOML of a recipe that ships."""
    return (files(__name__) / f"{name}.toml").read_text("utf-8")
