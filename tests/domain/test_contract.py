"""A provider's promises as data: what ships is read, and whatever isn't understood is refused in one sentence."""

import tomllib
from importlib.resources import files

import pytest

from onetake.domain.contract import Contract, parse_contract, status_key
from onetake.domain.errors import RecipeError
from onetake.providers.adapter import list_contracts, load_contract

SHIPPED = (files("onetake.providers") / "contracts" / "reapi.toml").read_text("utf-8")


def changed(old: str, new: str) -> str:
    assert old in SHIPPED
    return SHIPPED.replace(old, new, 1)


@pytest.mark.parametrize("provider", list_contracts())
def test_what_ships_is_read(provider: str) -> None:
    contract = load_contract(provider)
    assert contract.provider == provider
    assert contract.evidence
    assert contract.operations


def test_reapi_promises_what_its_file_says() -> None:
    contract, table = load_contract("reapi"), tomllib.loads(SHIPPED)
    assert (contract.idempotency.kind, contract.lookup.kind) == ("none", "none")
    assert {name: each.path for name, each in contract.operations.items()} == {
        "image": "/api/v1/images/generations",
        "video": "/api/v1/videos/generations",
    }
    assert contract.accept.ref_paths == ("id", "task_id")
    assert contract.poll.statuses == table["poll"]["statuses"]
    assert contract.refusals.statuses == set(table["refuse"]["statuses"])
    assert contract.poll.charged_on_failure == "no"


def test_an_operation_is_asked_for_by_name() -> None:
    contract = load_contract("reapi")
    assert contract.operation("image").address_paths == ("output.image_urls[]",)
    with pytest.raises(RecipeError, match="reapi has no operation 'audio'; its contract lists: image, video"):
        contract.operation("audio")


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    for name in ("reapy", "../../recipes/still-to-clip", ""):
        with pytest.raises(RecipeError, match=r"There is no provider .*; known: .*reapi"):
            load_contract(name)


def parsed(text: str) -> Contract:
    return parse_contract(text, "reapi.toml")


def test_the_version_names_what_is_stated_not_how() -> None:
    version = parsed(SHIPPED).version
    assert parsed("# another remark\n" + SHIPPED).version == version
    assert parsed(SHIPPED.replace("statuses = [400, 401,", "statuses = [401, 400,")).version != version
    assert parsed(changed("later = [429]", "later = []")).version != version


def test_what_is_not_stated_is_not_promised() -> None:
    text = changed("later = [429]\n", "")
    for statement in (
        '[idempotency]\nkind = "none"\n',
        '[lookup]\nkind = "none"\n',
        'charged_on_failure = "no"\n',
        'model_path = "model"\n',
        'moderation_codes = ["content_policy_violation", "moderation", "moderation_blocked"]\n',
    ):
        assert statement in text
        text = text.replace(statement, "", 1)
    contract = parsed(text)
    kinds = (contract.idempotency.kind, contract.lookup.kind)
    assert (kinds, contract.poll.charged_on_failure) == (("none", "none"), "unknown")
    assert (contract.refusals.later, contract.refusals.moderation_codes) == (frozenset(), frozenset())
    assert (contract.poll.model_path, contract.accept.locator_path) == ("", "")


def test_a_status_word_is_listed_whatever_its_case_and_blanks() -> None:
    contract = parsed(changed('completed = "finished"', '" Completed " = "finished"\nCOMPLETED = "finished"'))
    assert contract.poll.statuses[status_key("completed")] == "finished"


