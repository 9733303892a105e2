"""`onetake contract`: promises listed, told in words and checked; a new file; a file of one's own in force."""

from tests.cli.shell import Shell
from tests.engine.promises import BY_KEY, READ_ON, REPLAYED, contract_file, stated


def test_contracts_are_listed_told_and_checked(shell: Shell) -> None:
    (line,) = shell.run("contract", "list", "--json").objects
    assert (line["provider"], line["idempotency"], line["lookup"], line["file"]) == ("reapi", "none", "none", None)
    assert "idempotency none, lookup none" in shell.run("contract", "list").out
    told = shell.run("contract", "explain", "reapi").out
    assert told.startswith("If the answer to a paid POST to reapi is lost now:\n  1. Nothing is sent again")
    assert shell.json("contract", "explain", "reapi")["sentences"][0] in told
    assert "gap    lookup: not promised" in shell.run("contract", "check", "reapi").out
    fresh = contract_file(shell.folder)
    checked = shell.run("contract", "check", fresh)
    assert (checked.code, "reapi: the contract fits together." in checked.out) == (0, True)
    assert {each["fault"] for each in shell.run("contract", "check", fresh, "--json").objects} == {False}


def test_a_contract_of_ones_own_is_read_in_place_of_the_shipped_one(shell: Shell) -> None:
    file = contract_file(shell.folder, idempotency=REPLAYED, lookup=BY_KEY)
    own = shell.having(ONETAKE_PROVIDERS__REAPI__CONTRACT=file)
    assert f"reapi (from {file})" in own.run("contract", "list").out
    assert "The same bytes are sent again under the same key" in own.run("contract", "explain", "reapi").out
    assert "The same bytes are sent again" in shell.run("contract", "explain", file).out
    old = shell.folder / "old.toml"
    old.write_text(stated().replace(READ_ON, 'verified_on = "2020-01-01"'))
    ran = shell.run("contract", "check", str(old))
    assert (ran.code, "FAULT  verified_on: " in ran.out) == (1, True)


def test_a_new_contract_promises_nothing(shell: Shell) -> None:
    assert shell.json("contract", "init", "luma") == {"provider": "luma", "file": "luma.toml"}
    assert shell.run("contract", "check", "luma.toml").code == 0
    assert "Nothing is sent again" in shell.run("contract", "explain", "luma.toml").out
    shell.run("contract", "init", "luma").refused(2, "luma.toml is there already: name another with --out.")


def test_bad_contracts_are_one_sentence(shell: Shell) -> None:
    (shell.folder / "bad.toml").write_text(stated(lookup='[lookup]\nkind = "telepathy"\n'))
    (shell.folder / "folder.toml").mkdir()
    commands = [
        (("contract", "explain", "nobody"), 2, "There is no contract nobody: known are reapi, or name a file."),
        (("contract", "check", "bad.toml"), 2, "bad.toml: `lookup.kind` must be one of: none, client_reference"),
        (("contract", "check", "folder.toml"), 2, "The contract file folder.toml can't be read"),
        (("contract", "init", "Not A Name"), 2, "can't be a provider's name"),
        (("contract", "init", "luma", "--out", "nowhere/luma.toml"), 1, "nowhere/luma.toml can't be written"),
    ]
    for ran, (_, code, words) in zip(shell.run_all([each[0] for each in commands]), commands, strict=True):
        ran.refused(code, words)
    wrong = shell.having(ONETAKE_PROVIDERS__REAPI__CONTRACT="bad.toml")
    for command in (("contract", "list"), ("worker", "--until-idle")):
        wrong.run(*command).refused(2, "bad.toml: `lookup.kind` must be one of")
    other = shell.folder / "other.toml"
    other.write_text(stated().replace('provider = "reapi"', 'provider = "luma"'))
    other_one = shell.having(ONETAKE_PROVIDERS__REAPI__CONTRACT="other.toml")
    other_one.run("contract", "list").refused(2, "other.toml: `provider` is luma, and reapi was to be read.")
