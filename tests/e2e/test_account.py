"""The provider account: a key that is missing, refused or refused later, and a provider that can't be reached."""

import signal
import subprocess

from tests.cli.shell import MORTAL, Shell, until

CREATE = ("jobs", "create", "--recipe", "still-to-clip", "-i", "prompt=a door that is locked")
API_KEY = "ONETAKE_PROVIDERS__REAPI__API_KEY"


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


def test_without_a_key_nothing_is_ordered(shell: Shell) -> None:
    keyless = shell.having(**{API_KEY: ""})
    created, ran, checked = keyless.run_all([CREATE, ("run", "still-to-clip", "-i", "prompt=a"), ("doctor",)])
    created.refused(1, f"No key for reapi: set {API_KEY}")
    ran.refused(1, API_KEY)
    assert checked.code == 1
    assert f"FAIL  provider     No key for reapi: set {API_KEY}." in checked.lines
    assert shell.run("jobs", "list").out == "No jobs.\n"


def test_a_refused_key_is_named_and_loses_no_job(shell: Shell) -> None:
    """Also when it was good at creation: nothing fails, and everything goes on once the key is mended."""
    wrong = shell.having(**{API_KEY: "not-the-one"})
    wrong.run(*CREATE).refused(1, "reapi refuses our key (HTTP 401)", API_KEY, "nothing was bought")
    job = shell.order("a door with two keys")
    wrong.run("worker", "--until-idle").refused(1, "reapi refuses our key (HTTP 401)", API_KEY)
    standing = shell.json("jobs", "show", job)
    assert (standing["status"], shell.bought("a door with two keys")) == ("preparing", [])
    assert shell.run("worker", "--until-idle").out == "Jobs: 1 completed.\n"
    assert len(shell.bought("a door with two keys")) == 1


def test_an_unreachable_provider_takes_orders_and_raises_an_alarm(shell: Shell) -> None:
    lonely = shell.having(ONETAKE_PROVIDERS__REAPI__BASE_URL="http://127.0.0.1:1")
    job = lonely.order("nobody is at home")
    with lonely.running("worker") as worker:
        assert "reapi" in until(worker, "provider.closed")
        code, out = finish(worker)
    assert code == 0
    assert out.splitlines()[-1] == "Jobs: 1 preparing."
    assert "alarm  model_list  since" in out
    assert lonely.run("doctor").code == 1
    assert shell.run("worker", "--until-idle").out == "Jobs: 1 completed.\n"
    assert shell.json("jobs", "show", job)["alarms"] == []


def test_a_storage_that_is_read_only_costs_nothing_twice(shell: Shell) -> None:
    prompt = "a shelf that is nailed shut"
    job = shell.order(prompt)
    incoming = shell.folder / "files" / "incoming"
    incoming.chmod(0o555)
    with shell.behind(*MORTAL).running("worker") as worker, shell.running("jobs", "tail", job) as tail:
        assert tail.stdout is not None
        alarm = next(line for line in tail.stdout if "alarm" in line)
        assert "may not be written by this user" in alarm
        assert finish(worker)[0] == 0
    incoming.chmod(0o755)
    assert shell.run("worker", "--until-idle").out == "Jobs: 1 completed.\n"
    assert len(shell.bought(prompt)) == 1
