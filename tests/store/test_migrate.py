"""Bringing a database to this program's schema: whole or not at all, and refused where that can't be right."""

import contextlib
import enum
import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from onetake.domain import states
from onetake.domain.errors import DatabaseError
from onetake.store import migrate as migrations
from onetake.store.driver import sqlite
from onetake.store.migrate import HEAD
from onetake.store.schema import metadata
from onetake.store.sqlite_site import SqliteSite
from tests.store import elsewhere

KNOWN = (
    *("accounts", "acts", "alarms", "allowances", "artifacts", "attempts", "balances", "blobs", "budget_uses"),
    *("budgets", "cases", "charges", "decisions", "evidence", "expected_outputs", "hold_closings", "holds", "inbox"),
    *("job_requests", "jobs", "journal", "ledger_entries", "manifests", "memberships", "model_lists", "paces"),
    *("persons", "quote_lines", "quote_requests", "quotes", "recipes", "refs", "routes", "sends", "step_requests"),
    *("steps", "stops", "usage_imports", "wires", "workers"),
)


def revision_of(path: Path) -> str | None:
    return SqliteSite(path).revision()


def check(path: Path) -> bool:
    return migrations.check(SqliteSite(path))


def migrate(path: Path) -> bool:
    return migrations.migrate(SqliteSite(path))


def run(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite.connect(str(path))) as raw:
        for statement in statements:
            raw.execute(statement)
        raw.commit()


def things(path: Path, kinds: Iterable[str] = ("table", "index")) -> dict[str, str]:
    """What stands in the file, by name, in SQL."""
    with contextlib.closing(sqlite.connect(str(path))) as raw:
        found = raw.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: sql for kind, name, sql in found if kind in kinds and name != "alembic_version"}


# --- bringing it there


def test_a_new_file_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "50% off?#.db"
    assert revision_of(path) is None
    assert not check(path)
    assert migrate(path)
    assert revision_of(path) == HEAD
    assert check(path)
    assert not migrate(path)


