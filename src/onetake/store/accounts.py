"""Accounts own jobs, credits and files; persons act on them by their roles.

An embedded account with an embedded owner is there, so that nobody has to make one first.
"""

from collections.abc import Mapping
from typing import cast

from onetake.clock import Clock, new_id
from onetake.domain.canonical import encode
from onetake.domain.jsonvalue import Json
from onetake.domain.states import Role
from onetake.store.database import Row, Tx

EMBEDDED = "acc_default"
EMBEDDED_NAME = "default"
EMBEDDED_NAMES = (EMBEDDED_NAME, EMBEDDED)
OWNER = "per_owner"
OWNER_NAME = "owner"


def ensure_embedded(tx: Tx) -> str:
    """The embedded account's id; made on first use, under plan `none`, with its owner."""
    tx.put(
        "INSERT INTO accounts (id, name, plan, created_at) VALUES (:id, :name, 'none', :now)"
        " ON CONFLICT (name) DO NOTHING",
        {"id": EMBEDDED, "name": EMBEDDED_NAME, "now": tx.now_us},
    )
    tx.put(
        "INSERT INTO persons (id, name, created_at) VALUES (:id, :name, :now) ON CONFLICT (name) DO NOTHING",
        {"id": OWNER, "name": OWNER_NAME, "now": tx.now_us},
    )
    join(tx, EMBEDDED, OWNER, Role.OWNER)
    return EMBEDDED


def insert(tx: Tx, clock: Clock, *, name: str, plan: str, zone: str) -> str:
    """The id of a new account.

    Raises:
        ConstraintError: the name is taken.
    """
    account_id = new_id("acc", clock)
    tx.put(
        "INSERT INTO accounts (id, name, plan, zone, created_at) VALUES (:id, :name, :plan, :zone, :now)",
        {"id": account_id, "name": name, "plan": plan, "zone": zone, "now": tx.now_us},
    )
    return account_id


def find(tx: Tx, name: str) -> Row | None:
    """The account of that name or id: `id`, `name`, `plan`, `zone`, `created_at`."""
    return tx.one("SELECT * FROM accounts WHERE name = :name OR id = :name", {"name": name})


def find_member(tx: Tx, account: str, person: str) -> list[Row]:
    """The account of that name or id with each `role` that the person has in it, which is None for somebody else."""
    return tx.all(
        "SELECT a.id, a.name, a.plan, a.zone, m.role FROM accounts a LEFT JOIN persons p ON p.name = :person"
        " LEFT JOIN memberships m ON m.account_id = a.id AND m.person_id = p.id"
        " WHERE a.name = :account OR a.id = :account",
        {"account": account, "person": person},
    )


def list_zones(tx: Tx, account_id: str = "") -> list[str]:
    """The zones in which the accounts have their days, or that account alone."""
    rows = tx.all("SELECT DISTINCT zone FROM accounts WHERE :id IN ('', id) ORDER BY zone", {"id": account_id})
    return [row["zone"] for row in rows]


def get(tx: Tx, account_id: str) -> Row:
    """The account."""
    row = tx.one("SELECT * FROM accounts WHERE id = :id", {"id": account_id})
    if row is None:
        raise LookupError(account_id)
    return row


def list_all(tx: Tx) -> list[Row]:
    """Every account with its balance, in the order of their names."""
    return tx.all(
        "SELECT a.id, a.name, a.plan, a.zone, a.created_at, coalesce(b.granted, 0) AS granted,"
        " coalesce(b.available, 0) AS available, coalesce(b.held, 0) AS held, coalesce(b.captured, 0) AS captured"
        " FROM accounts a LEFT JOIN balances b ON b.account_id = a.id ORDER BY a.name"
    )


def change(tx: Tx, account_id: str, *, plan: str, zone: str) -> None:
    """Give the account another plan or zone."""
    tx.put(
        "UPDATE accounts SET plan = :plan, zone = :zone WHERE id = :id", {"plan": plan, "zone": zone, "id": account_id}
    )


def insert_person(tx: Tx, clock: Clock, name: str) -> str:
    """The id of the person of that name, who is made if there is none."""
    tx.put(
        "INSERT INTO persons (id, name, created_at) VALUES (:id, :name, :now) ON CONFLICT (name) DO NOTHING",
        {"id": new_id("per", clock), "name": name, "now": tx.now_us},
    )
    (row,) = tx.all("SELECT id FROM persons WHERE name = :name", {"name": name})
    return str(row["id"])


def join(tx: Tx, account_id: str, person_id: str, role: Role) -> None:
    """Give the person a role in the account; one that is there stays."""
    tx.put(
        "INSERT INTO memberships (account_id, person_id, role, created_at) VALUES (:account, :person, :role, :now)"
        " ON CONFLICT DO NOTHING",
        {"account": account_id, "person": person_id, "role": role, "now": tx.now_us},
    )


def leave(tx: Tx, account_id: str, person_name: str, role: Role) -> bool:
    """Whether the person had the role in the account, and has it no more."""
    return bool(
        tx.do(
            "DELETE FROM memberships WHERE account_id = :account AND role = :role"
            " AND person_id = (SELECT id FROM persons WHERE name = :name)",
            {"account": account_id, "role": role, "name": person_name},
        )
    )


def roles_of(tx: Tx, account_id: str, person_name: str) -> frozenset[Role]:
    """What the person is in the account; empty for somebody else."""
    rows = tx.all(
        "SELECT m.role FROM memberships m JOIN persons p ON p.id = m.person_id"
        " WHERE m.account_id = :account AND p.name = :name",
        {"account": account_id, "name": person_name},
    )
    return frozenset(Role(row["role"]) for row in rows)


def list_people(tx: Tx, account_id: str) -> list[Row]:
    """Who may act in the account: `name`, `role`, `created_at`."""
    return tx.all(
        "SELECT p.name, m.role, m.created_at FROM memberships m JOIN persons p ON p.id = m.person_id"
        " WHERE m.account_id = :account ORDER BY p.name, m.role",
        {"account": account_id},
    )


def record_act(
    tx: Tx,
    clock: Clock,
    act: str,
    subject: str,
    *,
    actor: str,
    second_actor: str | None = None,
    data: Mapping[str, object] | None = None,
) -> None:
    """Keep what a person did that no job's journal tells."""
    tx.put(
        "INSERT INTO acts (id, act, subject, actor, second_actor, data, created_at)"
        " VALUES (:id, :act, :subject, :actor, :second, :data, :now)",
        {
            "id": new_id("act", clock),
            "act": act,
            "subject": subject,
            "actor": actor,
            "second": second_actor,
            "data": encode(cast("Json", dict(data or {}))).decode(),
            "now": tx.now_us,
        },
    )


def list_acts(tx: Tx, *, limit: int) -> list[Row]:
    """The newest acts first."""
    return tx.all("SELECT * FROM acts ORDER BY created_at DESC, id DESC LIMIT :limit", {"limit": limit})
