"""Files and settings that a program could choke on: endless, huge, no files at all; each refused in one sentence."""

import os
import subprocess

import pytest

from onetake.cli.files import LINE_BYTES_MAX
from onetake.cli.printing import visible
from onetake.config import is_private_host
from tests.cli.shell import PROGRAM, Shell

CREATE = ("jobs", "create", "--recipe", "still-to-clip")


def test_a_recipe_is_a_regular_file_of_a_bearable_size(shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe.toml")
    (shell.folder / "huge.toml").write_bytes(b"#" * 1_048_577)
    refused = {
        "/dev/zero": "it is no regular file",
        "pipe.toml": "it is no regular file",
        "huge.toml": "it is larger than 1,048,576 bytes",
    }
    for ran, word in zip(shell.run_all([("recipe", "check", each) for each in refused]), refused.values(), strict=True):
        ran.refused(2, word)
    for ran in shell.run_all([("fixture", "verify", "/dev/zero"), ("fixture", "verify", "pipe.toml")]):
        ran.refused(2, "it is no regular file", "name a file of `fixture freeze`")


def test_a_line_without_end_is_refused_by_its_number_and_those_before_it_stand(shell: Shell) -> None:
    line = b'{"key": "first", "inputs": {"prompt": "a"}}\n'
    ran = shell.run(*CREATE, "--from", "-", given=line + b'{"key": "' + b"x" * LINE_BYTES_MAX)
    assert (ran.code, ran.lines[0].split()[-1]) == (2, "first")
    assert ran.lines[1:] == [
        "line 2: refused: The line is longer than 1,048,576 bytes; neither it nor what follows was read.",
        "1 new, 0 stood already, 1 refused.",
    ]
    endless = shell.run(*CREATE, "--from", "/dev/zero", "--json")
    assert (endless.code, endless.object["line"], endless.object["error"]) == (2, 1, "bad_value")
    shell.run(*CREATE, "--from", "/proc/self/mem").refused(2, "/proc/self/mem can't be read")
    shell.run(*CREATE, "--from", ".").refused(2, "can't be read (Is a directory)")


def test_a_pipe_of_orders_with_a_byte_order_mark_is_taken(shell: Shell) -> None:
    os.mkfifo(shell.folder / "orders")
    command = [*PROGRAM, *CREATE, "--from", "orders"]
    with subprocess.Popen(command, cwd=shell.folder, env=shell.environment, stdout=subprocess.PIPE) as process:
        (shell.folder / "orders").write_bytes(b'\xef\xbb\xbf{"key": "marked", "inputs": {"prompt": "a"}}')
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.split()[3:5]) == (0, [b"new", b"marked"])


def test_numbers_beyond_any_database_are_refused(shell: Shell) -> None:
    for ran in shell.run_all([("jobs", "list", "--limit", each) for each in (str(2**63), "9" * 400, "0")]):
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 2)
        assert "Invalid value for '--limit'" in ran.err


def test_a_key_that_looks_like_a_jobs_id_is_refused(shell: Shell) -> None:
    job = shell.order("a first one")
    ran = shell.run(*CREATE, "-i", "prompt=b", "--key", job)
    ran.refused(2, "/key looks like a job's id")
    assert shell.json("jobs", "show", shell.order("c", key="job_42"))["key"] == "job_42"


def test_what_cant_be_seen_is_never_printed(shell: Shell) -> None:
    key = "gpj.\u202egnp\u200f"
    job = shell.order("marks", key=key)
    told = shell.run_all(
        [("jobs", "list"), ("jobs", "show", key), ("jobs", "list", "--json"), ("jobs", "show", "\u202e")]
    )
    assert not any(mark in ran.out + ran.err for ran in told for mark in "\u202e\u200f")
    assert "gpj.\\u202egnp\\u200f" in told[0].out
    assert told[2].object["key"] == key
    lines = f'{{"key": "{key}", "inputs": {{"prompt": "other"}}}}\n{{"{key}": 1}}'
    refused = shell.run(*CREATE, "--from", "-", given=lines)
    assert (refused.code, "\u202e" in refused.out, job in refused.out) == (2, False, True)
    wrong = shell.run("jobs", "\u202ewrong")
    assert (wrong.code, "\u202e" in wrong.err) == (2, False)


def test_only_our_own_colours_pass() -> None:
    assert visible("\x1b[32mdone\x1b[0m\nnext") == "\x1b[32mdone\x1b[0m\nnext"
    assert visible("\x1b[2J\x1b]0;title\x07\r\t") == "\\x1b[2J\\x1b]0;title\\x07\\r\\t"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "sandbox", "10.1.2.3", "192.168.0.7", "fd00::1"])
def test_a_private_host_may_be_spoken_to_in_the_open(host: str) -> None:
    assert is_private_host(host)


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "reapi.ai", "134744072", "0x08080808", "2001:4860:4860::8888", "::ffff:8.8.8.8"]
)
def test_a_public_host_may_not(host: str) -> None:
    assert not is_private_host(host)
