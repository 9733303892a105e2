"""What a worker says: its progress at a terminal, its log, and at the end what is left and until when."""

import contextlib
import json
import os
import pty
import signal
import subprocess

from onetake.store.driver import sqlite
from tests.cli.shell import KEY, PROGRAM, Shell, until

IDS = {"event", "level", "timestamp", "worker", "name", "why", "job", "step", "attempt"}
NO_ONE = "http://127.0.0.1:1"


def test_at_a_terminal_the_last_line_says_how_far_the_jobs_are(shell: Shell) -> None:
    shell.order("a clock with one hand")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "worker", "--until-idle"]
    with subprocess.Popen(
        command, env=shell.environment, cwd=shell.folder, stderr=theirs, stdout=subprocess.PIPE
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal is gone with its last user
            while part := os.read(ours, 4096):
                seen += part
        os.close(ours)
        assert process.wait() == 0
    told = seen.decode()
    assert "0 done, 1 in work, 0 with the provider, 0 for people" in told
    assert told.endswith("\r\x1b[2K")  # and is gone at the end
    assert told.index("worker.started") < told.index("attempt.accepted") < told.index("worker.stopping")


def test_the_log_names_what_became_of_each_attempt_by_ids_alone(shell: Shell) -> None:
    prompt = "a letter in the wrong box"
    shell.strike("accept_then_drop", prompt, "image")
    shell.order(prompt)
    good = shell.order("a letter in the right box")
    ran = shell.run("worker", "--until-idle", "--json")
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert {name for line in lines for name in line} == IDS
    assert [line["event"] for line in lines if line.get("job") == good] == [
        *("attempt.accepted", "attempt.delivered") * 2,
    ]
    assert {"attempt.unknown", "case.opened"} <= {line["event"] for line in lines}
    assert (lines[0]["event"], lines[-1]["event"], lines[-1]["why"]) == ("worker.started", "worker.stopping", "idle")
    assert not [word for word in (prompt, shell.origin, KEY) if word in ran.err]
    assert ran.object["people"] == {"unknown": 1, "parked": 0, "in_doubt": 0}


def test_what_a_provider_put_off_is_said_with_its_moment_and_is_no_trouble(shell: Shell) -> None:
    prompt = "a shop that opens tomorrow"
    job = shell.order(prompt)
    put_off(shell, job)
    ran, told = shell.run("worker", "--until-idle"), shell.json("worker", "--until-idle")
    assert (ran.code, ran.lines[-2:]) == (
        0,
        ["Jobs: 1 preparing.", "Put off: 1 to be sent (from 2100-01-01 00:00:00 UTC)."],
    )
    assert told["put_off"]["sends"] == {"count": 1, "not_before": "2100-01-01T00:00:00Z"}


def test_a_provider_that_can_not_be_reached_ends_it_with_1_and_says_until_when(shell: Shell) -> None:
    job = shell.order("a house that moved")  # the models are known from here on
    lonely = shell.having(ONETAKE_PROVIDERS__REAPI__BASE_URL=NO_ONE)
    with lonely.running("worker") as worker:
        until(worker, "attempt.not_sent")
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
    put_off(shell, job)
    lonely.run("worker", "--until-idle").refused(
        1, "reapi can't be reached, and 1 to be sent there will be tried again from 2100-01-01 00:00:00 UTC"
    )
    assert shell.bought("a house that moved") == []


def put_off(shell: Shell, job: str) -> None:
    """Let the job's ready step wait for the year 2100."""
    with contextlib.closing(sqlite.connect(str(shell.folder / "onetake.db"))) as raw:
        raw.execute("UPDATE steps SET not_before = 4102444800000000 WHERE job_id = ? AND state = 'ready'", (job,))
        raw.commit()
