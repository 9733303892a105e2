"""Credits, budgets, people, stops and bills on the command line; bad input is one sentence and moves nothing."""

import json
import urllib.request
from pathlib import Path

import pytest

from onetake.recipes import read_shipped
from tests.cli.shell import Shell

PRICE = '[steps.price]\ncredits = {}\nspend_micros_max = {}\ncurrency = "USD"\n'


def sold(shell: Shell, name: str = "sold.toml", *, version: int = 1, still: int = 10, head: str = "") -> Path:
    """The shipped chain with prices: so many credits for the still, and 30 for the clip."""
    text = read_shipped("still-to-clip").replace('name = "still-to-clip"', f'name = "sold"\n{head}')
    text = text.replace("version = 1", f"version = {version}", 1)
    first, second = text.split("[[steps.outputs]]", 1)
    middle, last = second.split("[[steps.outputs]]", 1)
    parts = [first, PRICE.format(still, 40_000), "[[steps.outputs]]", middle, PRICE.format(30, 500_000)]
    path = shell.folder / name
    path.write_text("\n".join([*parts, "[[steps.outputs]]", last]))
    return path


def funded(shell: Shell, credits_: int = 100) -> None:
    assert shell.run("accounts", "set", "--plan", "credits").code == 0
    assert shell.run("ledger", "grant", str(credits_), "--reason", "a test").code == 0


def test_an_order_is_quoted_held_used_and_told(shell: Shell) -> None:
    recipe = str(sold(shell))
    funded(shell)
    made = shell.json("quote", recipe, "-i", "prompt=A quiet bay")
    assert (made["credits_max"], [line["credits_max"] for line in made["lines"]]) == (40, [10, 30])
    assert shell.json("balance")["held"] == 0
    told = shell.run("jobs", "create", "--quote", made["quote"], "--recipe", recipe)
    assert (told.code, "40 credits held" in told.out) == (0, True)
    again = shell.run("jobs", "create", "--quote", made["quote"], "--recipe", recipe)
    assert "stood already" in again.out
    other = shell.run("jobs", "create", "--quote", made["quote"], "--recipe", recipe, "--key", "other")
    other.refused(2, "was accepted before, for job")
    ran = shell.run("run", recipe, "-i", "prompt=A quiet bay")
    assert (ran.code, "40 used" in ran.out) == (0, True)
    (job,) = shell.run("jobs", "list", "--json").objects
    assert job["money"] == {"quoted": 40, "held": 0, "captured": 40, "released": 0}
    story = shell.run("ledger", "explain", job["id"])
    assert "In all: of 40 credits, 40 used, 0 returned, 0 held." in story.out
    assert "Step video at reapi: up to 0.50 USD for at most 1 request; settled: 1 request, 0.50 USD." in story.out
    assert len(shell.run("ledger", "list", "--job", job["id"], "--json").objects) == 4
    right = shell.run("ledger", "check")
    assert (right.code, right.out.startswith("The books are right: ")) == (0, True)
    (page,) = [shell.run("jobs", "show", job["id"])]
    assert "credits  0 held, 40 used, 0 returned" in page.out


def test_what_moved_since_the_quote_is_named_with_a_new_quote(shell: Shell) -> None:
    recipe = str(sold(shell))
    funded(shell)
    made = shell.json("quote", recipe, "-i", "prompt=A loud bay")
    dearer = str(sold(shell, "dearer.toml", version=2, still=11))
    moved = shell.run("jobs", "create", "--quote", made["quote"], "--recipe", dearer)
    moved.refused(11, f"Quote {made['quote']} doesn't fit any more (/recipe, /credits): look at qte_")
    new = shell.run("quote", dearer, "-i", "prompt=A loud bay", "--json").object["quote"]
    assert shell.run("jobs", "create", "--quote", new).code == 0  # its newest version was quoted meanwhile
    assert shell.json("balance")["held"] == 41


def test_consent_comes_before_the_hold(shell: Shell) -> None:
    recipe = sold(shell)
    text = recipe.read_text().replace(
        "[inputs.prompt]", '[consent]\nversion = "2026-12"\ntext = "Yes."\n[inputs.prompt]'
    )
    recipe.write_text(text)
    funded(shell)
    order = ("jobs", "create", "--recipe", str(recipe), "-i", "prompt=Me", "--accept-up-to", "40")
    shell.run(*order).refused(2, "asks for consent to the wording 2026-12, and nothing was agreed to")
    shell.run(*order, "--consent", "2025-01").refused(2, "2025-01 was agreed to")
    assert shell.json("balance")["held"] == 0
    assert shell.run(*order, "--consent", "2026-12").code == 0
    assert "to agree to (2026-12): Yes." in shell.run("quote", str(recipe), "-i", "prompt=You").out


