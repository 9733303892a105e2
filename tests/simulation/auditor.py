"""The auditor: imports nothing of the product, reads raw rows and the provider's bill, and recomputes every law.

At each POST that arrives it looks whether it was announced, allowed and due (L1, L2, L5, L14). At rest it holds the
rows, and the history that the database's triggers kept, against what really happened; `laws` says how.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.simulation import laws
from tests.simulation.laws import Seen, Truth
from tests.simulation.provider import Arrival, Task

Row = dict[str, Any]
Read = Callable[..., list[Row]]

_INTENT = (
    "SELECT a.id, a.state, a.no, a.lease_until, a.step_id, a.job_id, onetake_now() AS now,"
    " EXISTS (SELECT 1 FROM stops t WHERE t.lifted_at IS NULL AND t.since < a.created_at) AS is_stopped,"
    " (SELECT count(*) FROM sends d WHERE d.attempt_id = a.id) AS sends"
    " FROM wires w JOIN attempts a ON a.id = w.attempt_id WHERE w.body = :body ORDER BY a.no DESC"
)
_SOURCES = (
    "SELECT s.state AS step, o.state AS output, f.state AS file, f.digest FROM expected_outputs o"
    " JOIN steps s ON s.id = o.step_id LEFT JOIN artifacts f ON f.id = o.artifact_id"
    " WHERE o.job_id = :job AND s.position < (SELECT position FROM steps WHERE id = :step)"
)
_UNKNOWN = (
    "SELECT a.id, a.job_id, a.operation, s.name AS step FROM attempts a JOIN steps s ON s.id = a.step_id"
    " WHERE a.state = 'submit_unknown' ORDER BY a.created_at"
)
_HAS_CASE = "EXISTS (SELECT 1 FROM cases c WHERE c.attempt_id = a.id AND c.state = 'open')"
_HAS_ALARM = "EXISTS (SELECT 1 FROM alarms m WHERE m.subject = s.id AND m.cleared_at IS NULL)"
_IS_STOPPED = "EXISTS (SELECT 1 FROM stops t WHERE t.subject = s.provider AND t.lifted_at IS NULL)"
_UNSETTLED = (
    "SELECT 'attempt ' || a.no || ' of ' || s.name || ' is ' || a.state AS what, a.id AS attempt,"  # noqa: S608 - ours
    " EXISTS (SELECT 1 FROM alarms m WHERE m.subject = a.id AND m.cleared_at IS NULL) AS is_alarmed FROM attempts a"
    " JOIN steps s ON s.id = a.step_id WHERE a.ended_at IS NULL AND (a.state = 'submitting' OR NOT "
    f"{_HAS_CASE})"
    " UNION ALL SELECT 'step ' || s.name || ' is ' || s.state || ' for ' || coalesce(s.waiting_for, 'a worker'), '', 0"
    " FROM steps s JOIN jobs j ON j.id = s.job_id WHERE j.state = 'open'"
    f" AND ((s.state = 'ready' AND NOT {_IS_STOPPED})"
    f" OR (s.state = 'waiting' AND s.waiting_for <> 'needs' AND NOT {_HAS_ALARM}))"
    " UNION ALL SELECT 'job ' || j.id || ' is open and nothing of it can move', '', 0 FROM jobs j"
    " WHERE j.state = 'open'"
    " AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.job_id = j.id AND (s.state IN ('ready', 'active')"
    " OR (s.state = 'waiting' AND s.waiting_for <> 'needs')))"
)
_STANDING = (
    "SELECT j.state AS job, s.name, coalesce(CASE WHEN s.state = 'active' THEN a.state END, s.state) AS shown, s.state"
    " FROM jobs j JOIN steps s ON s.job_id = j.id LEFT JOIN attempts a ON a.id = s.current_attempt_id"
    " ORDER BY j.created_at, s.position"
)
_PERSON = (
    "SELECT 1 AS found FROM attempts WHERE state = 'submit_unknown'"
    " UNION ALL SELECT 1 FROM steps WHERE waiting_for = 'review'"
    " UNION ALL SELECT 1 FROM stops WHERE lifted_at IS NULL LIMIT 1"
)


class Auditor:
    """One run's auditor.

    Attributes:
        may_be_late: the wall clock was set, so a lease may run out under a sender who can't know.
        violations: what it saw at once.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._arrivals: dict[str, Arrival] = {}
        self.may_be_late = False
        self.violations: list[str] = []

    def arrived(self, arrival: Arrival, files: Mapping[str, Any]) -> None:
        """Judge a POST at the moment of its first byte."""
        found = self._read(_INTENT, {"body": arrival.body})
        allowed = ("submitting", "submit_unknown") if self.may_be_late else ("submitting",)
        intent = next((row for row in found if row["state"] in allowed and row["id"] not in self._arrivals), None)
        if intent is None:
            law = "L2: sent again, or by no right" if found else "L1: sent without a committed intent"
            self.violations.append(f"{law}: {arrival.operation} {[(row['no'], row['state']) for row in found]}")
            return
        self._arrivals[intent["id"]] = arrival
        if intent["sends"] != 1:
            self.violations.append("L1: sent without exactly one row for the send")
        if intent["lease_until"] is not None and intent["lease_until"] <= intent["now"] and not self.may_be_late:
            self.violations.append("L14: sent after its lease ran out")
        if intent["is_stopped"] and not self.may_be_late:
            self.violations.append("L2: claimed and sent though a stop stood")
        self._judge_gate(arrival, intent, files)

    def _judge_gate(self, arrival: Arrival, intent: Row, files: Mapping[str, Any]) -> None:
        """L5: what it needs is complete, and what it is handed is a file of ours, verified."""
        needed = self._read(_SOURCES, {"job": intent["job_id"], "step": intent["step_id"]})
        if any(row["step"] != "complete" for row in needed):
            self.violations.append(f"L5: {arrival.operation} was sent before what it needs was complete")
        verified = {row["digest"] for row in needed if row["output"] == "filled" and row["file"] == "verified"}
        for each in json.loads(arrival.body).get("image_with_roles", ()):
            if each["url"] not in files or files[each["url"]].digest not in verified:
                self.violations.append(f"L5: {arrival.operation} was handed an address that isn't a verified file's")

    def unsettled(self) -> list[str]:
        """What is neither final nor visibly a person's: by a case, or by an alarm about a page in place of a file."""
        return [row["what"] for row in self._read(_UNSETTLED) if not (row["is_alarmed"] and self._is_hopeless(row))]

    def _is_hopeless(self, row: Row) -> bool:
        task = self.task_of(row["attempt"])
        return task is not None and task.fate.kind == "page"

    def standing(self) -> str:
        """Where the first job stands, in the words that `onetake jobs` uses; empty before it is ordered."""
        steps = self._read(_STANDING)
        if not steps:
            return ""
        moving = next((step for step in steps if step["state"] not in ("complete", "failed", "cancelled")), steps[-1])
        return str(moving["job"] if moving["job"] != "open" else f"{moving['name']}_{moving['shown']}")

    def waits_for_person(self) -> bool:
        """Whether a person could do something."""
        return bool(self._read(_PERSON))

    def unknown(self) -> list[Row]:
        """The attempts of which nobody knows whether they were accepted."""
        return self._read(_UNKNOWN)

    def task_of(self, attempt_id: str) -> Task | None:
        """What was really bought by an attempt."""
        arrival = self._arrivals.get(attempt_id)
        return arrival.task if arrival else None

    def look(self, truth: Truth) -> list[str]:
        """Every law that the rows at rest break, and what was seen before."""
        tables = {name: self._read(f"SELECT * FROM {name}") for name in laws.TABLES}  # noqa: S608 - tables by name
        seen = Seen(tables=tables, arrivals=self._arrivals, truth=truth)
        broken = [f"{(law.__doc__ or '').rstrip('.')}: {each}" for law in laws.LAWS for each in law(seen)]
        return [*self.violations, *broken]
