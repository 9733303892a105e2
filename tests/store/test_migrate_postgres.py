"""The same migrations on PostgreSQL: one transaction, the same schema, the same triggers, text in code point order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from onetake.domain.errors import DatabaseError
from onetake.store.driver import sqlite
from onetake.store.migrate import HEAD, check, migrate
from onetake.store.postgres_site import PostgresSite
from onetake.store.schema import metadata
from tests.servers.postgres import execute, new_database

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
TRIGGERS = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
CHECKS = "SELECT conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace"
FOREIGN_KEYS = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"


def names(url: str, sql: str) -> set[str]:
    return {row[0] for row in execute(url, sql)}


def test_a_bare_database_is_brought_there_once() -> None:
    with new_database(is_bare=True) as url:
        site = PostgresSite(url)
        assert site.revision() is None
        assert not check(site)
        assert migrate(site)
        assert site.revision() == HEAD
        assert not migrate(site)


def test_a_migration_that_fails_leaves_nothing_and_can_be_done_again() -> None:
    with new_database(is_bare=True) as url:
        made = "CREATE TABLE alembic_version (version_num varchar(32) NOT NULL)"
        execute(url, made, "CREATE TABLE workers (id text)")
        with pytest.raises(DatabaseError, match=r'can\'t be migrated \(relation "workers" already exists\)'):
            migrate(PostgresSite(url))
        assert names(url, TABLES) == {"alembic_version", "workers"}
        assert names(url, TRIGGERS) == set()
        execute(url, "DROP TABLE workers")
        assert migrate(PostgresSite(url))


def test_several_processes_may_migrate_a_bare_database_at_once() -> None:
    with new_database(is_bare=True) as url:
        command = (sys.executable, "-m", "onetake", "migrate")
        environment = {**os.environ, "ONETAKE_DATABASE_URL": url}
        running = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        told = [each.communicate() for each in running]
        assert [each.returncode for each in running] == [0, 0], told
        assert check(PostgresSite(url))


def test_the_migrations_make_exactly_the_schema(empty_file: Path) -> None:
    with new_database(is_bare=True) as url:  # not the template, which has the tests' own clock in it
        assert migrate(PostgresSite(url))
        engine = PostgresSite(url).engine()
        with engine.connect() as connection:
            options = {"compare_type": True, "compare_server_default": True}
            assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
            foreign_keys = sum(len(table.foreign_key_constraints) for table in metadata.tables.values())
            assert connection.execute(sqlalchemy.text(FOREIGN_KEYS)).scalar() == foreign_keys
        engine.dispose()
        assert names(url, TABLES) == {*metadata.tables, "alembic_version"}
        wanted = {
            str(each.name)
            for table in metadata.tables.values()
            for each in table.constraints
            if isinstance(each, sqlalchemy.CheckConstraint)
        }
        assert names(url, CHECKS) == wanted
        assert {name for name in names(url, TRIGGERS) if not name.endswith("_no_truncate")} == _on_sqlite(empty_file)


def _on_sqlite(path: Path) -> set[str]:
    raw = sqlite.connect(str(path))
    found = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    raw.close()
    return found


def test_nothing_that_is_only_added_to_can_be_emptied() -> None:
    with new_database() as url:
        kept = {name.removesuffix("_no_truncate") for name in names(url, TRIGGERS) if name.endswith("_no_truncate")}
        added_to = {name.removesuffix("_no_update") for name in names(url, TRIGGERS) if name.endswith("_no_update")}
        assert kept == added_to | {"attempts", "jobs", "refs", "sends"}
        for table in kept:
            with pytest.raises(Exception, match=re.escape(f"refused by trigger {table}_no_truncate")):
                execute(url, f"TRUNCATE {table} CASCADE")


def test_text_is_in_the_order_of_its_code_points() -> None:
    elsewhere = (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
    )
    with new_database() as url:
        assert execute(url, elsewhere) == []
