"""Contracts for tests: reAPI's, with promises that it doesn't make and the sandbox can be told to keep."""

from importlib.resources import files
from pathlib import Path

from onetake.clock import SystemClock
from onetake.domain.recovering import day_of

READ_ON = 'verified_on = "2026-11-30"'
SHIPPED = (files("onetake.providers") / "contracts" / "reapi.toml").read_text("utf-8")
_NO_REPLAY = '[idempotency]\nkind = "none"\n'
_NO_LOOKUP = '[lookup]\nkind = "none"\n'

REPLAYED = """[idempotency]
kind = "replay_fingerprint"
header = "Idempotency-Key"
window_s = 3600
reuse_codes = ["idempotency_mismatch"]
refusal_is_proof = true
"""
REFUSED = """[idempotency]
kind = "reject_on_reuse"
header = "Idempotency-Key"
window_s = 3600
reuse_codes = ["idempotency_key_reuse"]
"""
BY_KEY = """[lookup]
kind = "client_reference"
header = "Idempotency-Key"
path = "/api/v1/tasks?client_key={reference}"
items_path = "data[]"
visible_after_s = 10
window_s = 86400
is_conclusive = true
"""
BY_ECHO = """[lookup]
kind = "list_echo"
path = "/api/v1/tasks?created_after={from}&created_before={until}"
items_path = "data[]"
model_path = "model"
created_path = "created_at"
times = "unix"
visible_after_s = 10
window_s = 86400

[lookup.echoes]
prompt = "input.prompt"
"""
BY_TIME = BY_ECHO.partition("[lookup.echoes]")[0].replace("list_echo", "list_time")


def stated(*, idempotency: str = _NO_REPLAY, lookup: str = _NO_LOOKUP) -> str:
    """The contract with these tables in place of its own."""
    assert _NO_REPLAY in SHIPPED
    assert _NO_LOOKUP in SHIPPED
    return SHIPPED.replace(_NO_REPLAY, idempotency).replace(_NO_LOOKUP, lookup)


def contract_file(folder: Path, *, idempotency: str = _NO_REPLAY, lookup: str = _NO_LOOKUP) -> str:
    """The path of a file that states these promises, read today, so that none has run out."""
    text, path = stated(idempotency=idempotency, lookup=lookup), folder / "contract.toml"
    assert READ_ON in text
    path.write_text(text.replace(READ_ON, f'verified_on = "{day_of(SystemClock().now_us())}"'), "utf-8")
    return str(path)
