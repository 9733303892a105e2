"""The money question: what was billed, against what a peer says of each chain.

duplicates              accepted jobs beyond the first of a chain's stage: money paid twice
failed_wrong            the peer says failed, and a good, paid job stands in the books for that stage
failed_right            a definite refusal, or the provider's own word
failed_nothing_billed   given up, nothing billed: harmless, but could have been tried again
never_finished          unsettled at the end
uncertain               what the peer itself names as in doubt
uncertain_no_cause      named uncertain although the provider's last answer was clear, or nothing came at all; only a
                        kill inside a POST explains it
wrong_file              done, but the file that it holds is not the one that was paid for
silent_chains           chains with a duplicate, a wrong file or an undelivered paid job that the peer does not name
                        as uncertain: the one number that must be 0
premature_video         clips ordered without a finished first frame
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

COUNTED = (
    "duplicates",
    "done",
    "failed_right",
    "failed_wrong",
    "failed_nothing_billed",
    "never_finished",
    "wrong_file",
    "uncertain",
    "uncertain_no_cause",
    "silent_chains",
)
WRONG = ("duplicates", "failed_wrong", "failed_nothing_billed", "never_finished", "wrong_file", "silent_chains")
"""What must not happen; `premature_video` belongs to it."""

Row = dict[str, Any]
ChainStage = tuple[str, str]


@dataclass(slots=True)
class Books:
    """The provider's books, sorted by chain and stage."""

    jobs: dict[ChainStage, list[Row]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[ChainStage, list[str]] = field(default_factory=lambda: defaultdict(list))
    last: dict[ChainStage, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, truth: Row) -> "Books":
        """The books in the answer of `/_truth`."""
        books = cls()
        for job in truth["jobs"]:
            books.jobs[job["key"], job["stage"]].append(job)
        for each in truth["refused"]:
            books.refused[each["key"], each["stage"]].append(each["fault"])
        for each in sorted(truth["jobs"] + truth["refused"], key=lambda each: each["t"]):
            books.last[each["key"], each["stage"]] = each["fault"]
        return books

    def stage_of(self, key: str) -> str:
        """How far a chain came."""
        return "video" if self.jobs[key, "video"] or self.refused[key, "video"] else "image"


def judge(truth: Row, report: Mapping[str, Row]) -> dict[str, int]:
    """The counts in this module's docstring, and how many chains are done."""
    books, counts = Books.of(truth), Counter[str]()
    doubled = set()
    for (key, _), jobs in list(books.jobs.items()):
        counts["duplicates"] += max(0, len(jobs) - 1)
        if len(jobs) > 1:
            doubled.add(key)
    for key, row in report.items():
        _judge_chain(books, counts, key, row, is_doubled=key in doubled)
    return {**{name: counts[name] for name in COUNTED}, "premature_video": len(truth["odd"])}


def _judge_chain(books: Books, counts: Counter[str], key: str, row: Row, *, is_doubled: bool) -> None:
    place, state = (key, books.stage_of(key)), row["state"]
    good = [job for job in books.jobs[place] if not job["fails"]]
    if state == "failed":
        is_right = books.jobs[place] or "refuse_400" in books.refused[place]
        counts["failed_wrong" if good else "failed_right" if is_right else "failed_nothing_billed"] += 1
    else:
        counts["never_finished" if state == "pending" else state] += 1
    if state == "uncertain" and books.last.get(place) in (None, "refuse_429", "refuse_400"):
        counts["uncertain_no_cause"] += 1
    is_wrong = row.get("file") == "wrong"
    is_lost = state != "done" and bool(good)
    counts["wrong_file"] += is_wrong
    counts["silent_chains"] += (is_lost or is_wrong or is_doubled) and state != "uncertain"


def job_of(url: str) -> str:
    """The job whose output the address names."""
    return url.rsplit("/", 1)[-1].split(".", maxsplit=1)[0]


def lateness_s(truth: Row, report: Mapping[str, Row]) -> list[float]:
    """For each done chain the seconds from the provider's completion to the peer's commit."""
    finished = {job["id"]: job["completes_at"] for job in truth["jobs"]}
    return [
        row["t_done"] - finished[job_of(row["url"])]
        for row in report.values()
        if row["state"] == "done" and row.get("t_done") and job_of(row["url"]) in finished
    ]


def at(values: Sequence[float], share: float) -> float:
    """The value below which so large a share of the sorted values lies."""
    return values[min(len(values) - 1, int(share * len(values)))]


def quantiles(values: Iterable[float]) -> dict[str, float]:
    """Median, 99th percentile, largest and mean."""
    found = sorted(values)
    if not found:
        return {}
    mean = sum(found) / len(found)
    chosen = {"p50": at(found, 0.5), "p99": at(found, 0.99), "max": found[-1], "mean": mean}
    return {name: round(value, 3) for name, value in chosen.items()}


def wrongs(counts: Mapping[str, int]) -> int:
    """How often something happened that must not."""
    return sum(counts[name] for name in (*WRONG, "premature_video"))
