"""How many rows a database was made to write, counted by the database itself."""

from dataclasses import dataclass
from typing import Self

from onetake.store.database import Tx


@dataclass(frozen=True, slots=True)
class Written:
    """Rows inserted; rows inserted, updated and deleted; and of these the renewals of a worker's own lease."""

    added: int
    all: int
    leases: int

    def __sub__(self, earlier: Self) -> "Written":
        return Written(self.added - earlier.added, self.all - earlier.all, self.leases - earlier.leases)


def is_sqlite(tx: Tx) -> bool:
    """Which of the two databases this is."""
    return type(tx).__module__.endswith(".sqlite")


def start(tx: Tx) -> None:
    """Begin to count: PostgreSQL always does, SQLite by a trigger on each table and kind of change."""
    if not is_sqlite(tx):
        return
    tx.do("CREATE TABLE bench_writes (name TEXT, kind TEXT, count INTEGER, PRIMARY KEY (name, kind)) WITHOUT ROWID")
    tables = [row["name"] for row in tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in tables:
        for kind in ("insert", "update", "delete") if name != "bench_writes" else ():
            tx.do(f"INSERT INTO bench_writes VALUES ('{name}', '{kind}', 0)")
            tx.do(
                f"CREATE TRIGGER bench_{name}_{kind} AFTER {kind} ON {name} BEGIN"
                f" UPDATE bench_writes SET count = count + 1 WHERE name = '{name}' AND kind = '{kind}'; END"
            )


_ON_POSTGRES = (
    "SELECT coalesce(sum(n_tup_ins), 0) AS added, coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) AS everything,"
    " coalesce(sum(CASE WHEN relname = 'workers' THEN n_tup_upd ELSE 0 END), 0) AS leases FROM pg_stat_user_tables"
)
_ON_SQLITE = (
    "SELECT sum(CASE WHEN kind = 'insert' THEN count ELSE 0 END) AS added, sum(count) AS everything,"
    " sum(CASE WHEN name = 'workers' AND kind = 'update' THEN count ELSE 0 END) AS leases FROM bench_writes"
)


def count(tx: Tx) -> Written:
    """What was written so far."""
    row = tx.one(_ON_SQLITE if is_sqlite(tx) else _ON_POSTGRES)
    return Written(int(row["added"]), int(row["everything"]), int(row["leases"])) if row else Written(0, 0, 0)