BAD = [
    (("ledger", "grant", "0", "--reason", "r"), 2, "must be a whole number of credits from 1"),
    (("ledger", "grant", "1.5", "--reason", "r"), 2, "must be a whole number of credits from 1"),
    (("ledger", "grant", "NaN", "--reason", "r"), 2, "must be a whole number of credits from 1"),
    (("ledger", "grant", "--reason", "r", "--", "-5"), 2, "must be a whole number of credits from 1"),
    (("ledger", "grant", "99999999999999999999", "--reason", "r"), 2, "must be a whole number of credits from 1"),
    (("ledger", "grant", "9007199254740991", "--reason", "r"), 2, "can be granted 9007199254740991 credits in all"),
    (("ledger", "grant", " 5", "--reason", "r"), 2, "must be a whole number of credits from 1"),
    (("ledger", "grant", "5", "--reason", " "), 2, "A reason must say why"),
    (("jobs", "create", "--quote", "qte_0"), 4, "There is no quote qte_0"),
    (("jobs", "create"), 2, "Name a recipe with --recipe, or a quote with --quote"),
    (
        ("jobs", "create", "--recipe", "still-to-clip", "-i", "prompt=x", "--accept-up-to", "5"),
        2,
        "has no price for step",
    ),
    (("budgets", "set", "--spend", "5"), 2, '--spend must be an amount with its currency, such as "12.50 USD"'),
    (("budgets", "set", "--spend", "-5 USD"), 2, "must be an amount from 0"),
    (("budgets", "set", "--spend", "1e99 USD"), 2, "must be an amount from 0"),
    (("budgets", "set"), 2, "give --spend or --requests"),
    (("budgets", "set", "--provider", "nobody", "--requests", "1"), 2, "There is no provider nobody"),
    (("budgets", "end", "bud_0"), 4, "There is no budget line bud_0"),
    (("--as", "mallory", "balance"), 4, "in which 'mallory' may act"),
    (("balance", "--account", "nowhere"), 4, "There is no account 'nowhere'"),
    (("people", "remove", "owner", "--role", "owner"), 2, "keeps one owner at least"),
    (("people", "remove", "ada", "--role", "owner"), 4, "ada isn't owner"),
    (("people", "add", " ", "--role", "owner"), 2, "can't be the name of a person"),
    (("accounts", "create", "x", "--zone", "Mars/Olympus"), 2, "There is no time zone Mars/Olympus"),
    (("accounts", "create", "default"), 2, "There is an account default already"),
    (("stops", "lift", "provider", "reapi"), 2, "provider reapi isn't stopped"),
    (("stops", "set", "recipe", "never", "--reason", "r"), 4, "No job was ever ordered by a recipe never"),
    (("stops", "set", "account", "never", "--reason", "r"), 4, "There is no account never for which owner may act"),
    (("stops", "set", "provider", "nosuch", "--reason", "r"), 4, "There is no provider nosuch: known are "),
    (("stops", "set", "provider", "reapi", "--reason", ""), 2, "A reason must say why"),
    (("reconcile", "import", "gone.csv"), 2, "gone.csv can't be read"),
    (("reconcile", "import", "bad.csv"), 2, "bad.csv has no column id"),
    (("reconcile", "import", "bad.csv", "--provider", "nobody"), 2, "No map of columns ships for 'nobody'"),
    (("ledger", "explain", "nothing"), 4, "There is no job with the id or key"),
]


def test_bad_input_is_one_sentence_and_moves_nothing(shell: Shell) -> None:
    funded(shell)
    (shell.folder / "bad.csv").write_text("a,b\n1,2\n")
    before = shell.run("ledger", "list", "--json").out
    for ran, (_, code, words) in zip(shell.run_all([command for command, _, _ in BAD]), BAD, strict=True):
        ran.refused(code, words)
    assert shell.run("ledger", "list", "--json").out == before


