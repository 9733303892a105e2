"""What an adapter makes of a contract: where our key goes, where a look-up goes, and whose contract is read."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from onetake.config import ProviderSettings
from onetake.domain.errors import RecipeError
from onetake.domain.jsonvalue import Json
from onetake.domain.recognition import Sent
from onetake.providers.adapter import Adapter
from onetake.providers.catalogue import contract_of, read_contract
from tests.engine.promises import BY_KEY, REPLAYED, contract_file, stated

BODY: dict[str, Json] = {"model": "m", "prompt": "a fox"}
SENT = Sent(model="m", body=BODY, from_us=0, until_us=1)


def adapter(file: str = "") -> Adapter:
    settings = ProviderSettings(base_url="http://127.0.0.1:9", api_key=SecretStr("rk_test"), contract=file)
    return Adapter.of("reapi", settings)


def test_no_key_is_sent_where_none_is_taken() -> None:
    plain = adapter()
    request = plain.submit_request("image", dict(BODY), key="k1")
    assert not plain.takes_key
    assert (sorted(dict(request.headers)), json.loads(request.body)) == (["Accept", "Content-Type"], BODY)


def test_a_key_goes_where_the_contract_says_and_changes_nothing_else(tmp_path: Path) -> None:
    in_header = adapter(contract_file(tmp_path, idempotency=REPLAYED, lookup=BY_KEY))
    request = in_header.submit_request("image", dict(BODY), key="k1")
    assert in_header.takes_key
    assert request.headers[2:] == (("Idempotency-Key", "k1"),)  # once, though both promises name it
    assert json.loads(request.body) == BODY
    by_field = BY_KEY.replace('header = "Idempotency-Key"', 'field = "external_task_id"')
    in_field, body = adapter(contract_file(tmp_path, lookup=by_field)), dict(BODY)
    request = in_field.submit_request("image", body, key="k1")
    assert json.loads(request.body) == {**BODY, "external_task_id": "k1"}
    assert body == BODY  # what was frozen stays
    assert json.loads(in_field.submit_request("image", ["odd"], key="k1").body) == ["odd"]
    assert json.loads(in_field.submit_request("image", body).body) == BODY


def test_a_look_up_is_a_get_at_the_providers_own_origin(tmp_path: Path) -> None:
    request = adapter(contract_file(tmp_path, lookup=BY_KEY)).lookup_request(reference="k1", sent=SENT)
    assert (request.method, request.url) == ("GET", "http://127.0.0.1:9/api/v1/tasks?client_key=k1")


def test_a_contract_file_is_read_in_place_of_what_ships(tmp_path: Path) -> None:
    assert contract_of("reapi", contract_file(tmp_path, idempotency=REPLAYED)).idempotency.is_replay
    assert not contract_of("reapi", "").idempotency.is_replay


def test_what_is_no_contract_is_refused(tmp_path: Path) -> None:
    (tmp_path / "luma.toml").write_text(stated().replace('"reapi"', '"luma"'))
    with pytest.raises(RecipeError, match="`provider` is luma, and reapi was to be read"):
        contract_of("reapi", str(tmp_path / "luma.toml"))
    for name, words in (("gone.toml", "There is no contract"), ("a\0b", "There is no contract"), ("", "can't be read")):
        with pytest.raises(RecipeError, match=words):
            read_contract(str(tmp_path / name))
