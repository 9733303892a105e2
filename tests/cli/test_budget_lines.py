"""`onetake budgets` on the command line: what stands is said, bad input is one sentence and moves nothing."""

from tests.cli.shell import Shell

LONG = "a" * 101
NUMBER = "--requests must be a whole number from 0 to 9007199254740991"
AMOUNT = "--spend must be an amount from 0 to 9007199254.740991"
CURRENCY = '--spend must be an amount with its currency, such as "12.50 USD"'

BAD = [
    *((("--requests", text), 2, NUMBER) for text in ("-1", "1.5", "1e3", "NaN", "", " ", "9007199254740992", "9" * 99)),
    *((("--requests", text), 2, NUMBER) for text in ("inf", "٣", "0x1", "1_000", "+1", "1 2")),
    *((("--spend", text), 2, AMOUNT) for text in ("-1 USD", "0.0000001 USD", "1e99 USD", "NaN USD", "inf USD")),
    *((("--spend", text), 2, AMOUNT) for text in ("9007199254.740992 USD", "٣ USD", "1_000 USD", "1,50 USD")),
    *((("--spend", text), 2, CURRENCY) for text in ("", " ", "5", "USD", "5 usd", "5USD", "5 USDX", "5 €UR", "5  USD")),
    (("--spend", f"5 {LONG}\n"), 2, CURRENCY),
    ((), 2, "give --spend or --requests"),
    (("--no-spend",), 2, "would bound nothing any more: end it with `onetake budgets end bud_"),
    (("--no-spend", "--no-requests"), 2, "would bound nothing any more"),
    (("--campaign", "never", "--no-requests"), 2, "There is no such line to take a bound from"),
    (("--spend", "5 USD", "--no-spend"), 2, "can't be set and taken away at once"),
    (("--requests", "5", "--no-requests"), 2, "can't be set and taken away at once"),
    *((("--requests", "1", option, ""), 2, f"{option} is blank") for option in ("--for-account", "--provider")),
    *((("--requests", "1", "--campaign", text), 2, "--campaign is blank") for text in ("", " ", "\t\n")),
    *(
        (("--requests", "1", "--campaign", text), 2, "--campaign must be one line")
        for text in (LONG, "a\nb", "\x1b[2J")
    ),
    (("--requests", "1", "--period", "week"), 2, "'week' is not one of"),
    (("--requests", "1", "--for-account", "nobody"), 4, "There is no account nobody"),
    (("--requests", "1", "--provider", "nobody"), 2, "There is no provider nobody: known are reapi"),
    (("--spend", "5 EUR"), 2, "(everything: 5.00 USD in all) bounds some of the same spend in USD"),
    (("--spend", "5 EUR", "--campaign", "*", "--period", "day"), 2, "bounds some of the same spend in USD"),
    (
        ("--spend", "5 EUR", "--for-account", "default", "--provider", "reapi"),
        2,
        "bounds some of the same spend in USD",
    ),
]


def test_bad_lines_are_one_sentence_and_move_nothing(shell: Shell) -> None:
    assert shell.run("budgets", "set", "--spend", "5 USD").code == 0
    before = shell.run("budgets", "list", "--json").out
    for ran, (_, code, words) in zip(
        shell.run_all([("budgets", "set", *arguments) for arguments, _, _ in BAD]), BAD, strict=True
    ):
        ran.refused(code, words)
    assert shell.run("budgets", "list", "--json").out == before


def test_each_act_on_a_line_says_what_stands(shell: Shell) -> None:
    assert shell.run("budgets", "list").out == "No budget lines: nothing is bounded.\n"
    scope = ("--for-account", "default", "--campaign", "*", "--provider", "reapi", "--period", "day")
    whom = "account acc_default, each campaign, provider reapi"
    first = shell.run("budgets", "set", *scope, "--spend", "20 USD").out
    line = first.split()[0]
    assert first == f"{line}  {whom}: 20.00 USD a day\n"
    stands = [
        (("--requests", "0"), "20.00 USD and 0 requests a day"),
        (("--spend", " 0.000001 USD "), "0.000001 USD and 0 requests a day"),
        (("--requests", "1", "--no-spend"), "1 request a day"),
        (("--no-spend", "--requests", "9007199254740991"), "9,007,199,254,740,991 requests a day"),
        (("--spend", "9007199254.740991 EUR", "--no-requests"), "9007199254.740991 EUR a day"),
        (("--spend", "0 USD", "--requests", "7"), None),
    ]
    for given, bounds in stands:
        ran = shell.run("budgets", "set", *scope, *given)
        if bounds is None:
            ran.refused(2, "bounds some of the same spend in EUR, so USD can't be added up")
        else:
            assert (ran.code, ran.out) == (0, f"{line}  {whom}: {bounds}\n")
    (listed,) = shell.run("budgets", "list", "--json").objects
    assert (listed["line"], listed["currency"], listed["requests_max"]) == (line, "EUR", None)
    assert [(use["requests"], use["zones"]) for use in listed["uses"]] == [(0, ["UTC"])]
    shell.run("budgets", "end", "").refused(4, "There is no budget line")
    assert shell.run("budgets", "end", line).out == f"{line} bounds nothing any more.\n"
    shell.run("budgets", "end", line).refused(4, "There is no budget line")
    assert shell.run("budgets", "list").out == "No budget lines: nothing is bounded.\n"


def test_each_day_of_several_zones_is_told_with_its_zones(shell: Shell) -> None:
    for name, zone in (("east", "Pacific/Kiritimati"), ("west", "Etc/GMT+12")):
        assert shell.run("accounts", "create", name, "--zone", zone).code == 0
    assert shell.run("budgets", "set", "--period", "day", "--requests", "5").code == 0
    _, *days = shell.run("budgets", "list").lines
    assert len(days) in (2, 3)
    assert "in Etc/GMT+12" in days[0]
    assert "Pacific/Kiritimati" in days[-1]
    assert all(day.endswith(": 0 requests") for day in days)


def test_a_job_that_waits_for_a_line_names_it_everywhere(shell: Shell) -> None:
    line = shell.json("budgets", "set", "--campaign", "dunes", "--requests", "0")["line"]
    made = ("jobs", "create", "--recipe", "still-to-clip", "-i", "prompt=A dune", "--key", "dune")
    assert shell.run(*made, "--campaign", "dunes").code == 0
    assert "Waiting for a budget: 1 step" in shell.run("worker", "--until-idle").out
    assert "; 1 step waits for it" in shell.run("budgets", "list").out
    page = shell.run("jobs", "show", "dune").out
    assert f"next     room in budget line {line}, which `onetake budgets list` shows" in page
    assert f"image: waiting, waits for budget {line}" in page
    assert (
        f"it would cross the budget line {line} (campaign dunes: 0 requests in all)" in shell.run("explain", "dune").out
    )
    assert shell.run("explain", "dune", "--svg", "dune.svg").code == 0
    assert f"it would cross the budget line {line}" in (shell.folder / "dune.svg").read_text()
    (listed,) = shell.run("jobs", "list", "--json").objects
    assert listed["state"] == "image_waiting"
    assert shell.run("budgets", "end", line).code == 0
    assert shell.run("worker", "--until-idle").code == 0
    assert shell.json("jobs", "show", "dune")["status"] == "completed"
