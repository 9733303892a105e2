"""Recipes as they were when a job was made from them: name and version stand for one content for ever."""

from onetake.domain.errors import RecipeError
from onetake.store.database import Tx


def record(tx: Tx, *, name: str, version: int, digest: str, content: str, source: str) -> None:
    """Keep the recipe; the same one again changes nothing.

    Raises:
        RecipeError: this name and version stand for other content.
    """
    tx.put(
        "INSERT INTO recipes (name, version, hash, content, source, created_at)"
        " VALUES (:name, :version, :hash, :content, :source, :now) ON CONFLICT DO NOTHING",
        {"name": name, "version": version, "hash": digest, "content": content, "source": source, "now": tx.now_us},
    )
    kept = tx.one(
        "SELECT hash FROM recipes WHERE name = :name AND version = :version", {"name": name, "version": version}
    )
    if kept is None or kept["hash"] != digest:
        raise RecipeError(
            f"Recipe {name} version {version} is already in use with other content:"
            " give the changed recipe a new version."
        )


def get_source(tx: Tx, digest: str) -> str:
    """The recipe's TOML as it was given, by the hash of its content."""
    row = tx.one("SELECT source FROM recipes WHERE hash = :hash", {"hash": digest})
    if row is None:
        raise LookupError(digest)
    return str(row["source"])
