"""Quotes: what an order costs at most, frozen with what it was made for; accepted once, by the job that it becomes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onetake.clock import Clock, new_id
from onetake.domain.pricing import QuoteLine
from onetake.store.database import Row, Tx

Place = tuple[str, str, int]
"""Step, output and ordinal of a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """What a quote freezes.

    Attributes:
        price_version: names the prices that it was made with.
        consent_version: the wording that has to be agreed to; empty where there is none.
        expires_at: microseconds since 1970 UTC; None for one that is accepted as it is made.
    """

    account_id: str
    recipe_hash: str
    request_hash: str
    price_version: str
    consent_version: str
    expires_at: int | None = None


def insert(tx: Tx, quote_id: str, quoted: Quoted, *, is_accepted: bool) -> None:
    """A quote: one that is accepted as it is made, or one that waits."""
    tx.put(
        "INSERT INTO quotes (id, account_id, recipe_hash, request_hash, price_version, consent_version, created_at,"
        " expires_at, accepted_at) VALUES (:id, :account, :recipe, :request, :price, :consent, :now, :expires,"
        " :accepted)",
        {
            "id": quote_id,
            "account": quoted.account_id,
            "recipe": quoted.recipe_hash,
            "request": quoted.request_hash,
            "price": quoted.price_version,
            "consent": quoted.consent_version,
            "now": tx.now_us,
            "expires": quoted.expires_at,
            "accepted": tx.now_us if is_accepted else None,
        },
    )


def insert_request(
    tx: Tx, quote_id: str, *, recipe: tuple[str, int], inputs: str, input_digests: str, actor: str
) -> None:
    """What a waiting quote was made for. `recipe` is name and version; the rest is JSON."""
    tx.put(
        "INSERT INTO quote_requests (quote_id, recipe_name, recipe_version, inputs, input_digests, actor)"
        " VALUES (:id, :name, :version, :inputs, :digests, :actor)",
        {
            "id": quote_id,
            "name": recipe[0],
            "version": recipe[1],
            "inputs": inputs,
            "digests": input_digests,
            "actor": actor,
        },
    )


def insert_lines(tx: Tx, clock: Clock, quote_id: str, lines: Iterable[QuoteLine]) -> dict[Place, str]:
    """The ids of the quote's lines, which are written."""
    ids = {}
    for line in lines:
        line_id = ids[line.step_name, line.output_name, line.ordinal] = new_id("qln", clock)
        tx.put(
            "INSERT INTO quote_lines (id, quote_id, step_name, output_name, ordinal, credits_max, spend_micros_max,"
            " currency) VALUES (:id, :quote, :step, :output, :ordinal, :credits, :spend, :currency)",
            {
                "id": line_id,
                "quote": quote_id,
                "step": line.step_name,
                "output": line.output_name,
                "ordinal": line.ordinal,
                "credits": line.credits_max,
                "spend": line.spend_micros_max,
                "currency": line.currency,
            },
        )
    return ids


def find(tx: Tx, account_id: str, quote_id: str) -> Row | None:
    """The account's quote with its request and the job that it became; one accepted as it was made has no request.

    A caller that accepts it has its row to itself until the transaction ends.
    """
    return tx.one(
        "SELECT q.*, r.recipe_name, r.recipe_version, r.inputs, r.input_digests, r.actor, j.id AS job_id FROM quotes q"
        " LEFT JOIN quote_requests r ON r.quote_id = q.id LEFT JOIN jobs j ON j.quote_id = q.id"
        f" WHERE q.id = :id AND q.account_id = :account{tx.locking('q')}",
        {"id": quote_id, "account": account_id},
    )


def list_lines(tx: Tx, quote_id: str) -> list[Row]:
    """The quote's lines, one for each expected output."""
    return tx.all(
        "SELECT id, step_name, output_name, ordinal, credits_max, spend_micros_max, currency FROM quote_lines"
        " WHERE quote_id = :id ORDER BY id",
        {"id": quote_id},
    )


def accept(tx: Tx, quote_id: str, *, consent_version: str) -> bool:
    """Whether the quote was waiting, its time not over, and is accepted now."""
    return bool(
        tx.do(
            "UPDATE quotes SET accepted_at = :now, consent_version = :consent"
            " WHERE id = :id AND accepted_at IS NULL AND expires_at > :now",
            {"now": tx.now_us, "consent": consent_version, "id": quote_id},
        )
    )


def lines_by_place(rows: Iterable[Mapping[str, object]]) -> dict[Place, str]:
    """The ids of lines, by what they are for."""
    return {(str(row["step_name"]), str(row["output_name"]), int(str(row["ordinal"]))): str(row["id"]) for row in rows}
