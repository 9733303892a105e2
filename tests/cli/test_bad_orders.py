"""Orders and recipes that can't be taken: one clear sentence each, exit code 2, nothing lost."""

from onetake.recipes import read_shipped
from tests.cli.shell import Json, Shell

CREATE = ("jobs", "create", "--recipe", "still-to-clip")

ORDERS = {
    "an unknown recipe": (("--recipe", "nope", "-i", "prompt=a"), "There is no recipe 'nope'; shipped: still-to-clip"),
    "a missing input": ((), "/inputs/prompt is missing"),
    "an oversized input": (("-i", f"prompt={'x' * 4001}"), "/inputs/prompt is too long: 4001 of at most 4000"),
    "a value that isn't offered": (("-i", "prompt=a", "-i", "ratio=3:2"), "/inputs/ratio must be one of: 16:9"),
    "half an option": (("-i", "prompt"), "'prompt' isn't NAME=VALUE"),
    "a lone surrogate": (("-i", b"prompt=a\xff"), "/inputs/prompt holds a lone surrogate (\\udcff) at character 2"),
    "a key of two lines": (("-i", "prompt=a", "--key", "a\nb"), "/key holds U+000A at character 2"),
    "a file of lines that isn't there": (("--from", "gone.jsonl"), "gone.jsonl can't be read (No such file"),
}


def test_an_order_that_cant_be_taken_is_refused_in_one_sentence(shell: Shell) -> None:
    refused = shell.run_all([(*CREATE, *given) for given, _ in ORDERS.values()])
    for ran, (_, sentence) in zip(refused, ORDERS.values(), strict=True):
        ran.refused(2, sentence)
    assert shell.run("jobs", "list", "--json").out == ""


def test_with_json_a_refusal_names_each_field_with_its_money(shell: Shell) -> None:
    ran = shell.run(*CREATE, "-i", "ratio=3:2", "--json")
    assert (ran.code, ran.err) == (2, "")
    assert ran.object == {
        "error": "bad_value",
        "message": "/inputs/prompt is missing; one more is at fault.",
        "fields": {"/inputs/prompt": "is missing", "/inputs/ratio": "must be one of: 16:9, 9:16, 1:1"},
        "money": "none",
        "repeat_safe": True,
    }


NUMBERS = """
[recipe]
name = "numbers"
version = 1
key = ["seconds"]

[inputs.seconds]
type = "integer"
max = 9

[inputs.loud]
type = "boolean"
default = false

[[steps]]
name = "image"
provider = "reapi"
operation = "image"
model = "gemini-3.1-flash-image-preview"

[steps.request]
model = { ref = "step.model" }
prompt = "numbers"
n = { ref = "inputs.seconds" }

[[steps.outputs]]
name = "still"
kind = "image"
"""


def test_mistyped_inputs_are_told_from_fitting_ones(shell: Shell) -> None:
    (shell.folder / "numbers.toml").write_text(NUMBERS)
    create = ("jobs", "create", "--recipe", "numbers.toml")
    shell.run(*create, "-i", "seconds=five", "-i", "loud=yes").refused(
        2, "/inputs/seconds must be a number; one more is at fault", "/inputs/loud must be true or false"
    )
    assert shell.run(*create, "-i", "seconds=5", "-i", "loud=true").code == 0
    lines = '{"inputs": {"seconds": 1.5}}\n{"inputs": {"seconds": 10}}\n{"inputs": {"seconds": 5e0, "loud": true}}'
    told = [each.get("message") for each in shell.run(*create, "--from", "-", "--json", given=lines).objects]
    assert told == ["/inputs/seconds must be a whole number.", "/inputs/seconds must be at most 9.", None]


SHIPPED = read_shipped("still-to-clip")
RECIPES: dict[str, tuple[bytes, str]] = {
    "no TOML": (b"[recipe\nname = 'x'\n", "isn't TOML: Expected ']' at the end of a table declaration (at line 1"),
    "bytes that aren't text": (b"\x89PNG\r\n\x1a\n\xff\xfe", "isn't UTF-8: byte 1 can't be decoded"),
    "a misspelt key": (
        SHIPPED.replace("chars_max", "char_max", 1).encode(),
        "`inputs.prompt.char_max` isn't a key here",
    ),
    "a wrong value": (SHIPPED.replace("version = 1", "version = 'one'").encode(), "`recipe.version` must be a whole"),
    "a stranger's provider": (
        SHIPPED.replace('"reapi"', '"acme"').encode(),
        '`steps[0].provider` = "acme" is no provider; known: reapi',
    ),
    "an unknown operation": (
        SHIPPED.replace('operation = "image"', 'operation = "paint"').encode(),
        '`steps[0].operation` = "paint" is no operation of reapi; its contract lists: image, video',
    ),
    "a misspelt field": (
        SHIPPED.replace("duration = 5", "durration = 5").encode(),
        "`steps[1].request.durration` isn't a field of reapi video (did you mean `duration`?)",
    ),
    "a missing field": (
        SHIPPED.replace('prompt = { ref = "inputs.prompt" }', "seed = 1").encode(),
        "`steps[0].request.prompt` is missing: reapi image wants it in every request",
    ),
    "a price beyond exact numbers": (
        (
            SHIPPED + "\n[steps.price]\nspend_micros_max = 9007199254740991\ncurrency = 'USD'\n"
            "[steps.replacement]\nreasons = ['provider_failed']"
        ).encode(),
        "`steps` cost more than 9007199254740991 in all, by `price.spend_micros_max`",
    ),
    "too many outputs": (
        (SHIPPED + "".join(f"\n[[steps.outputs]]\nname = 'x{n}'\nkind = 'image'" for n in range(99))).encode(),
        "`steps` have 101 outputs in all; at most 100",
    ),
    "a count beyond any database": (
        SHIPPED.replace("deadline_s = 1800", "deadline_s = 2147483648").encode(),
        "`steps[1].deadline_s` must be a whole number from 1 to 2147483647",
    ),
}


