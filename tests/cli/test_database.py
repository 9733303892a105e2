"""A database that can't be used: one sentence, exit code 1, and the file as it was."""

import hashlib
import sqlite3
from pathlib import Path

from tests.cli.shell import MORTAL, Shell

CREATE = ("jobs", "create", "--recipe", "still-to-clip")


def change(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as database:
        database.execute(statement)
    database.close()


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_database_that_isnt_ours_is_left_alone(shell: Shell) -> None:
    newer, other, garbage = (shell.folder / name for name in ("newer.db", "other.db", "garbage.db"))
    newer.write_bytes((shell.folder / "onetake.db").read_bytes())
    change(newer, "UPDATE alembic_version SET version_num = '9999'")
    change(other, "CREATE TABLE guests (name TEXT)")
    garbage.write_text("no database " * 1000)
    told = {newer: "is newer than this program", other: "holds other tables", garbage: "can't be read"}
    before = [digest(file) for file in told]
    for file, sentence in told.items():
        there = shell.having(ONETAKE_DATABASE_URL=f"sqlite:///{file}")
        there.run("migrate").refused(1, str(file), sentence)
    assert [digest(file) for file in told] == before
    ran = shell.having(ONETAKE_DATABASE_URL=f"sqlite:///{newer}").run("doctor", "--json")
    assert (ran.code, ran.object["what"], ran.object["ok"]) == (1, "database", False)


def test_a_folder_that_cant_be_made_or_written(shell: Shell) -> None:
    (shell.folder / "file").touch()
    blocked = shell.having(ONETAKE_DATABASE_URL=f"sqlite:///{shell.folder / 'file' / 'onetake.db'}")
    blocked.run("jobs", "list").refused(1, str(shell.folder / "file"))
    shell.order("before the folder is closed")
    for path, mode in ((shell.folder / "onetake.db", 0o444), (shell.folder, 0o555)):
        path.chmod(mode)
    shell.behind(*MORTAL).run(*CREATE, "-i", "prompt=a").refused(1, str(shell.folder / "onetake.db"))
    for path, mode in ((shell.folder, 0o755), (shell.folder / "onetake.db", 0o644)):
        path.chmod(mode)
    assert len(shell.run("jobs", "list").lines) == 1


def test_a_full_disk_loses_nothing(shell: Shell) -> None:
    """The journal of the database may grow to a hundred kilobytes and no further, as on a disk with so much left."""
    shell.order("while there was room")
    full = shell.behind(*MORTAL).having(LIMIT="100000")
    full.run(*CREATE, "-i", "prompt=a").refused(1, "is full", "onetake.db")
    lines = "".join(f'{{"inputs": {{"prompt": "line {n}"}}}}\n' for n in range(3))
    ran = full.run(*CREATE, "--from", "-", given=lines)
    assert (ran.code, ran.out) == (1, "")
    assert "Line 1 and perhaps later ones were not taken" in ran.err
    assert len(shell.run("jobs", "list").lines) == 1
    assert shell.run(*CREATE, "--from", "-", given=lines).lines[-1] == "3 new, 0 stood already, 0 refused."


def test_migrate_says_what_it_did(shell: Shell) -> None:
    there = shell.having(ONETAKE_DATABASE_URL=f"sqlite:///{shell.folder}/below/new.db")
    told = there.json("migrate")
    assert (told["database"], told["changed"]) == (f"{shell.folder}/below/new.db", True)
    assert there.json("migrate") == {**told, "changed": False}
    assert there.run("migrate").out == f"{told['database']} is at revision {told['revision']} already.\n"
