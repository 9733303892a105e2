"""The laws, checked from outside: raw rows, files and the provider's bill. Nothing of the engine is imported.

An `Auditor` remembers what it saw, so that what may never change is compared with every earlier look.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.engine.keeping import Row, Tables

APPENDED = {
    "refs": ("disowned_at",),
    "holds": (),
    "hold_closings": (),
    "quote_lines": (),
    "allowances": ("reserved_at", "settled_micros", "settled_requests", "settled_at", "day"),
    "ledger_entries": (),
    "quote_requests": (),
    "acts": (),
    "charges": ("attempt_id", "case_id"),
    "journal": (),
    "wires": (),
    "job_requests": (),
    "step_requests": (),
    "manifests": (),
    "evidence": (),
    "decisions": (),
    "recipes": (),
    "blobs": (),
}
"""Tables whose rows are only ever added, with the columns that may change all the same."""

FINAL = {
    "jobs": {"complete", "failed", "cancelled"},
    "steps": {"complete", "failed", "cancelled"},
    "attempts": {"delivered", "rejected", "not_sent", "failed"},
    "artifacts": {"verified", "rejected"},
    "expected_outputs": {"filled"},
    "cases": {"attached", "not_accepted", "risk_accepted", "written_off", "settled"},
}
IN_DOUBT = ("submitting", "submit_unknown")
ASKED = ("attempt.replaying", "attempt.replayed", "attempt.looked_up")
"""Told each time that a lost answer is asked for."""

READABLE = {
    "journal": "data",
    "alarms": "detail",
    "evidence": "body",
    "decisions": "reason",
    "sends": "receipt",
    "attempts": "error_message",
}
"""What people and programs are shown, and so may hold no signed address and no prompt."""


class Auditor:
    """Looks at one database, its files and its bill, and fails with the law that is broken."""

    def __init__(self, tables: Callable[[], Tables], files: Path) -> None:
        self._read, self._files = tables, files
        self._seen: Tables = {}

    def look(self, bill: Mapping[str, Any]) -> Tables:
        """All rows, after every law was checked."""
        found = self._read()
        self._kept(found)
        self._final(found)
        self._one_post_per_attempt(found)
        self._billed(found, bill)
        self._money(found)
        self._books(found)
        self._complete(found)
        self._told(found)
        self._quiet(found)
        self._seen = found
        return found

    def _kept(self, found: Tables) -> None:
        """L4, L9: what is appended stays as it was written."""
        for table, free in APPENDED.items():
            now = {_frozen(row, free) for row in found[table]}
            lost = [row for row in self._seen.get(table, []) if _frozen(row, free) not in now]
            assert not lost, f"{table}: changed or gone: {lost}"
        refs = {row["id"]: row["ref_id"] for row in found["attempts"]}
        for row in self._seen.get("attempts", []):
            assert row["ref_id"] in (None, refs[row["id"]]), f"the ref of {row['id']} was cleared or replaced"

    def _final(self, found: Tables) -> None:
        """L6: nothing leaves a final state."""
        for table, final in FINAL.items():
            states = {row["id"]: row["state"] for row in found[table]}
            for row in self._seen.get(table, []):
                assert row["state"] not in final or states[row["id"]] == row["state"], f"{table}: {row} was final"

    def _one_post_per_attempt(self, found: Tables) -> None:
        """L1, L2: each attempt has its bytes and one send, and one line that announced it; so has each replay."""
        sends = Counter(row["attempt_id"] for row in found["sends"] if row["kind"] == "first")
        replays = sum(row["kind"] == "replay" for row in found["sends"])
        assert replays == sum(line["event"] == "attempt.replaying" for line in found["journal"])
        assert sends == Counter(row["id"] for row in found["attempts"]), sends
        announced = Counter(
            (line["job_id"], line["step"], line["attempt_no"])
            for line in found["journal"]
            if line["event"] == "attempt.submitting"
        )
        assert all(count == 1 for count in announced.values()), announced
        assert announced.total() == len(found["attempts"])

    def _billed(self, found: Tables, bill: Mapping[str, Any]) -> None:
        """The bill holds what was accepted, and nothing more than what may have been."""
        tasks = defaultdict(set)
        for task in bill["tasks"]:
            tasks[task["route"], task["prompt"]].add(task["id"])
        refused = Counter((refusal["route"], refusal["prompt"]) for refusal in bill["refused"])
        refs = {row["attempt_id"]: row["ref"] for row in found["refs"] if row["disowned_at"] is None}
        assert set(refs.values()) <= {task["id"] for task in bill["tasks"]}, "a ref that the provider doesn't know"
        sends = Counter(row["attempt_id"] for row in found["sends"])
        attempts = defaultdict(list)
        for row in found["attempts"]:
            attempts[row["operation"], _prompt(found, row["id"])].append(row)
        for order, tries in attempts.items():
            known = tasks[order].intersection(refs.get(row["id"]) for row in tries)
            # A person may have attached a task of another order; then nobody knows what became of this one's own.
            doubted = [row for row in tries if refs.get(row["id"]) not in tasks[order] and _may_have_bought(row)]
            unknown = tasks[order] - known
            assert len(unknown) <= len(doubted), f"{order}: bought {unknown}, in doubt only {len(doubted)}"
            assert len(tasks[order]) <= len(tries), f"{order}: bought more often than tried"
            posts = sum(sends[row["id"]] for row in tries)
            assert len(tasks[order]) + refused[order] <= posts, f"{order}: more POSTs than were written down"

    def _money(self, found: Tables) -> None:
        """L9: what is filled is captured, what is in doubt stays held, what has ended is closed."""
        closings = {row["hold_id"]: row for row in found["hold_closings"]}
        jobs, steps = _by_id(found["jobs"]), _by_id(found["steps"])
        doubted = {row["step_id"] for row in found["attempts"] if row["state"] in IN_DOUBT}
        unsure = {row["step_id"] for row in found["attempts"] if row["charged"] == "unknown"}
        asked = {row["step_id"] for row in found["cases"] if row["state"] == "open" and row["kind"] == "charge"}
        disputed = asked & unsure
        for output in found["expected_outputs"]:
            closing_ = closings.get(output["hold_id"])
            if output["state"] == "filled":
                assert closing_ is not None, f"filled and not captured: {output}"
                assert closing_["captured"] == closing_["amount"]
                assert closing_["reason"] == "delivered"
                continue
            is_over = jobs[output["job_id"]]["state"] in FINAL["jobs"] | {"incomplete"}
            if output["step_id"] in doubted | disputed:
                assert closing_ is None, f"in doubt and not held: {output}"
            elif is_over:
                assert closing_ is not None, f"over and still held: {output}"
            elif steps[output["step_id"]]["state"] not in FINAL["steps"]:
                assert closing_ is None, f"closed too early: {output}"
            assert closing_ is None or closing_["reason"] != "delivered", f"captured and not filled: {output}"

    def _books(self, found: Tables) -> None:
        """L9: every sum, made again from the rows under it."""
        closings = {row["hold_id"]: row for row in found["hold_closings"]}
        moved: dict[str, Counter[str]] = defaultdict(Counter)
        buckets: dict[str, Counter[str]] = defaultdict(Counter)
        for entry in found["ledger_entries"]:
            assert entry["amount"] > 0, entry
            buckets[entry["account_id"]][entry["source"]] -= entry["amount"]
            buckets[entry["account_id"]][entry["target"]] += entry["amount"]
            if entry["hold_id"] and entry["kind"] != "correction":
                moved[entry["hold_id"]][entry["kind"]] += entry["amount"]
        for hold in found["holds"]:
            closing = closings.get(hold["id"], {"captured": 0, "released": 0})
            wanted = {"hold": hold["amount"], "capture": closing["captured"], "release": closing["released"]}
            assert moved[hold["id"]] == Counter(wanted), hold
        for balance in found["balances"]:
            summed = buckets[balance["account_id"]]
            assert -summed["granted"] == balance["granted"], balance
            for bucket in ("available", "held", "captured"):
                assert summed[bucket] == balance[bucket] >= 0, (bucket, balance)
        assert {row["account_id"] for row in found["ledger_entries"]} <= {
            row["account_id"] for row in found["balances"]
        }

    def _complete(self, found: Tables) -> None:
        """L5, L7: complete is ours and checked; a step was sent only with all that it needs."""
        artifacts, manifests = _by_id(found["artifacts"]), {row["job_id"] for row in found["manifests"]}
        for artifact in found["artifacts"]:
            if artifact["digest"]:
                assert _sha256(self._files, artifact["digest"]) == artifact["digest"]
        outputs = defaultdict(list)
        for output in found["expected_outputs"]:
            outputs[output["job_id"]].append(output)
            if output["state"] == "filled":
                artifact = artifacts[output["artifact_id"]]
                assert (artifact["state"], artifact["use"]) == ("verified", "fills"), artifact
        for job in found["jobs"]:
            filled = [output for output in outputs[job["id"]] if output["state"] == "filled"]
            assert len(filled) == job["filled"]
            assert (job["state"] == "complete") == (len(filled) == job["expected"]), job
            assert (job["state"] == "complete") == (job["id"] in manifests), job

    def _told(self, found: Tables) -> None:
        """The journal is whole, and nothing happens twice in it."""
        numbers = defaultdict(list)
        once: Counter[tuple[str, ...]] = Counter()
        for line in found["journal"]:
            numbers[line["job_id"]].append(line["seq"])
            if line["event"] in ASKED:
                continue
            if line["event"].split(".")[0] == "attempt" or line["event"] in ("step.complete", "step.failed"):
                once[line["job_id"], line["event"], line["step"], str(line["attempt_no"])] += 1
        for job in found["jobs"]:
            assert sorted(numbers[job["id"]]) == list(range(1, job["journal_seq"] + 1)), job
        assert all(count == 1 for count in once.values()), [key for key, count in once.items() if count > 1]

    def _quiet(self, found: Tables) -> None:
        """L12: what is shown holds no signed address and no prompt."""
        prompts = {_prompt(found, row["id"]) for row in found["attempts"]}
        for table, column in READABLE.items():
            for row in found[table]:
                shown = row[column] or ""
                assert "signature=" not in shown, f"{table}: {shown}"
                assert not any(len(prompt) > 8 and prompt in shown for prompt in prompts), f"{table}: {shown}"


def _frozen(row: Row, free: Iterable[str]) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in row.items() if name not in free)


def _by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["id"]: row for row in rows}


def _may_have_bought(attempt: Row) -> bool:
    return attempt["state"] in IN_DOUBT or attempt["ref_id"] is not None


def _prompt(found: Tables, attempt_id: str) -> str:
    body = next(row["body"] for row in found["wires"] if row["attempt_id"] == attempt_id)
    return str(json.loads(body)["prompt"])


def _sha256(files: Path, digest: str) -> str:
    return hashlib.sha256((files / "sha256" / digest[:2] / digest[2:]).read_bytes()).hexdigest()