def test_people_act_by_their_roles_and_what_takes_two_takes_two(shell: Shell) -> None:
    recipe = str(sold(shell))
    assert shell.run("accounts", "create", "studio").code == 0
    studio = shell.having(ONETAKE_ACCOUNT__NAME="studio")
    for name, role in (("ben", "admin"), ("cleo", "admin"), ("dan", "operator")):
        assert studio.run("people", "add", name, "--role", role).code == 0
    for name in ("ben", "cleo"):
        studio.run("ledger", "grant", "5", "--reason", "r", "--as", name).refused(2, "takes a role in the account")
        assert shell.run("people", "add", name, "--role", "admin").code == 0
    studio.run("ledger", "grant", "5", "--reason", "r", "--as", "dan").refused(2, "dan may not grant credits")
    assert studio.run("ledger", "grant", "100", "--reason", "r", "--as", "ben").code == 0
    order = ("jobs", "create", "--recipe", recipe, "-i", "prompt=Ours", "--accept-up-to", "40", "--key", "ours")
    studio.run(*order, "--as", "ben").refused(2, "may not order there")
    studio.run(*order, "--as", "dan").refused(2, "dan may not bring in recipes that nobody ordered before")
    assert shell.run("quote", recipe, "-i", "prompt=Ours").code == 0  # by the owner of the installation
    assert studio.run(*order, "--as", "dan").code == 0
    shell.run("jobs", "show", "ours").refused(4, "There is no job")  # L11: of another account
    assert shell.run("jobs", "list").out == "No jobs.\n"
    assert studio.run("jobs", "cancel", "ours", "--as", "dan").code == 0
    assert studio.json("balance")["available"] == 100
    holds = [each["id"] for each in studio.json("ledger", "explain", "ours")["holds"]]
    correct = ("ledger", "correct", "ours", holds[0], "--spent", "4", "--reason", "a fee")
    studio.run(*correct, "--as", "ben").refused(2, "It takes two people to correct")
    studio.run(*correct, "--as", "ben", "--second", "ben").refused(2, "It takes two people")
    studio.run(*correct, "--as", "ben", "--second", "dan").refused(2, "dan may not correct")
    assert studio.run(*correct, "--as", "ben", "--second", "cleo").code == 0
    assert studio.json("balance")["captured"] == 4
    story = studio.run("ledger", "explain", "ours").out
    assert "by ben and cleo: 4 credits used after all (a fee)" in story
    assert next(each["actor"] for each in studio.run("explain", "ours", "--json").objects) == "dan"
    assert {row["name"] for row in studio.run("people", "list", "--json").objects} == {"owner", "ben", "cleo", "dan"}
    assert "4 used" in shell.run("accounts", "list").out


OVER_ALL = [
    (("stops", "set", "provider", "reapi", "--reason", "r"), 2, "takes a role in the account default"),
    (("stops", "lift", "provider", "reapi"), 2, "takes a role in the account default"),
    (("stops", "set", "recipe", "still-to-clip", "--reason", "r"), 2, "takes a role in the account default"),
    (("stops", "set", "account", "other", "--reason", "r"), 4, "There is no account other for which eve may act"),
    (("budgets", "set", "--requests", "9"), 2, "takes a role in the account default"),
    (("budgets", "set", "--provider", "reapi", "--requests", "9"), 2, "takes a role in the account default"),
    (("budgets", "set", "--for-account", "studio", "--requests", "9"), 2, "takes a role in the account default"),
    (("budgets", "end", "bud_0"), 2, "takes a role in the account default"),
    (("ledger", "grant", "9", "--reason", "r"), 2, "takes a role in the account default"),
    (("accounts", "set", "--plan", "none"), 2, "takes a role in the account default"),
    (("stops", "lift", "account", "studio"), 2, "takes a role in the account default"),
    (("reconcile", "import", "usage.csv"), 2, "takes a role in the account default"),
    (("reconcile", "list"), 2, "takes a role in the account default"),
    (("ledger", "check"), 2, "takes a role in the account default"),
    (("accounts", "create", "mine"), 2, "takes a role in the account default"),
    (("people", "add", "eve", "--role", "owner"), 2, "may not make or unmake owners"),
    (("people", "remove", "owner", "--role", "owner"), 2, "may not make or unmake owners"),
]


