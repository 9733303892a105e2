"""What every command has in common: help, exit codes, JSON errors, an output that may break."""

import os
import pty
import subprocess

from tests.cli.shell import PROGRAM, Ran, Shell

NO_ROOM = "onetake: The output can't be written (No space left on device).\n"

WRONG = (
    (("jobs", "crate"), "(did you mean 'create'?)."),
    (("jobs", "create", "--accept-up-to", "ten"), "--accept-up-to"),
    (("jobs", "list", "--status", "done"), "submission_unknown"),
    (("attach", "a", "b", "c"), "c"),
)


def test_help_lists_every_command_with_a_whole_sentence(shell: Shell) -> None:
    for ran in shell.run_all([("--help",), ("jobs", "-h")]):
        assert (ran.code, ran.out[:14]) == (0, "Usage: onetake")
        _, _, listed = ran.out.partition("Commands:")
        assert listed.strip()
        assert "..." not in listed


def test_no_command_at_all_shows_the_help_and_is_wrong_use(shell: Shell) -> None:
    ran = shell.run()
    assert (ran.code, ran.out) == (2, "")
    assert "Commands:" in ran.err


def test_the_version(shell: Shell) -> None:
    ran = shell.run("--version")
    assert (ran.code, ran.out.split()[0]) == (0, "onetake")


def test_wrong_use_is_2_and_says_what_is_wrong(shell: Shell) -> None:
    commands = (("jobs",), ("jobs", "create"), ("jobs", "list"), ("attach",))
    told = shell.run_all([arguments for arguments, _ in WRONG])
    for ran, (_, word), ran_of in zip(told, WRONG, commands, strict=True):
        assert (ran.code, ran.out) == (2, "")
        sentence, help_line = ran.err.splitlines()
        assert sentence.startswith("onetake: ")
        assert word in sentence
        assert help_line == f"  see `onetake {' '.join(ran_of)} --help`"


def test_with_json_wrong_use_is_an_object_too(shell: Shell) -> None:
    for ran, (_, word) in zip(shell.run_all([(*each, "--json") for each, _ in WRONG]), WRONG, strict=True):
        told = ran.object
        assert (ran.code, ran.err, told["error"], told["repeat_safe"]) == (2, "", "bad_value", True)
        assert word in told["message"]


def test_colours_are_only_for_a_terminal_that_wants_them(shell: Shell) -> None:
    shell.run("jobs", "cancel", shell.order("colours"))
    for more, is_coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*PROGRAM, "jobs", "list"], env=shell.having(**more).environment, stdout=theirs, cwd=shell.folder
        ) as process:
            os.close(theirs)
            assert process.wait() == 0
            assert (b"\x1b[" in os.read(ours, 4096)) is is_coloured
            os.close(ours)


def test_an_output_that_takes_nothing_more_ends_the_command_quietly(shell: Shell) -> None:
    def ran_in_shell(script: str) -> Ran:
        program = " ".join(PROGRAM)
        command = ["sh", "-c", script.replace("onetake", program)]
        ran = subprocess.run(
            command, env=shell.environment, cwd=shell.folder, capture_output=True, text=True, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    assert ran_in_shell("(onetake jobs list; echo $? >&2) | true") == Ran(0, "", "1\n")
    assert ran_in_shell("onetake jobs list > /dev/full") == Ran(1, "", NO_ROOM)
    assert ran_in_shell("onetake jobs show nobody --json > /dev/full") == Ran(1, "", NO_ROOM)


def test_the_output_is_utf_8_whatever_the_terminal_speaks(shell: Shell) -> None:
    there = shell.having(LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="latin-1", PYTHONCOERCECLOCALE="0")
    line = '{"key": "κλειδί 🗝", "inputs": {"prompt": "ink"}}'
    assert there.run("jobs", "create", "--recipe", "still-to-clip", "--from", "-", given=line).code == 0
    assert there.json("jobs", "list")["key"] == "κλειδί 🗝"


def test_names_that_begin_with_a_dash_can_be_pasted(shell: Shell) -> None:
    job = shell.order("dashes", key="-rf")
    assert shell.json("jobs", "show", "-rf")["id"] == job
    shell.run("attach", "-rf", "--x").refused(2, "Nothing of this job is unknown")
