"""Files that were found, their bytes by digest, and the expected outputs that they fill."""

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from onetake.clock import Clock, new_id
from onetake.domain.events import ArtifactEvent, OutputEvent
from onetake.domain.outputs import Measures, OutputSpec
from onetake.domain.states import ArtifactState, ArtifactUse, OutputState
from onetake.domain.transitions import ARTIFACT, OUTPUT
from onetake.store.database import Row, Tx

ASKED_ANEW = 0
"""In place of the moment at which an address was named: a person wants a fresh one, or to hear the same again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An expected output as it was read."""

    id: str
    job_id: str
    step_id: str
    hold_id: str
    name: str
    ordinal: int
    spec: OutputSpec
    state: OutputState
    artifact_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that was found, as it was read. `address` is signed: never shown, never logged."""

    id: str
    attempt_id: str
    ordinal: int
    address: str
    address_at: int
    state: ArtifactState
    use: ArtifactUse | None
    digest: str | None


def insert_expected(
    tx: Tx, clock: Clock, *, job_id: str, step_id: str, hold_id: str, name: str, ordinal: int, spec: OutputSpec
) -> None:
    """A row that says what must be delivered."""
    tx.put(
        "INSERT INTO expected_outputs (id, job_id, step_id, hold_id, name, ordinal, spec, state)"
        " VALUES (:id, :job, :step, :hold, :name, :ordinal, :spec, 'missing')",
        {
            "id": new_id("out", clock),
            "job": job_id,
            "step": step_id,
            "hold": hold_id,
            "name": name,
            "ordinal": ordinal,
            "spec": json.dumps(asdict(spec)),
        },
    )


def list_expected(tx: Tx, *, step_id: str) -> list[Expected]:
    """The expected outputs of a step, in order."""
    rows = tx.all(
        "SELECT id, job_id, step_id, hold_id, name, ordinal, spec, state, artifact_id FROM expected_outputs"
        " WHERE job_id = (SELECT job_id FROM steps WHERE id = :id) AND step_id = :id ORDER BY ordinal, name",
        {"id": step_id},
    )
    return [Expected(**{**row, "spec": parse_spec(row["spec"]), "state": OutputState(row["state"])}) for row in rows]


@functools.lru_cache(maxsize=1024)
def parse_spec(text: str) -> OutputSpec:
    """The spec in its stored form."""
    values: dict[str, Any] = json.loads(text)
    return OutputSpec(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})  # type: ignore[arg-type]


def found(tx: Tx, clock: Clock, *, job_id: str, attempt_id: str, addresses: tuple[str, ...]) -> int:
    """How many of the attempt's addresses are new or renewed; one row per place in the provider's list that has one."""
    changed = 0
    for ordinal, address in _at_places(addresses):
        changed += tx.do(
            "INSERT INTO artifacts (id, job_id, attempt_id, ordinal, address, address_at, state, created_at,"
            " updated_at) VALUES (:id, :job, :attempt, :ordinal, :address, :now, 'fetching', :now, :now)"
            " ON CONFLICT (attempt_id, ordinal)"
            " DO UPDATE SET address = excluded.address, address_at = :now, updated_at = :now"
            " WHERE artifacts.state = 'fetching'"
            f" AND (artifacts.address <> excluded.address OR artifacts.address_at = {ASKED_ANEW:d})",
            {
                "id": new_id("art", clock),
                "job": job_id,
                "attempt": attempt_id,
                "ordinal": ordinal,
                "address": address,
                "now": tx.now_us,
            },
        )
    return changed


def renew(tx: Tx, attempt_id: str, addresses: tuple[str, ...]) -> None:
    """Keep the addresses that the provider names now, for files that stand as for those still to be fetched."""
    for ordinal, address in _at_places(addresses):
        tx.put(
            "UPDATE artifacts SET address = :address, address_at = :now WHERE attempt_id = :id AND ordinal = :ordinal",
            {"address": address, "now": tx.now_us, "id": attempt_id, "ordinal": ordinal},
        )


def ask_anew(tx: Tx, job_id: str) -> int:
    """How many files of a job are still to be fetched; their addresses are to be asked for again before that."""
    return tx.do(
        f"UPDATE artifacts SET address_at = {ASKED_ANEW:d} WHERE job_id = :job AND state = 'fetching'"
        " AND attempt_id IN (SELECT id FROM attempts WHERE job_id = :job AND state = 'collecting')",
        {"job": job_id},
    )


def _at_places(addresses: tuple[str, ...]) -> list[tuple[int, str]]:
    """The addresses with their places in the provider's list; a place without one is missing, and keeps its number."""
    return [(ordinal, address) for ordinal, address in enumerate(addresses) if address]


def list_old_addresses(tx: Tx, job_id: str, *, before: int) -> dict[tuple[str, str], str]:
    """The filled outputs of a job whose address was last named before that moment, each with the attempt it is of.

    By step and name.
    """
    rows = tx.all(
        "SELECT s.name AS step, o.name AS output, a.attempt_id FROM expected_outputs o JOIN steps s ON s.id = o.step_id"
        " JOIN artifacts a ON a.id = o.artifact_id WHERE o.job_id = :job AND a.address_at < :before",
        {"job": job_id, "before": before},
    )
    return {(row["step"], row["output"]): row["attempt_id"] for row in rows}


