"""Routes: one operation of one provider account, and how it has answered lately. No row, or no count: all is well."""

from onetake.domain.pacing import RoutePace
from onetake.store.database import Tx

Route = tuple[str, str]
"""Provider account and operation."""


def name_of(route: Route) -> str:
    """What a route is called, in alarms and lists."""
    return "/".join(route)


def get(tx: Tx, route: Route) -> RoutePace:
    """How it answers; a caller that writes has its row to itself until the transaction ends."""
    provider, operation = route
    tx.put(
        "INSERT INTO routes (provider, operation) VALUES (:provider, :operation) ON CONFLICT DO NOTHING",
        {"provider": provider, "operation": operation},
    )
    row = tx.one(
        "SELECT r.unknowns, r.pause_s, r.paused_until FROM routes r"
        f" WHERE r.provider = :provider AND r.operation = :operation{tx.locking('r')}",
        {"provider": provider, "operation": operation},
    )
    return RoutePace(**(row or {}))


def put(tx: Tx, route: Route, pace: RoutePace) -> None:
    """Keep how it answers."""
    tx.put(
        "UPDATE routes SET unknowns = :unknowns, pause_s = :pause_s, paused_until = :until"
        " WHERE provider = :provider AND operation = :operation",
        {
            "unknowns": pace.unknowns,
            "pause_s": pace.pause_s,
            "until": pace.paused_until,
            "provider": route[0],
            "operation": route[1],
        },
    )


def reopen(tx: Tx, route: Route) -> None:
    """It answered clearly. Changes nothing where all was well."""
    tx.put(
        "UPDATE routes SET unknowns = 0, pause_s = 0, paused_until = NULL"
        " WHERE provider = :provider AND operation = :operation AND unknowns > 0",
        {"provider": route[0], "operation": route[1]},
    )


def list_paused(tx: Tx) -> dict[Route, int]:
    """Until when each route that isn't open takes nothing at all; from then on it takes one probe at a time."""
    rows = tx.all("SELECT provider, operation, paused_until FROM routes WHERE paused_until IS NOT NULL")
    return {(row["provider"], row["operation"]): row["paused_until"] for row in rows}


def is_in_use(tx: Tx, route: Route) -> bool:
    """Whether a send on the route may be in the air."""
    return bool(
        tx.one(
            "SELECT 1 AS found FROM attempts"
            " WHERE state = 'submitting' AND provider = :provider AND operation = :operation LIMIT 1",
            {"provider": route[0], "operation": route[1]},
        )
    )


def take_turn(tx: Tx, route: Route) -> bool:
    """Whether the caller alone may send on the route before this transaction ends."""
    return bool(
        tx.one(
            "SELECT r.provider FROM routes r"
            f" WHERE r.provider = :provider AND r.operation = :operation{tx.locking('r', skip=True)}",
            {"provider": route[0], "operation": route[1]},
        )
    )
