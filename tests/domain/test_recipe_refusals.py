"""Whatever is wrong with a recipe is refused in one sentence that names file, key (or line) and reason."""

import pytest

from onetake.domain.errors import RecipeError
from onetake.domain.jsonvalue import Json
from onetake.domain.recipe_toml import parse_recipe, recipe_from_content
from tests.domain.recipes import FULL, full

LEFT = '[[steps.outputs]]\nname = "left"'
SOUND = '[[steps.outputs]]\nname = "sound"\nkind = "audio"\n'

REFUSALS = [
    # the whole
    ('name = "two-halves"', 'name = "Two Halves"', "`recipe.name` must be a name"),
    ('name = "two-halves"', "", "`recipe.name` is missing"),
    ("version = 3", "version = 0", "`recipe.version` must be a whole number from 1 to"),
    ("version = 3", "version = -3", "`recipe.version` must be a whole number from 1 to"),
    ("version = 3", "version = true", "`recipe.version` must be a whole number"),
    ("version = 3", "version = 1e999", "`recipe.version` is too large a number"),
    ("version = 3", "version = 1e99999999999999999999999", "`recipe.version` is not a finite number"),
    ('title = "Two halves"', 'title = ""', "`recipe.title` must be one line"),
    ('title = "Two halves"', "titel = 1", "`recipe.titel` isn't a key here (did you mean `title`?)"),
    ('summary = "Draws', 'summary = "\\u0000Draws', "`recipe.summary` holds NUL at character 1"),
    ('partial = "incomplete"', 'partial = "incomplet"', "one of: failed, incomplete (did you mean `incomplete`?)"),
    (
        'key = ["order", "cut_s"]',
        'key = ["odrer"]',
        "`recipe.key[0]` names no input of this recipe (did you mean `order`?)",
    ),
    ('key = ["order", "cut_s"]', 'key = ["order", "order"]', "`recipe.key[1]` is there twice"),
    ('key = ["order", "cut_s"]', "key = [1]", "`recipe.key[0]` must be text"),
    ('key = ["order", "cut_s"]', "key = []", "`recipe.key` must name an input"),
    ('key = ["order", "cut_s"]', 'key = "order"', "`recipe.key` must be a list"),
    ("[recipe]", "[recpie]", "`recpie` isn't a key here (did you mean `recipe`?)"),
    ("[recipe]", "[prices]\n[recipe]", "`prices` isn't a key here"),
    ("[recipe]", "steps = 5\n[recipe]", "isn't TOML: "),
    # inputs
    ("[inputs.order]", "[inputs.Order]", "`inputs.Order` must be a name"),
    ("[inputs.order]", "[inputs]\nwords2 = 5\n[inputs.order]", "`inputs.words2` must be a table"),
    ('type = "boolean"', 'type = "bool"', "`inputs.loud.type` must be one of: text, integer, number, boolean, choice"),
    ('type = "boolean"', 'type = "boolean"\nmax = 1', "`inputs.loud.max` isn't a key here"),
    ('label = "Order number"', 'label = "two\\nlines"', "`inputs.order.label` must be one line"),
    ("default = false", "default = 0", "`inputs.loud.default` must be true or false"),
    ("default = 0.25", "default = 1.25", "`inputs.strength.default` must be at most 1"),
    ("default = 0.25", "default = nan", "`inputs.strength.default` is not a finite number"),
    ('default = "1:1"', 'default = "2:1"', "`inputs.ratio.default` must be one of: 16:9, 1:1"),
    ("chars_min = 2", "chars_min = 101", "`inputs.words.chars_min` is more than chars_max"),
    ("chars_max = 100", "chars_max = 0", "`inputs.words.chars_max` must be a whole number from 1"),
    ("bytes_max = 300", "bytes_max = 0", "`inputs.words.bytes_max` must be a whole number from 1"),
    ("bytes_max = 300", 'bytes_max = 300\ndefault = "a"', "`inputs.words.default` is too short: 1 of at least 2"),
    ("min = 1\n", "min = 1.5\n", "`inputs.order.min` must be a whole number"),
    ("max = 9999", "max = 0", "`inputs.order.min` is more than max"),
    ("max = 9999", 'max = "9"', "`inputs.order.max` must be a number"),
    ("choices = [5, 12, 23]", "choices = []", "`inputs.cut_s.choices` must have at least one entry"),
    ("choices = [5, 12, 23]", "choices = [5, 5.0]", "`inputs.cut_s.choices[1]` is there twice"),
    ("choices = [5, 12, 23]", "choices = [true]", "`inputs.cut_s.choices[0]` must be a number, or one line"),
    ('choices = ["16:9", "1:1"]', 'choices = ["16:9\\n"]', "`inputs.ratio.choices[0]` must be a number, or one line"),
    # steps
    (
        'kind = "process"',
        'kind = "generat"',
        "`steps[1].kind` must be one of: generate, process (did you mean `generate`?)",
    ),
    ('kind = "process"', 'kind = "process"\nmodel = "m"', "`steps[1].model` isn't a key here"),
    ('kind = "process"', 'kind = "process"\nrequest = { m = { ref = "step.model" } }', "a process step has none"),
    ('name = "join"', 'name = "draw"', "`steps[1].name` is the name of another step"),
    ('name = "join"', 'name = "Join"', "`steps[1].name` must be a name: a-z, 0-9 and _"),
    ('model = "mover-1"', 'model = "mover 1"', "`steps[2].model` must be a model's id"),
    ('model = "mover-1"\n', "", "`steps[2].model` is missing"),
    ("deadline_s = 60", "deadline_s = 0", "`steps[0].deadline_s` must be a whole number from 1"),
    (
        'needs = ["draw", "join"]',
        'needs = ["draw", "jion"]',
        "`steps[2].needs[1]` names no step of this recipe (did you",
    ),
    ('needs = ["draw", "join"]', 'needs = ["join"]', "refers to step `draw`, which `needs` doesn't name"),
    ('needs = ["draw"]', 'needs = ["move"]', "`steps` need each other in a circle: "),
    ('needs = ["draw"]', 'needs = ["join"]', "`steps` need each other in a circle: join -> join"),
    ("count_max = 3", "count_max = -1", "`steps[0].repeats.count_max` must be a whole number from 0"),
    ("count_max = 3", "count = 1", "`steps[0].repeats.count` isn't a key here (did you mean `count_max`?)"),
    ('["provider_failed"]', '["moderation"]', "`steps[0].replacement.reasons[0]` is never bought again by a rule"),
    ('["provider_failed"]', '["provider_failed", "input"]', "`steps[0].replacement.reasons[1]` is never bought again"),
    ('["provider_failed"]', '["timeout"]', "`steps[0].replacement.reasons[0]` must be one of: provider_failed"),
    ('["provider_failed"]', "[]", "`steps[0].replacement.reasons` must name at least one reason"),
    ("credits = 4", "credits = -4", "`steps[0].price.credits` must be a whole number from 0"),
    ("spend_micros_max = 40000", "spend_micros_max = 0.5", "`steps[0].price.spend_micros_max` must be a whole number"),
    ('currency = "USD"', 'currency = "usd"', "`steps[0].price.currency` must be three capitals"),
    # requests
    (
        '"inputs.words"',
        '"inputs.wrods"',
        "`steps[0].request.text` refers to no input of this recipe (did you mean `words`?)",
    ),
    (
        '"inputs.strength"',
        '"input.strength"',
        "`steps[0].request.nested[0][0].strength` refers to nothing: write inputs.NAME",
    ),
    ('{ ref = "inputs.words" }', "{ ref = 5 }", "`steps[0].request.text` must be a reference written as text"),
    (
        '{ ref = "inputs.words" }',
        '{ ref = "inputs.words", or = 1 }',
        "`steps[0].request.text` has other keys beside `ref`",
    ),
    ("2.50", "1979-05-27", "`steps[0].request.nested[2]` is of type date, which has no form in JSON"),
    ("2.50", '"\\u0000"', "`steps[0].request.nested[2]` holds NUL at character 1"),
    ("2.50", "{ a = [-inf] }", "`steps[0].request.nested[2].a[0]` is not a finite number"),
    ("[steps.request]\nmodel", "[steps.reqeust]\nmodel", "`steps[0].request` is missing; `reqeust` isn't a key here"),
    ("[steps.request]\nfirst", 'request = "x"\n[steps.handoff2]\nfirst', "`steps[2].request` must be a table"),
    (
        'last = { ref = "steps.draw.outputs.right" }',
        'last = { ref = "steps.darw.outputs.right" }',
        "no step of this recipe (did",
    ),
    (
        'last = { ref = "steps.draw.outputs.right" }',
        'last = { ref = "steps.draw.outputs.rihgt" }',
        "no output of step `draw` (did",
    ),
    (
        'draw.left = "upload"',
        'draw.left = "post"',
        "`steps[2].handoff.draw.left` must be one of: provider_address, upload",
    ),
    (
        'draw.left = "upload"',
        'draw.middle = "upload"',
        "`steps[2].handoff.draw.middle` isn't referred to in the request",
    ),
    ('draw.left = "upload"', 'draw = "upload"', "`steps[2].handoff.draw` must be a table"),
    # outputs
    (SOUND, "outputs = []\n[steps.price2]\n", "`steps[1].outputs` must have at least one entry"),
    (SOUND, "outputs = [1]\n[steps.price2]\n", "`steps[1].outputs[0]` must be a table"),
    (SOUND, "", "`steps[1].outputs` is missing"),
    ('name = "right"', 'name = "left"', "`steps[0].outputs[1].name` is the name of another output of this step"),
    ('kind = "audio"\n', "", "`steps[1].outputs[0].kind` is missing"),
    ('kind = "audio"\n', 'kind = "sound"\n', "`steps[1].outputs[0].kind` must be one of: image, video, audio"),
    (LEFT, LEFT + "\nfps = 24", "`steps[0].outputs[0].fps` isn't a key here"),
    (SOUND, SOUND + "width_px = 5\n", "`steps[1].outputs[0].width_px` isn't a key here"),
    ("height_px = 100", "height_px = 0", "`steps[0].outputs[0].height_px` must be a whole number from 1"),
    ("height_px = 100", 'height_px = "100"', "`steps[0].outputs[0].height_px` must be a whole number from 1"),
    ('["image/png"]', '["PNG"]', '`steps[0].outputs[0].media_types` must be a list such as ["image/png"]'),
    ('["image/png"]', '"image/png"', '`steps[0].outputs[0].media_types` must be a list such as ["image/png"]'),
    ('{ ref = "inputs.ratio" }', '"wide"', '`steps[0].outputs[1].ratio` must be a ratio such as "16:9"'),
    ('{ ref = "inputs.ratio" }', '"16:0"', "must be a ratio"),
    ('choices = ["16:9", "1:1"]', 'choices = ["1:1", "any"]', 'must be a ratio such as "16:9"; `ratio` allows others'),
    (
        '{ ref = "inputs.ratio" }',
        '{ ref = "inputs.words" }',
        "must refer to a choice, or to an integer with min and max",
    ),
    ('{ ref = "inputs.ratio" }', '{ ref = "inputs.rato" }', "`steps[0].outputs[1].ratio` must refer to an input"),
    ('{ ref = "inputs.ratio" }', '{ ref = "step.model" }', "`steps[0].outputs[1].ratio` must refer to an input"),
    ("min = 1\nmax = 9999", "max = 9999", "must refer to a choice, or to an integer with min and max"),
    (
        "min = 1\nmax = 9999",
        "min = 0\nmax = 9999",
        "must be a whole number from 1 to 9007199254740991; `order` allows others",
    ),
    (
        "duration_ms = 5000",
        "duration_ms = 5000\nduration_s = 5",
        "`steps[2].outputs[0].duration_s` says the same as duration_ms",
    ),
    ("duration_ms = 5000", "duration_s = 0.0005", "must be a number above 0 with at most three digits after the point"),
    ("duration_ms = 5000", "duration_s = 1.0000000000000000000000000000000000001", "with at most three digits"),
    ("duration_ms = 5000", "duration_s = true", "`steps[2].outputs[0].duration_s` must be a number above 0"),
    ("duration_ms = 5000", "duration_s = 0", "`steps[2].outputs[0].duration_s` must be a number above 0"),
    ("fps = 24", "fps = 1001", "`steps[2].outputs[0].fps` must be a number above 0, at most 1000"),
    (
        "ratio_tolerance = 0.05",
        "ratio_tolerance = 5",
        "`steps[2].outputs[0].ratio_tolerance` must be a number from 0 to 1",
    ),
    ('audio = "required"', 'audio = "yes"', "`steps[2].outputs[0].audio` must be one of: required, forbidden, any"),
]


