"""The laws, recomputed from raw rows, the rows' history and the truth. One function each; each tells what breaks it.

Nothing here is taken from the engine: the moves are DESIGN's tables written down a second time, the money follows
from what was really bought, and a reason that a row gives is held against what really happened.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.simulation.provider import Arrival, Task

Row = dict[str, Any]

TABLES = (
    "jobs",
    "steps",
    "attempts",
    "sends",
    "refs",
    "expected_outputs",
    "artifacts",
    "blobs",
    "holds",
    "hold_closings",
    "ledger_entries",
    "balances",
    "allowances",
    "cases",
    "alarms",
    "manifests",
    "journal",
    "history",
)

MOVES = {
    "attempts": {
        "submitting": {"processing", "rejected", "not_sent", "submit_unknown"},
        "submit_unknown": {"processing", "rejected", "not_sent", "failed"},
        "processing": {"collecting", "failed"},
        "collecting": {"delivered", "failed"},
    },
    "steps": {
        "waiting": {"ready", "active", "cancelled"},
        "ready": {"waiting", "active", "cancelled"},
        "active": {"waiting", "ready", "complete", "failed", "cancelled"},
    },
    "jobs": {"open": {"complete", "incomplete", "failed", "cancelled"}, "incomplete": {"complete", "open"}},
    "expected_outputs": {"missing": {"filled"}},
    "artifacts": {"fetching": {"stored"}, "stored": {"verified", "rejected"}},
    "cases": {"open": {"attached", "not_accepted", "risk_accepted", "written_off", "settled"}},
}
FINAL_STEP = ("complete", "failed", "cancelled")
TERMINAL_WORDS = {"collecting": "attempt.finished", "failed": "attempt.failed", "delivered": "attempt.delivered"}
"""What the journal says when the provider's word, or our own check of its files, moves an attempt."""

AGAIN = (401, 403, 429)
"""Refusals that speak of our key or of the moment, not of the order: it may be sent again."""

MODERATED = "content_policy_violation"
"""Why a task failed that no rule may buy again."""

RECORDED_WITHIN_S = 2.0
"""An answer in the hands of a process that lives on undisturbed is a row by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What really happened.

    Attributes:
        tasks: all that was ever bought, by the provider's id.
        kept: what our storage holds, by digest; each says whether it is good and for which operation.
        replacements_max: how often the recipe lets a failed generation be bought again.
        is_disturbed: the database failed or somebody was late, so an answer may have been kept from its row.
    """

    tasks: Mapping[str, Task]
    kept: Mapping[str, Any]
    replacements_max: int
    is_disturbed: bool


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All that the auditor goes by: rows at rest, who sent what, and the truth."""

    tables: Mapping[str, list[Row]]
    arrivals: Mapping[str, Arrival]
    truth: Truth

    def __getitem__(self, table: str) -> list[Row]:
        return self.tables[table]

    @cached_property
    def by_id(self) -> Mapping[str, Row]:
        """Rows of every table that has an id, which no two share."""
        return {row["id"]: row for table in ("jobs", "steps", "attempts", "artifacts") for row in self[table]}

    @cached_property
    def attempts_of(self) -> Mapping[str, list[Row]]:
        """The attempts of each step, first to last."""
        found = defaultdict(list)
        for row in sorted(self["attempts"], key=lambda row: row["no"]):
            found[row["step_id"]].append(row)
        return found

    @cached_property
    def refs_of(self) -> Mapping[str, Row]:
        """The ref of each attempt that has one."""
        return {row["attempt_id"]: row for row in self["refs"] if row["disowned_at"] is None}

    @cached_property
    def open_cases(self) -> set[tuple[str, str]]:
        """Attempt and kind of each open case."""
        return {(row["attempt_id"], row["kind"]) for row in self["cases"] if row["state"] == "open"}

    def task_of(self, attempt: Row) -> Task | None:
        """What was really bought by an attempt."""
        arrival = self.arrivals.get(attempt["id"])
        return arrival.task if arrival else None

    def bought_for(self, step_id: str) -> list[Task]:
        """What was bought for a step and didn't fail: what the provider bills."""
        tasks = (self.task_of(attempt) for attempt in self.attempts_of[step_id])
        return [task for task in tasks if task is not None and task.fate.ending != "failed"]