REFUSALS = [
    ("[poll]", '[poll]\ncost_path = "cost"', "`poll.cost_path` needs cost_unit_micros and cost_currency beside it"),
    # the whole
    ('provider = "reapi"', "provider =", "isn't TOML: "),
    ('provider = "reapi"', 'provider = "re\x00api"', "isn't TOML: "),
    ('provider = "reapi"', "provider = " + "9" * 5000, "holds a whole number of thousands of digits"),
    ('provider = "reapi"', "x = " + "[" * 5000, "nested"),
    ('provider = "reapi"', "", "`provider` is missing"),
    ('provider = "reapi"', 'provider = "re api"', "`provider` must be a name"),
    ('provider = "reapi"', 'provider = "reapi"\nretries = 3', "`retries` isn't a key here"),
    ('provider = "reapi"', 'provdier = "reapi"', "`provider` is missing; `provdier` isn't a key here"),
    ('"2026-11-30"', '"yesterday"', "`verified_on` must be a day, as YYYY-MM-DD"),
    ('"2026-11-30"', "2026-11-30", "`verified_on` is of type date, which has no form in JSON"),
    ('verified_on = "2026-11-30"', "", "`verified_on` is missing"),
    ("[idempotency]", "[[idempotency]]", "`idempotency` must be a table"),
    ('support = "reAPI', "support = 5\n# ", "`support` must be text"),
    # its tables
    ("[key]", "[keys]", "`key.header` is missing"),
    ("[key]", "[[key]]", "`key` must be a table"),
    ('header = "Authorization"', "header = 1", "`key.header` must be text"),
    ('format = "Bearer {key}"', 'format = "Bearer"', "`key.format` must be text with {key} in it"),
    ('format = "Bearer {key}"', 'format = "{key}"\nprefix = ""', "`key.prefix` isn't a key here"),
    ('path = "/v1/models"', 'path = "v1/models"', "`models.path` must be a path that begins with /"),
    ('item_path = "data[].id"', 'item_path = "data[0].id"', "`models.item_path` must be a dotted path"),
    ('item_path = "data[].id"', 'item_path = "data[].id"\nttl_s = 5', "`models.ttl_s` isn't a key here"),
    # operations
    ("[operations.image]", "[operations.Image]", "`operations.Image` must be a name"),
    ("[operations.image]", "[operations]\naudio = 1\n[operations.image]", "`operations.audio` must be a table"),
    ('path = "/api/v1/images/generations"', "", "`operations.image.path` is missing"),
    ('["output.image_urls[]"]', "[]", "`operations.image.address_paths` must have at least one entry"),
    ('["output.image_urls[]"]', '"output.image_urls[]"', "`operations.image.address_paths` must be a list"),
    ('["output.image_urls[]"]', '["a b"]', "`operations.image.address_paths[0]` must be a dotted path"),
    ('["output.image_urls[]"]', '["a"]\nmethod = "PUT"', "`operations.image.method` isn't a key here"),
    # accept
    ('ref_paths = ["id", "task_id"]', "", "`accept.ref_paths` is missing"),
    ('ref_paths = ["id", "task_id"]', "ref_paths = [1]", "`accept.ref_paths[0]` must be text"),
    ('ref_paths = ["id", "task_id"]', 'ref_paths = ["id", "id"]', "`accept.ref_paths[1]` is there twice"),
    ('ref_paths = ["id", "task_id"]', 'ref_paths = ["$.id"]', "`accept.ref_paths[0]` must be a dotted path"),
    (
        'ref_paths = ["id", "task_id"]',
        'ref_paths = ["id"]\nlocator_pth = "url"',
        "`accept.locator_pth` isn't a key here (did you mean `locator_path`?)",
    ),
    # refuse
    ("later = [429]", "later = 429", "`refuse.later` must be a list"),
    ("later = [429]", 'later = ["429"]', "`refuse.later[0]` must be an HTTP status from 300 to 599"),
    ("later = [429]", "later = [429, true]", "`refuse.later[1]` must be an HTTP status from 300 to 599"),
    ("later = [429]", "later = [200]", "`refuse.later[0]` must be an HTTP status from 300 to 599"),
    ("later = [429]", "later = [429, 400]", "`refuse.later` lists 400, and so does statuses: it is one or the other"),
    ("later = [429]", "latter = [429]", "`refuse.latter` isn't a key here (did you mean `later`?)"),
    ('shape_path = "error"', "", "`refuse.shape_path` is missing"),
    ('shape_path = "error"', 'shape_path = ""', "`refuse.shape_path` must be a dotted path"),
    # poll
    ('"/api/v1/tasks/{ref}"', '"/api/v1/tasks/"', "`poll.path` must be a path with {ref} in it"),
    ('"/api/v1/tasks/{ref}"', '"/api/v1/tasks/{ref}"\nmethod = "POST"', "`poll.method` isn't a key here"),
    ('status_path = "status"', "status_path = []", "`poll.status_path` must be a dotted path"),
    ("missing = [404]", "missing = [4040]", "`poll.missing[0]` must be an HTTP status from 300 to 599"),
    ('charged_on_failure = "no"', 'charged_on_failure = "maybe"', "`poll.charged_on_failure` must be one of: yes, no,"),
    (
        'failed = "failed"',
        'failed = "dead"',
        "`poll.statuses.failed` must be one of: queued, working, finished, failed",
    ),
    ('completed = "finished"', 'completed = "finnished"', "did you mean `finished`?"),
    ('completed = "finished"', 'completed = "working"', "`poll.statuses` must have a word that means finished"),
    ('failed = "failed"', 'failed = "failed"\n" FAILED" = "working"', "is there twice, with two meanings"),
]


@pytest.mark.parametrize(("old", "new", "reason"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_is_not_understood_is_refused_in_one_sentence(old: str, new: str, reason: str) -> None:
    with pytest.raises(RecipeError) as refused:
        parsed(changed(old, new))
    assert reason in refused.value.sentence
    assert refused.value.sentence.startswith("reapi.toml: ")
    assert refused.value.sentence.endswith(".")
    assert "\n" not in refused.value.sentence


def test_a_contract_without_operations_orders_nothing() -> None:
    before, _, rest = SHIPPED.partition("[operations.image]")
    text = before + "[accept]" + rest.partition("[accept]")[2]
    with pytest.raises(RecipeError, match="`operations` must have at least one entry"):
        parsed(text)


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"reapi\.toml: isn't UTF-8"):
        parse_contract(SHIPPED.encode().replace(b"reAPI", b"re\xffAPI", 1), "reapi.toml")
