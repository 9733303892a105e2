"""A quote whose time is over, and names that aren't text, on the command line."""

import sqlite3
from contextlib import closing

from tests.cli.shell import Shell
from tests.cli.test_money import funded, sold


def test_an_expired_quote_is_refused_with_a_new_one_and_moves_nothing(shell: Shell) -> None:
    recipe = str(sold(shell))
    funded(shell)
    made = shell.json("quote", recipe, "-i", "prompt=A late bay")
    with closing(sqlite3.connect(shell.folder / "onetake.db")) as raw, raw:
        raw.execute("UPDATE quotes SET created_at = created_at - 7200000000, expires_at = expires_at - 7200000000")
    refused = shell.run("jobs", "create", "--quote", made["quote"], "--recipe", recipe)
    refused.refused(2, f"Quote {made['quote']} stood until ", "nothing was ordered, nothing is held.")
    told = shell.run("jobs", "create", "--quote", made["quote"], "--recipe", recipe, "--json").object
    assert (told["error"], told["money"], told["repeat_safe"]) == ("quote_expired", "none", True)
    assert (shell.json("balance")["held"], shell.run("jobs", "list", "--json").objects) == (0, [])
    new = refused.err.partition("look at ")[2].partition(",")[0]
    assert shell.run("jobs", "create", "--quote", new, "--recipe", recipe).code == 0
    assert shell.json("balance")["held"] == 40


STRANGE = b"\xff"
COMMANDS = [
    (b"jobs", b"create", b"--quote", STRANGE),
    (b"jobs", b"list", b"--campaign", STRANGE),
    (b"people", b"remove", STRANGE, b"--role", b"admin"),
    (b"stops", b"set", b"recipe", STRANGE, b"--reason", b"r"),
]


def test_a_name_that_is_not_utf_8_is_one_sentence_and_moves_nothing(shell: Shell) -> None:
    for ran in shell.run_all(COMMANDS):
        ran.refused(2, "\\udcff isn't UTF-8", "nothing was changed.")