def test_an_empty_file_is_new(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    assert revision_of(path) is None
    assert migrate(path)


def test_a_database_without_tables_is_new(tmp_path: Path) -> None:
    path = tmp_path / "onetake.db"
    run(path, "CREATE TABLE t (n)", "DROP TABLE t")
    assert revision_of(path) is None
    assert migrate(path)


def test_a_migration_that_fails_leaves_nothing_and_can_be_done_again(tmp_path: Path) -> None:
    path = tmp_path / "onetake.db"
    run(path, "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)", "CREATE TABLE workers (id TEXT)")
    before = things(path)
    with pytest.raises(DatabaseError, match=r"can't be migrated \(table workers already exists\)"):
        migrate(path)
    assert things(path, ("table", "index", "trigger")) == before
    run(path, "DROP TABLE workers")
    assert migrate(path)
    assert set(KNOWN) <= set(things(path))


def test_several_processes_may_migrate_a_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "onetake.db"
    others = [elsewhere.start("migrate", path) for _ in range(2)]
    assert {other.communicate()[0] for other in others} <= {"True\n", "False\n"}
    assert [other.returncode for other in others] == [0, 0]
    assert check(path)


# --- refused


def newer(path: Path) -> None:
    migrate(path)
    run(path, "UPDATE alembic_version SET version_num = '9999'")


def foreign(path: Path) -> None:
    run(path, "CREATE TABLE customers (id)")


def no_database(path: Path) -> None:
    path.write_text("a letter to my aunt " * 50)


def a_folder(path: Path) -> None:
    path.mkdir()


REFUSALS = [
    (newer, f"is newer than this program (revision 9999, this program knows {HEAD}): install the newer onetake;"),
    (foreign, "holds other tables: name another in ONETAKE_DATABASE_URL."),
    (no_database, "can't be read (file is not a database): check ONETAKE_DATABASE_URL."),
    (a_folder, "can't be read ("),
]


@pytest.mark.parametrize(("make", "told"), REFUSALS)
def test_what_cannot_be_right_is_refused_and_left_alone(
    make: Callable[[Path], None], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "onetake.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for ask in (check, migrate):
        with pytest.raises(DatabaseError) as refused:
            ask(path)
        assert refused.value.sentence.startswith(f"The database {path} ")
        assert told in refused.value.sentence
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match=r"The folder of the database .* can't be made: "):
        migrate(tmp_path / "file" / "deeper" / "onetake.db")


# --- the schema is what the program thinks it is


def lines_of(sql: str) -> list[str]:
    """The columns and constraints of a statement, whatever their order and blanks: a column added later comes last."""
    plain = re.sub(r"\s+", " ", re.sub(r"DEFAULT \(('[^']*')\)", r"DEFAULT \1", sql))
    head, _, body = plain.partition("(")
    parts, depth = [""], 0
    for char in body:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        elif depth >= 0:
            parts[-1] += char
    return sorted(part.strip() for part in (head, *parts))


def test_the_migrations_make_exactly_the_schema(tmp_path: Path, empty_file: Path) -> None:
    made = tmp_path / "made.db"
    for path, make in ((made, metadata.create_all), (empty_file, None)):
        engine = sqlalchemy.create_engine(f"sqlite:///{path}", module=sqlite)
        with engine.begin() as connection:
            if make:
                make(connection)
            else:
                options = {"compare_type": True, "compare_server_default": True}
                context = MigrationContext.configure(connection, opts=options)
                assert compare_metadata(context, metadata) == []
        engine.dispose()
    wanted, found = things(made), things(empty_file)
    assert {name: lines_of(sql) for name, sql in found.items()} == {name: lines_of(sql) for name, sql in wanted.items()}


def test_every_table_is_known(empty_file: Path) -> None:
    assert sorted(things(empty_file, ("table",))) == sorted(KNOWN) == sorted(metadata.tables)


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(files("onetake.store") / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [HEAD]
    assert all(script.doc for script in scripts.walk_revisions())


CHECKED: dict[str, tuple[str, type[enum.StrEnum]]] = {
    "ck_attempts_state": ("attempts", states.AttemptState),
    "ck_jobs_state": ("jobs", states.JobState),
    "ck_expected_outputs_state": ("expected_outputs", states.OutputState),
    "ck_artifacts_state": ("artifacts", states.ArtifactState),
    "ck_artifacts_use": ("artifacts", states.ArtifactUse),
    "ck_cases_state": ("cases", states.CaseState),
    "ck_cases_kind": ("cases", states.CaseKind),
    "ck_decisions_decision": ("decisions", states.CaseState),
    "ck_alarms_kind": ("alarms", states.AlarmKind),
    "ck_steps_waiting_for": ("steps", states.WaitReason),
    "ck_ledger_entries_kind": ("ledger_entries", states.EntryKind),
    "ck_memberships_role": ("memberships", states.Role),
    "ck_budgets_period": ("budgets", states.Period),
    "ck_stops_kind": ("stops", states.StopKind),
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_holds_exactly_the_domains_words(name: str, empty_file: Path) -> None:
    table, kind = CHECKED[name]
    (line,) = [line for line in lines_of(things(empty_file)[table]) if f"CONSTRAINT {name} " in line]
    assert set(re.findall(r"'(\w+)'", line)) == set(kind)


def test_the_check_of_steps_holds_both_machines_words(empty_file: Path) -> None:
    (line,) = [line for line in lines_of(things(empty_file)["steps"]) if "ck_steps_state" in line]
    paid, local = re.findall(r"state IN \(([^)]*)\)", line)
    assert set(re.findall(r"\w+", paid)) == set(states.StepState)
    assert set(re.findall(r"\w+", local)) == set(states.ProcessState)


def test_the_ends_that_the_database_knows_are_the_domains(empty_file: Path) -> None:
    (line,) = [line for line in lines_of(things(empty_file)["attempts"]) if "ck_attempts_ended" in line]
    assert set(re.findall(r"'(\w+)'", line)) == states.FINAL_ATTEMPT
    guards = things(empty_file, ("trigger",))
    assert set(re.findall(r"'(\w+)'", guards["steps_final"].partition("BEGIN")[0])) == states.FINAL_STEP
    assert set(re.findall(r"'(\w+)'", guards["jobs_final"].partition("BEGIN")[0])) == states.FINAL_JOB


def test_a_new_database_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "onetake.db"
    migrate(path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
