"""Another account's jobs aren't there (L11): neither by their names, nor in lists, alarms or checks."""

import sqlite3
from contextlib import closing

from tests.cli.shell import Shell


def test_nothing_of_another_account_is_told(shell: Shell) -> None:
    job = shell.order("A secret bay", key="theirs")
    assert shell.run("accounts", "create", "b", "--plan", "none").code == 0
    assert shell.run("people", "add", "ben", "--role", "operator", "--account", "b").code == 0
    with closing(sqlite3.connect(shell.folder / "onetake.db")) as raw, raw:
        late = "INSERT INTO alarms (id, kind, subject, job_id, detail, since) VALUES (?, 'deadline', ?, ?, 'late', 1)"
        raw.executemany(late, [("alm_1", "stp_1", job), ("alm_2", "nobody", None)])
    ben = shell.having(ONETAKE_ACCOUNT__NAME="b", ONETAKE_PERSON="ben")
    by_name = [
        *(("jobs", verb, job) for verb in ("show", "resume", "cancel")),
        *(("explain", "theirs"), ("ledger", "explain", job), ("attach", job, "task_1")),
    ]
    for ran in ben.run_all(by_name):
        ran.refused(4, "There is no job")
    listed, checked, balance = ben.run_all([("jobs", "list"), ("doctor",), ("ledger", "list")])
    assert (job in listed.out, "about no job" in listed.out, "nobody: late" in listed.out) == (False, False, True)
    assert job not in checked.out
    assert "not looked at: every account's jobs take a role in the account default" in checked.out
    assert balance.out == "No entries.\n"
    assert job in shell.run("jobs", "list").out
    assert job in shell.run("doctor").out