def one_post(seen: Seen) -> Iterator[str]:
    """L2: a further POST only with proof."""
    for tries in seen.attempts_of.values():
        failures = 0
        for before, after in itertools.pairwise(tries):
            arrival = seen.arrivals.get(before["id"])
            if before["state"] == "not_sent" and arrival is None:
                continue
            if before["state"] == "rejected" and arrival and arrival.fate.is_refusal and arrival.fate.status in AGAIN:
                continue
            task = seen.task_of(before)
            failures += 1
            is_failure = task is not None and before["state"] == "failed" and task.fate.ending == "failed"
            if task is None or not is_failure or failures > seen.truth.replacements_max or task.fate.code == MODERATED:
                yield f"attempt {after['no']} follows one that is {before['state']}, {failures} replacements"
    for step in seen["steps"]:
        if len(seen.bought_for(step["id"])) > 1:
            yield f"bought twice for {step['name']}"


def truth_of_attempts(seen: Seen) -> Iterator[str]:
    """L3: what an attempt is called is what happened to it."""
    for row in seen["attempts"]:
        arrival, task = seen.arrivals.get(row["id"]), seen.task_of(row)
        state, ref = row["state"], seen.refs_of.get(row["id"])
        if state == "not_sent" and arrival is not None:
            yield "called not sent, and it arrived"
        if state == "rejected" and not (arrival and arrival.fate.is_refusal):
            yield "called rejected, and nobody refused it"
        if state == "failed" and not (task and task.fate.ending == "failed" and ref):
            yield "called failed, and the provider never said so"
        if state in ("processing", "collecting", "delivered") and (task is None or ref is None):
            yield f"called {state}, and nothing was bought or no ref is kept"
        if state == "delivered" and task is not None and task.fate.ending != "finished":
            yield "called delivered, and the task never finished"


def refs_kept(seen: Seen) -> Iterator[str]:
    """L4: a saved ref is the right one and stays."""
    for row in seen["refs"]:
        task, owner = seen.truth.tasks.get(row["ref"]), seen.by_id[row["attempt_id"]]
        own = seen.task_of(owner)
        if task is None or own is None or own.id != task.id:
            yield f"{row['ref']} was bound to an attempt that bought {own.id if own else 'nothing'}"
        if owner["ref_id"] != row["id"]:
            yield f"{row['ref']} was cleared or replaced"


def answers_kept(seen: Seen) -> Iterator[str]:
    """L14: an answer in hand becomes a row at once."""
    for row in seen["attempts"]:
        arrival = seen.arrivals.get(row["id"])
        if row["state"] not in ("submitting", "submit_unknown") or arrival is None or not arrival.is_conclusive:
            continue
        lived_s = arrival.sender.died_s - (arrival.answered_s or 0.0)
        if not seen.truth.is_disturbed and lived_s > RECORDED_WITHIN_S:
            yield f"{row['state']}, though its sender had the answer and lived for {lived_s:.0f} s"


def forward_only(seen: Seen) -> Iterator[str]:
    """L6: rows move along their tables and are never rewritten or deleted."""
    for row in seen["history"]:
        if row["kind"] in ("changed", "gone"):
            yield f"a row of {row['place']} was {row['kind']}"
        if row["kind"] == "moved" and row["new"] not in MOVES[row["place"]].get(row["old"], ()):
            yield f"{row['place']}: {row['old']} became {row['new']}"


def gates(seen: Seen) -> Iterator[str]:
    """L5: a step is ready only after what it needs is complete."""
    complete: set[str] = set()
    for row in seen["history"]:
        if row["place"] != "steps" or row["kind"] != "moved":
            continue
        if row["new"] == "complete":
            complete.add(row["id"])
        step = seen.by_id[row["id"]]
        earlier = (s["id"] for s in seen["steps"] if s["job_id"] == step["job_id"] and s["position"] < step["position"])
        if row["new"] == "ready" and not complete.issuperset(earlier):
            yield f"{step['name']} was ready too early"