def list_of_attempt(tx: Tx, attempt_id: str) -> list[Artifact]:
    """The attempt's files, in the provider's order."""
    rows = tx.all(
        "SELECT id, attempt_id, ordinal, address, address_at, state, use, digest FROM artifacts"
        " WHERE attempt_id = :id ORDER BY ordinal",
        {"id": attempt_id},
    )
    return [
        Artifact(
            **{
                **row,
                "state": ArtifactState(row["state"]),
                "use": None if row["use"] is None else ArtifactUse(row["use"]),
            }
        )
        for row in rows
    ]


def store(tx: Tx, artifact: Artifact, *, digest: str, size_bytes: int, media_type: str) -> bool:
    """Whether the file is now recorded as ours, by digest."""
    tx.put(
        "INSERT INTO blobs (digest, size_bytes, media_type, created_at) VALUES (:digest, :size, :type, :now)"
        " ON CONFLICT (digest) DO NOTHING",
        {"digest": digest, "size": size_bytes, "type": media_type, "now": tx.now_us},
    )
    return _advance(tx, artifact.id, ArtifactState.FETCHING, ArtifactEvent.STORED, {"digest": digest})


def verify(tx: Tx, artifact: Artifact, measures: Measures, use: ArtifactUse) -> bool:
    """Whether the stored file is now recorded as checked, with what it is good for."""
    changes = {"measures": json.dumps(asdict(measures)), "use": use}
    return _advance(tx, artifact.id, ArtifactState.STORED, ArtifactEvent.VERIFIED, changes)


def reject(tx: Tx, artifact: Artifact, *, measures: Measures | None, reason: str) -> bool:
    """Whether the stored file is now recorded as not what was ordered."""
    changes = {"measures": None if measures is None else json.dumps(asdict(measures)), "reason": reason}
    return _advance(tx, artifact.id, ArtifactState.STORED, ArtifactEvent.REJECTED, changes)


def _advance(
    tx: Tx, artifact_id: str, state: ArtifactState, event: ArtifactEvent, changes: Mapping[str, object]
) -> bool:
    assignments = "".join(f", {name} = :{name}" for name in changes)
    return bool(
        tx.do(
            f"UPDATE artifacts SET state = :to, updated_at = :now{assignments} WHERE id = :id AND state = :from",
            {"to": ARTIFACT.move(state, event), "now": tx.now_us, "id": artifact_id, "from": state, **changes},
        )
    )


def fill(tx: Tx, output: Expected, artifact_id: str) -> bool:
    """Whether the output was missing and is now filled by this file; the first one wins, once."""
    to = OUTPUT.move(OutputState.MISSING, OutputEvent.FILLED)
    return bool(
        tx.do(
            "UPDATE expected_outputs SET state = :to, artifact_id = :artifact, filled_at = :now"
            " WHERE id = :id AND state = 'missing'",
            {"to": to, "artifact": artifact_id, "now": tx.now_us, "id": output.id},
        )
    )


def count_kept(tx: Tx) -> int:
    """How many outputs are filled."""
    (row,) = tx.all("SELECT count(*) AS n FROM expected_outputs WHERE state = 'filled'")
    return int(row["n"])


def list_kept(tx: Tx, *, after: str, limit: int) -> list[Row]:
    """The files that fill outputs, a page of them, by the output's id: job, step, output, digest and size."""
    return tx.all(
        "SELECT o.id, o.job_id, s.name AS step, o.name AS output, a.digest, b.size_bytes FROM expected_outputs o"
        " JOIN steps s ON s.id = o.step_id JOIN artifacts a ON a.id = o.artifact_id JOIN blobs b ON b.digest = a.digest"
        f" WHERE o.state = 'filled' AND o.id > :after ORDER BY o.id LIMIT {limit:d}",
        {"after": after},
    )


def list_rejected(tx: Tx, job_id: str) -> list[Row]:
    """The files of a job that are not what was ordered: step, attempt, digest, reason; oldest first."""
    return tx.all(
        "SELECT s.name AS step, t.no AS attempt_no, a.digest, a.reason FROM artifacts a"
        " JOIN attempts t ON t.id = a.attempt_id JOIN steps s ON s.id = t.step_id"
        " WHERE a.job_id = :job AND a.state = 'rejected' ORDER BY a.created_at, a.ordinal",
        {"job": job_id},
    )


def list_files(tx: Tx, job_id: str) -> list[Row]:
    """The files that fill a job's outputs: step, output, digest, type, size, measures; in the recipe's order."""
    rows = tx.all(
        "SELECT s.name AS step, o.name AS output, o.ordinal, o.state, a.digest, b.media_type, b.size_bytes, a.measures,"
        " a.address, o.filled_at FROM expected_outputs o JOIN steps s ON s.id = o.step_id"
        " LEFT JOIN artifacts a ON a.id = o.artifact_id LEFT JOIN blobs b ON b.digest = a.digest"
        " WHERE o.job_id = :job ORDER BY s.position, o.ordinal, o.name",
        {"job": job_id},
    )
    return [{**row, "measures": None if row["measures"] is None else json.loads(row["measures"])} for row in rows]