@pytest.mark.parametrize(
    ("old", "new", "words"), REFUSALS, ids=[f"{new or 'no ' + old:.50}" for old, new, _ in REFUSALS]
)
def test_one_wrong_thing_is_one_sentence(old: str, new: str, words: str) -> None:
    assert FULL.count(old) >= 1
    with pytest.raises(RecipeError) as caught:
        parse_recipe(FULL.replace(old, new, 1), "mine.toml")
    sentence = caught.value.sentence
    assert sentence.startswith("mine.toml: ")
    assert words in sentence
    assert sentence.endswith(".")
    assert sentence.isprintable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[recipe]\nname = "x', "isn't TOML: "),
        ("[recipe]\nname == 1", "(at line 2, column 7)"),
        ("a = 1\na = 2", "isn't TOML: Cannot overwrite a value"),
        pytest.param("a = 1" + "0" * 5000, "holds a whole number of thousands of digits", id="5001 digits"),
        pytest.param("a = " + "[" * 5000, "is nested too deep", id="5000 deep"),
        (b"a = '\xe9'", "isn't UTF-8: byte 6 can't"),
        ("", "`recipe.name` is missing"),
        ('a = "\\ud800"', "isn't TOML: "),
    ],
)
def test_text_that_is_no_toml_is_refused_by_line(text: str | bytes, words: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(text, "mine.toml")
    assert caught.value.sentence.startswith("mine.toml: ")
    assert words in caught.value.sentence


def _priced(count: int, price: str) -> str:
    """A recipe of one step with so many outputs at that price."""
    head = '[recipe]\nname = "many"\nversion = 1\ntitle = "Many"\nkey = ["words"]\n'
    head += '[inputs.words]\ntype = "text"\nchars_max = 9\n'
    outputs = "".join(f'[[steps.outputs]]\nname = "still{number}"\nkind = "image"\n' for number in range(count))
    return (
        f'{head}[[steps]]\nname = "draw"\nprovider = "reapi"\noperation = "image"\nmodel = "m"\n'
        f'[steps.request]\nprompt = {{ ref = "inputs.words" }}\n{price}{outputs}'
    )


@pytest.mark.parametrize(
    ("count", "price", "words"),
    [
        (101, "", "have 101 outputs in all; at most 100"),
        (2, f"[steps.price]\ncredits = {2**53 - 1}\nspend_micros_max = 1\ncurrency = 'USD'\n", "by `price.credits`"),
        (
            2,
            (
                f"[steps.price]\ncredits = 1\nspend_micros_max = {2**53 - 1}\ncurrency = 'USD'\n"
                "[steps.replacement]\nreasons = ['provider_failed']\n"
            ),
            "by `price.spend_micros_max`",
        ),
    ],
)
def test_more_than_a_job_can_hold_is_refused(count: int, price: str, words: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(_priced(count, price), "mine.toml")
    assert words in caught.value.sentence


def test_the_place_is_also_told_as_a_json_pointer() -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(FULL.replace('"inputs.strength"', '"inputs.x"'), "mine.toml")
    assert list(caught.value.fields) == ["/steps/0/request/nested/0/0/strength"]


def test_stored_content_that_was_tampered_with_is_refused() -> None:
    content: dict[str, Json] = {**full().content(), "steps": []}
    with pytest.raises(RecipeError, match=r"^the database: `steps` must have at least one entry\.$"):
        recipe_from_content(content, "the database")