def ours_and_checked(seen: Seen) -> Iterator[str]:
    """L7: filled means ours, whole and verified; complete means all of it."""
    filled: Counter[str] = Counter()
    for output in seen["expected_outputs"]:
        if output["state"] != "filled":
            continue
        filled[output["job_id"]] += 1
        artifact = seen.by_id[output["artifact_id"]]
        attempt = seen.by_id[artifact["attempt_id"]]
        content = seen.truth.kept.get(artifact["digest"])
        if (artifact["state"], artifact["use"]) != ("verified", "fills") or attempt["step_id"] != output["step_id"]:
            yield f"{output['name']} is filled by a file that is {artifact['state']}, {artifact['use']}"
        if content is None or content.kind != "good" or content.operation != attempt["operation"]:
            yield f"{output['name']} is filled by bytes that aren't there or aren't what was ordered"
    sealed = {row["job_id"] for row in seen["manifests"]}
    for job in seen["jobs"]:
        if job["filled"] != filled[job["id"]]:
            yield f"the job counts {job['filled']} filled, there are {filled[job['id']]}"
        is_whole = job["filled"] == job["expected"]
        if (job["state"] == "complete") != is_whole or (job["id"] in sealed) != is_whole:
            yield f"the job is {job['state']} with {job['filled']} of {job['expected']}"


def endings(seen: Seen) -> Iterator[str]:
    """L3: a job ends for a reason that happened."""
    steps = defaultdict(list)
    for step in seen["steps"]:
        steps[step["job_id"]].append(step)
    for job in seen["jobs"]:
        states = [step["state"] for step in steps[job["id"]]]
        if job["state"] != "open" and any(state not in FINAL_STEP for state in states):
            yield f"the job is {job['state']} while steps are {states}"
        if job["state"] == "failed" and "failed" not in states and "complete" not in states:
            yield "the job failed, and no step did"
        if job["state"] == "cancelled" and job["cancel_requested_at"] is None:
            yield "the job is cancelled, and nobody asked for it"
    for step in seen["steps"]:
        tries = seen.attempts_of[step["id"]]
        if step["state"] == "failed" and (not tries or tries[-1]["state"] not in ("failed", "rejected")):
            yield f"{step['name']} failed, and its last attempt didn't"
        if step["state"] == "cancelled" and seen.bought_for(step["id"]):
            yield f"{step['name']} is cancelled, and was bought"


def money(seen: Seen) -> Iterator[str]:
    """L9: each hold is closed once, for the reason that happened."""
    closings: dict[str, Row] = {row["hold_id"]: row for row in seen["hold_closings"]}
    if len(closings) != len(seen["hold_closings"]):
        yield "a hold was closed twice"
    if len(seen["holds"]) != len(seen["expected_outputs"]):
        yield "not one hold for each expected output"
    for output in seen["expected_outputs"]:
        step, closing = seen.by_id[output["step_id"]], closings.get(output["hold_id"])
        what = f"the hold of {output['name']} ({output['state']}, step {step['state']})"
        is_disputed = any((attempt["id"], "charge") in seen.open_cases for attempt in seen.attempts_of[step["id"]])
        if closing is None:
            if output["state"] == "filled" or (step["state"] in FINAL_STEP and not is_disputed):
                yield f"{what} is still open"
        elif (closing["captured"] == closing["amount"]) != (output["state"] == "filled"):
            yield f"{what} captured {closing['captured']} of {closing['amount']}"
        elif closing["captured"] + closing["released"] != closing["amount"]:
            yield f"{what} was split wrongly"
        elif closing["released"] and (step["state"] not in FINAL_STEP or is_disputed):
            yield f"{what} was released early"
        elif closing["released"] and step["state"] != "complete" and seen.bought_for(step["id"]):
            yield f"{what} was released, and the provider bills"