def test_a_role_in_one_account_does_not_reach_the_others(shell: Shell) -> None:
    (shell.folder / "usage.csv").write_text("id,task_id,model,amount,currency,created_at\n")
    for name in ("studio", "other"):
        assert shell.run("accounts", "create", name).code == 0
        assert shell.run("budgets", "set", "--for-account", name, "--requests", "5").code == 0
        assert shell.run("stops", "set", "account", name, "--reason", "late bills").code == 0
    eve = shell.having(ONETAKE_ACCOUNT__NAME="studio", ONETAKE_PERSON="eve")
    assert shell.run("people", "add", "eve", "--role", "admin", "--account", "studio").code == 0
    for ran, (_, code, words) in zip(eve.run_all([command for command, _, _ in OVER_ALL]), OVER_ALL, strict=True):
        ran.refused(code, words)
    for seen in ("budgets", "stops"):  # her account's own, and no other's
        assert (len(eve.run(seen, "list", "--json").objects), len(shell.run(seen, "list", "--json").objects)) == (1, 2)
    assert shell.run("stops", "lift", "account", "studio").code == 0
    assert eve.run("stops", "set", "account", "studio", "--reason", "a pause").code == 0
    assert [row["reason"] for row in eve.run("stops", "list", "--json").objects] == ["a pause"]
    assert eve.run("stops", "lift", "account", "studio").code == 0
    assert eve.run("people", "add", "flo", "--role", "operator").code == 0
    assert eve.run("people", "remove", "flo", "--role", "operator").code == 0


def test_a_batch_that_a_line_holds_up_says_so_and_a_stop_holds_all(shell: Shell) -> None:
    recipe = str(sold(shell))
    funded(shell, 1000)
    assert shell.run("budgets", "set", "--campaign", "*", "--spend", "1.08 USD").code == 0
    lines = "".join(json.dumps({"inputs": {"prompt": f"Reef {n}"}, "campaign": "reefs"}) + "\n" for n in range(3))
    (shell.folder / "reefs.jsonl").write_text(lines)
    made = shell.run("jobs", "create", "--recipe", recipe, "--from", "reefs.jsonl", "--accept-up-to", "40")
    assert "3 new, 0 stood already, 0 refused; 120 credits held." in made.out
    assert shell.run("worker", "--until-idle").code == 0
    jobs = shell.run("jobs", "list", "--campaign", "reefs", "--json").objects
    assert sorted(job["status"] for job in jobs) == ["completed", "completed", "preparing"]
    waiting = next(job["id"] for job in jobs if job["status"] == "preparing")
    (line,) = shell.run("budgets", "list", "--json").objects
    assert (line["waiting"], line["uses"][0]["spend_micros"]) == (1, 1_080_000)
    assert f"waits for budget {line['line']}" in shell.run("jobs", "show", waiting).out
    assert "; 1 step waits for it" in shell.run("budgets", "list").out
    assert shell.run("stops", "set", "provider", "reapi", "--reason", "the card expired").code == 0
    assert shell.run("budgets", "end", line["line"]).code == 0
    assert shell.run("worker", "--until-idle").code == 0
    assert shell.json("jobs", "show", waiting)["status"] == "preparing"
    assert "provider reapi" in shell.run("stops", "list").out
    assert "the card expired" in shell.run("doctor").out
    assert shell.run("stops", "lift", "provider", "reapi").code == 0
    assert shell.run("worker", "--until-idle").code == 0
    assert shell.json("jobs", "show", waiting)["status"] == "completed"


def test_the_providers_bill_is_compared_with_ours(shell: Shell) -> None:
    recipe = str(sold(shell))
    assert shell.run("run", recipe, "-i", "prompt=A dune", "--key", "dune").code == 0
    refs = shell.json("jobs", "show", "dune")["refs"].values()
    origin = shell.environment["ONETAKE_PROVIDERS__REAPI__BASE_URL"]
    with urllib.request.urlopen(f"{origin}/_usage") as answer:  # noqa: S310 - the sandbox's
        head, *rows = answer.read().decode().splitlines()
    text = "\n".join([head, *(row for row in rows if row.split(",")[1] in refs), ""])
    (shell.folder / "usage.csv").write_text(f"{text}chg_x,task_of_nobody,m,0.04,USD,2026-12-01T00:00:00Z\n")
    done = shell.json("reconcile", "import", "usage.csv")
    assert (done["records"], len(done["matched"]), len(done["orphans"])) == (3, 2, 1)
    assert "imported before" in shell.run("reconcile", "import", "usage.csv").out
    (orphan,) = shell.run("reconcile", "list", "--json").objects
    assert orphan["ref"] == "task_of_nobody"
    assert orphan["case_id"] in shell.run("reconcile", "list").out
    assert shell.run("ledger", "check").code == 0


@pytest.mark.parametrize(
    "command", ["quote", "balance", "ledger", "budgets", "accounts", "people", "stops", "reconcile"]
)
def test_every_new_command_has_help(shell: Shell, command: str) -> None:
    assert "Usage: onetake" in shell.run(command, "--help").out
