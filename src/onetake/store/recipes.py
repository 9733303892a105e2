"""Recipes as they were when a job was made from them: name and version stand for one content for ever."""

import json
from typing import Any

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


def is_kept(tx: Tx, digest: str) -> bool:
    """Whether a recipe whose content has this hash is kept."""
    return tx.one("SELECT 1 AS found FROM recipes WHERE hash = :hash", {"hash": digest}) is not None


def is_known(tx: Tx, name: str) -> bool:
    """Whether any version of the recipe was ever ordered or quoted."""
    return tx.one("SELECT 1 AS found FROM recipes WHERE name = :name LIMIT 1", {"name": name}) is not None


def get_newest(tx: Tx, name: str) -> str:
    """The TOML of the newest version of the recipe that was ever ordered or quoted."""
    row = tx.one("SELECT source FROM recipes WHERE name = :name ORDER BY version DESC LIMIT 1", {"name": name})
    if row is None:
        raise LookupError(name)
    return str(row["source"])


def get_source(tx: Tx, digest: str) -> str:
    """The recipe's TOML as it was given, by the hash of its content."""
    row = tx.one("SELECT source FROM recipes WHERE hash = :hash", {"hash": digest})
    if row is None:
        raise LookupError(digest)
    return str(row["source"])


def get_content(tx: Tx, digest: str) -> dict[str, Any]:
    """The recipe's content as JSON, by its hash."""
    row = tx.one("SELECT content FROM recipes WHERE hash = :hash", {"hash": digest})
    if row is None:
        raise LookupError(digest)
    content: dict[str, Any] = json.loads(row["content"])
    return content


def list_step_names(tx: Tx) -> list[str]:
    """The names of the steps of every recipe that was ordered."""
    rows = tx.all("SELECT content FROM recipes")
    return sorted({str(step["name"]) for row in rows for step in json.loads(row["content"])["steps"]})
