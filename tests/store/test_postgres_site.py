"""Addresses, and what a person is told when a server doesn't do what is asked of it. Never the password."""

import os
from collections.abc import Callable, Iterator

import psycopg
import pytest

from onetake.clock import SystemClock
from onetake.domain.errors import DatabaseError
from onetake.store import migrate as migrations
from onetake.store.database import Tx
from onetake.store.placeholders import numbered
from onetake.store.postgres import PostgresDatabase
from onetake.store.postgres_site import PostgresSite, Prepare
from onetake.store.sites import site_of
from tests.servers.postgres import PostgresServer, execute, new_database
from tests.store.elsewhere import make_account

SECRET = "s3cret-password"
FILE_BYTES_MAX = 3 * 2**20 + 4096
"""More than any file of an empty database and its log, and no multiple of a page, so that a page is written in part."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that asks for passwords and has few connections, small log files, and a database with our tables."""
    server = PostgresServer(
        "--wal-segsize=1", max_connections="6", superuser_reserved_connections="1", max_wal_size="8MB"
    )
    execute(
        server.url(),
        f"CREATE ROLE ada LOGIN PASSWORD '{SECRET}'",
        "CREATE DATABASE onetake OWNER ada",
        "CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
    )
    server.ask_for_passwords()
    migrations.migrate(PostgresSite(_as_ada(server)))
    yield server
    server.close()


def _as_ada(server: PostgresServer, database: str = "onetake", password: str = SECRET) -> str:
    return f"postgresql://ada:{password}@127.0.0.1:{server.port}/{database}"


def told(url: str) -> str:
    """What a person is told who wants to use the database."""
    with pytest.raises(DatabaseError) as refused:
        site_of(url).revision()
    assert SECRET not in str(refused.value)
    chain = f"{refused.value.__cause__}{refused.value.__context__ if not refused.value.__suppress_context__ else ''}"
    assert SECRET not in chain
    return refused.value.sentence


# --- addresses


def test_the_place_is_shown_without_its_password() -> None:
    site = site_of(f"postgresql://ada:{SECRET}@db.example:6432/onetake?sslmode=require")
    assert site.place == "postgresql://ada@db.example:6432/onetake"
    assert site_of("postgres:///onetake").place == "postgresql:///onetake"


@pytest.mark.parametrize("url", [f"postgresql://ada:{SECRET}@[::1/x", f"postgresql://ada:{SECRET}@h/x?colour=red"])
def test_an_address_that_cannot_be_read_is_refused_without_telling_it(url: str) -> None:
    assert told(url).startswith("ONETAKE_DATABASE_URL can't be read: write postgresql://USER:PASSWORD@HOST")


def test_parameters_are_numbered_by_name() -> None:
    sql = "SELECT CAST(:a AS bigint)::text, ':' WHERE x = :b AND y = :a"
    assert numbered(sql) == ("SELECT CAST($1 AS bigint)::text, ':' WHERE x = $2 AND y = $1", ("a", "b"))


# --- what is told


def test_a_server_that_is_not_there_or_lets_nobody_in_is_a_sentence(server: PostgresServer) -> None:
    assert "can't be reached: check that it runs" in told(_as_ada(server).replace(str(server.port), "1"))
    assert "refuses the user or the password" in told(_as_ada(server, password=f"{SECRET}x"))
    assert "wants a password" in told(f"postgresql://ada@127.0.0.1:{server.port}/onetake")
    assert "isn't there" in told(_as_ada(server, "nowhere"))
    assert "isn't in UTF-8" in told(_as_ada(server, "narrow"))
    assert "has no TLS" in told(f"{_as_ada(server)}?sslmode=require")


def test_too_many_connections_are_a_sentence(server: PostgresServer) -> None:
    taken = [psycopg.connect(_as_ada(server)) for _ in range(5)]
    try:
        assert "has no connection left" in told(_as_ada(server))
    finally:
        for each in taken:
            each.close()


def test_a_database_that_is_not_ours_or_newer_is_refused() -> None:
    with new_database(is_bare=True) as url:
        assert site_of(url).revision() is None
        execute(url, "CREATE TABLE customers (id int)")
        assert "holds other tables" in told(url)
    with new_database(is_kept=False) as url:
        execute(url, "UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(DatabaseError, match="is newer than this program"):
            migrations.check(site_of(url))


async def said(url: str, op: Callable[[Tx], object]) -> str:
    """What an operation is answered that can't be done."""
    database = PostgresDatabase(PostgresSite(url), SystemClock())
    try:
        with pytest.raises(DatabaseError) as refused:
            await database.write(op)
        return refused.value.sentence
    finally:
        await database.aclose()


async def test_what_a_server_does_not_do_is_a_sentence(server: PostgresServer) -> None:
    with new_database(is_bare=True) as bare:
        assert "has no tables yet: run `onetake migrate`" in await said(bare, lambda tx: tx.now_us)
    url = _as_ada(server)
    assert 'says: column "x" does not exist' in await said(url, lambda tx: tx.all("SELECT x"))
    assert "forbids it" in await said(url, lambda tx: tx.all("SELECT pg_read_file('/etc/hostname')"))
    execute(url, "ALTER DATABASE onetake SET default_transaction_read_only = on")
    try:
        assert "can't be written: it is a standby or set to read-only" in await said(
            url, lambda tx: make_account(tx, "ada")
        )
    finally:
        execute(f"{url}?options=-cdefault_transaction_read_only%3Doff", "ALTER DATABASE onetake RESET ALL")


async def test_where_nothing_more_can_be_written_what_stood_stays(server: PostgresServer) -> None:
    url = _as_ada(server)

    async def fill(rows: int) -> int:
        database = PostgresDatabase(PostgresSite(url), SystemClock())
        try:
            return await database.write(_fill, rows)
        finally:
            await database.aclose()

    assert await fill(10) == 10
    with server.limited(FILE_BYTES_MAX), pytest.raises(DatabaseError, match="says: could not extend file"):
        await fill(2000)
    assert await fill(10) == 20


def _fill(tx: Tx, rows: int) -> int:
    """How many rows there are, after so many more: each of two kilobytes, which is too few to be kept elsewhere."""
    sql = (
        "INSERT INTO inbox (id, provider, dedupe_key, body, verified, received_at)"
        " VALUES (:id, 'p', :id, :body, 'signed', 1)"
    )
    for _ in range(rows):
        tx.do(sql, {"id": os.urandom(8).hex(), "body": os.urandom(1800)})
    (row,) = tx.all("SELECT count(*) AS n FROM inbox")
    return int(row["n"])


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (psycopg.errors.DiskFull(), "The database postgresql://db/x has no disk space left; free some there."),
        (psycopg.errors.LockNotAvailable(), "has a row that is locked by somebody else's transaction (waited 10 s)"),
        (psycopg.errors.OutOfMemory(), "is out of memory"),
        (psycopg.errors.QueryCanceled(), "broke the statement off"),
    ],
)
def test_what_is_hard_to_bring_about_has_its_sentence_too(error: psycopg.Error, says: str) -> None:
    assert says in PostgresSite("postgresql://db/x").error(error).sentence


# --- prepared statements


@pytest.mark.parametrize(
    ("prepare", "says"), [("auto", ", prepared"), ("always", ", prepared"), ("never", "no prepared")]
)
def test_statements_are_prepared_on_a_direct_connection_unless_forbidden(prepare: Prepare, says: str) -> None:
    with new_database() as url:
        assert says in site_of(url, prepare=prepare).describe()