def test_a_recipe_file_that_cant_be_used_is_refused_by_line_or_key(shell: Shell) -> None:
    files = [shell.folder / f"{number}.toml" for number in range(len(RECIPES))]
    for file, (content, _) in zip(files, RECIPES.values(), strict=True):
        file.write_bytes(content)
    for ran, (_, sentence) in zip(
        shell.run_all([("recipe", "check", file.name) for file in files]), RECIPES.values(), strict=True
    ):
        ran.refused(2, sentence)
    shell.run("recipe", "check", ".").refused(2, "can't be read (Is a directory)")


def test_a_recipes_name_and_version_never_mean_two_things(shell: Shell) -> None:
    shell.order("a first")
    (shell.folder / "mine.toml").write_text(SHIPPED.replace("deadline_s = 1800", "deadline_s = 1801"))
    changed = shell.run("jobs", "create", "--recipe", "mine.toml", "-i", "prompt=b")
    changed.refused(2, "still-to-clip", "version")


LINES = (
    (b'{"key": "l1", "inputs": {"prompt": "one"}}', None),
    (b'{"key": "l2", "inputs": {"prompt": "two"', "The line isn't JSON: Expecting ',' delimiter at column"),
    (b"   ", ""),
    (b'{"key": "l4", "key": "l4b", "inputs": {"prompt": "x"}}', "The line has the key `key` twice"),
    (b'{"key": "l5", "inputs": {"prompt": NaN}}', "/inputs/prompt is not a finite number"),
    (b'{"key": "l6", "inputs": {"prompt": "a\\ud800b"}}', "/inputs/prompt holds a lone surrogate"),
    (b'{"key": "l1", "inputs": {"prompt": "other"}}', "it differs in /inputs/prompt: use another key"),
    (b'{"key": "l8", "inputs": {"prompt": 5}}', "/inputs/prompt must be text"),
    (b"[1, 2]", "The line must be an object"),
    (b'{"key": "l10", "inputs": {"prompt": "ok"}, "extra": 1}', "'extra', which is neither key, inputs nor campaign"),
    (b'{"key": "l11", "inputs": []}', "/inputs must be an object"),
    (b'{"key": 9, "inputs": {"prompt": "ok"}}', "/key must be text"),
    (b'{"key": "l13", "inputs": {"prompt": "\xff"}}', "The line isn't UTF-8: byte"),
    (b'{"inputs": {"prompt": "derived"}}\r', None),
    ('{"key": "l15", "inputs": {"prompt": "line\u2028separator"}}'.encode(), None),
)


def test_each_line_stands_alone_and_is_reported_by_its_number(shell: Shell) -> None:
    text = b"\xef\xbb\xbf" + b"\n".join(line for line, _ in LINES)
    (shell.folder / "lines.jsonl").write_bytes(text)
    ran = shell.run(*CREATE, "--from", "lines.jsonl", "--json")
    assert (ran.code, ran.err) == (2, "")
    told = {each["line"]: each for each in ran.objects}
    for number, (_, sentence) in enumerate(LINES, start=1):
        assert_told(told.pop(number, None), sentence)
    assert told == {}
    assert len(shell.run("jobs", "list").lines) == 3


def assert_told(told: Json | None, sentence: str | None) -> None:
    """A refused line has its sentence, a taken one its job, an empty one nothing."""
    if sentence == "":
        assert told is None
    elif told is None or sentence is None:
        assert told is not None
        assert told["new"] is True
    else:
        assert sentence in told["message"]
        assert told["error"] in ("bad_value", "key_conflict")


def test_the_same_lines_again_make_nothing_new_whatever_their_spelling(shell: Shell) -> None:
    first = '{"key": "a", "inputs": {"prompt": "é", "ratio": "1:1"}}\n{"inputs": {"prompt": "b"}}\n'
    again = (
        '{"inputs": {"ratio": "1:1", "prompt": "\\u00e9"}, "key": "a"}\n{"inputs": {"prompt": "b", "ratio": "16:9"}}\n'
    )
    taken = shell.run(*CREATE, "--from", "-", given=first)
    stood = shell.run(*CREATE, "--from", "-", given=again)
    assert (taken.code, stood.code) == (0, 0)
    assert taken.lines[-1] == "2 new, 0 stood already, 0 refused."
    assert stood.lines[-1] == "0 new, 2 stood already, 0 refused."


def test_a_refused_line_names_what_differs(shell: Shell) -> None:
    shell.order("the first prompt", key="mine")
    other = '{"key": "mine", "inputs": {"prompt": "another", "ratio": "1:1"}}'
    ran = shell.run(*CREATE, "--from", "-", given=other)
    assert ran.code == 2
    assert ran.lines[1:3] == [
        "  /inputs/prompt differs (7 characters, was 16)",
        "  /inputs/ratio differs (3 characters, was 4)",
    ]


def test_what_a_check_cant_know_is_said_in_words(shell: Shell) -> None:
    (shell.folder / "seed.toml").write_text(SHIPPED.replace("\nn = 1", "\nseed = 1"))
    ran = shell.run("recipe", "check", "seed.toml")
    assert ran.code == 0
    assert "  not checked: step image: reapi's contract doesn't know `seed`; sent as written" in ran.lines
    assert (
        "  not checked: step video: whether wan3.0-video takes these fields and their values only reapi knows"
        in ran.lines
    )
    assert "sound" not in ran.out