def books(seen: Seen) -> Iterator[str]:
    """L9: every balance is what its entries come to, and every hold was entered as it stands."""
    buckets: dict[str, Counter[str]] = defaultdict(Counter)
    entered: dict[tuple[str, str], int] = Counter()
    for entry in seen["ledger_entries"]:
        buckets[entry["account_id"]][entry["source"]] -= entry["amount"]
        buckets[entry["account_id"]][entry["target"]] += entry["amount"]
        entered[entry["hold_id"], entry["kind"]] += entry["amount"]
    for balance in seen["balances"]:
        summed = buckets[balance["account_id"]]
        for name, sign in (("granted", -1), ("available", 1), ("held", 1), ("captured", 1)):
            if balance[name] != sign * summed[name]:
                yield f"the balance says {balance[name]} {name}, the entries {sign * summed[name]}"
    closings = {row["hold_id"]: row for row in seen["hold_closings"]}
    for row in seen["holds"]:
        closing = closings.get(row["id"], {"captured": 0, "released": 0})
        wanted = (row["amount"], closing["captured"], closing["released"])
        if tuple(entered[row["id"], kind] for kind in ("hold", "capture", "release")) != wanted:
            yield f"a hold of {wanted} was entered otherwise"


def allowances(seen: Seen) -> Iterator[str]:
    """L9: nothing is bought beyond what was set aside."""
    bought = Counter(row["step_id"] for row in seen["attempts"] if seen.task_of(row) is not None)
    for row in seen["allowances"]:
        if bought[row["step_id"]] > row["requests"]:
            yield f"{bought[row['step_id']]} bought, {row['requests']} allowed"
        if bought[row["step_id"]] and row["reserved_at"] is None:
            yield "bought, and nothing was reserved for it"
        billed = len(seen.bought_for(row["step_id"]))
        if row["settled_at"] is not None and (row["settled_requests"], row["settled_micros"]) != (billed, 100 * billed):
            yield f"settled as {row['settled_requests']} for {row['settled_micros']}, and {billed} are billed"


def fenced(seen: Seen) -> Iterator[str]:
    """L14: only the holder of a lease records what it learnt under it."""
    waiting: Row | None = None
    for row in seen["history"]:
        if row["kind"] == "moved" and row["place"] == "attempts":
            waiting = row if row["new"] in TERMINAL_WORDS and row["old"] != "submit_unknown" else None
        elif row["kind"] == "told" and waiting is not None and row["new"] == TERMINAL_WORDS[waiting["new"]]:
            if row["holder"] != waiting["holder"]:
                yield f"{row['new']} was recorded by {row['holder']} under the lease of {waiting['holder']}"
            waiting = None


def visible(seen: Seen) -> Iterator[str]:
    """L3: a doubt is visible: an open case, and its money held."""
    for row in seen["attempts"]:
        if row["state"] == "submit_unknown" and (row["id"], "unknown") not in seen.open_cases:
            yield "an unknown without an open case"
    for attempt_id, kind in seen.open_cases:
        if kind == "unknown" and seen.by_id[attempt_id]["state"] != "submit_unknown":
            yield f"a case about an unknown that is {seen.by_id[attempt_id]['state']}"


def told(seen: Seen) -> Iterator[str]:
    """The journal is whole."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in seen["journal"]:
        numbers[row["job_id"]].append(row["seq"])
        if "signature=" in row["data"]:
            yield f"an address stands in {row['event']}"
    for job in seen["jobs"]:
        if sorted(numbers[job["id"]]) != list(range(1, job["journal_seq"] + 1)):
            yield "lines are missing"


LAWS: tuple[Callable[[Seen], Iterator[str]], ...] = (
    one_post,
    truth_of_attempts,
    refs_kept,
    answers_kept,
    forward_only,
    gates,
    ours_and_checked,
    endings,
    money,
    books,
    allowances,
    fenced,
    visible,
    told,
)
