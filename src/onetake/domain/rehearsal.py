"""What a rehearsal of a regression fixture proved: four questions, answered from evidence alone. Pure.

A rehearsal runs the frozen chain against a simulated provider, kills the worker with SIGKILL after each of the two ids
was saved, and starts another one. The evidence is what onetake's rows and files and the provider's bill say afterwards;
neither is believed alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onetake.domain.fixture import Part

KILLED = -9
"""How a process ends by SIGKILL, as Python counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sold:
    """A line of the provider's bill.

    Attributes:
        accepted_us: microseconds since 1970, to the millisecond.
        first_frame: SHA-256 of the picture that a clip was ordered to start on; empty for a still.
    """

    id: str
    model: str
    prompt: str
    accepted_us: int
    first_frame: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """One death of a worker, and what stood right after it.

    Attributes:
        step: whose id had been saved.
        ref: the id as it stood in the database, if one did.
        state: of the attempt.
        exit_code: the worker's.
        sold: what the bill held.
    """

    step: str
    ref: str | None
    state: str
    exit_code: int | None
    sold: tuple[Sold, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One expected output as it stands in the end.

    Attributes:
        digest: as recorded; None while it is missing.
        stored: SHA-256 of the bytes that are really in storage; None if there are none.
    """

    step: str
    output: str
    kind: str
    digest: str | None
    stored: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What the fixture orders from a step."""

    part: Part
    model: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that is known after a rehearsal.

    Attributes:
        still, clip: what was ordered.
        approved: the approved still's SHA-256.
        refused: POSTs that the provider turned down.
        refs: each step's id in the end.
        posts: how many POSTs onetake recorded for each step.
        journal: the job's journal, each line with event, step, seq and at (microseconds since 1970).
        manifest: the digests of the clip's step in the sealed manifest; None without a manifest whose hash is right.
    """

    still: Ordered
    clip: Ordered
    approved: str
    crashes: tuple[Crash, ...]
    bill: tuple[Sold, ...]
    refused: int
    refs: Mapping[str, str]
    posts: Mapping[str, int]
    journal: tuple[Mapping[str, Any], ...]
    state: str
    kept: tuple[Kept, ...]
    manifest: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that must hold for a yes, and what was found."""

    holds: bool
    says: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with what was found about it; the answer is yes if all of it holds."""

    question: str
    findings: tuple[Finding, ...]

    @property
    def is_yes(self) -> bool:
        """Whether nothing speaks against it."""
        return all(finding.holds for finding in self.findings)


def judge(evidence: Evidence) -> tuple[Answer, ...]:
    """The four answers; the rehearsal passes if all are yes."""
    return (
        Answer("Was one image task created?", tuple(_one_task(evidence))),
        Answer("Did video wait for it?", tuple(_waited(evidence))),
        Answer("Did the restart reuse both ids?", tuple(_reused(evidence))),
        Answer("Was one final video recorded?", tuple(_recorded(evidence))),
    )


def _one_task(evidence: Evidence) -> Iterator[Finding]:
    order, step = evidence.still, evidence.still.part.step
    ids = [sold.id for sold in _tasks(evidence, order)]
    yield Finding(len(ids) == 1, f"the bill holds for {order.model} and the still's prompt: {_list(ids)}")
    posts = evidence.posts.get(step, 0)
    yield Finding(posts == 1, f"POSTs that onetake recorded for step {step}: {posts}")


def _waited(evidence: Evidence) -> Iterator[Finding]:
    still, clip, tasks = evidence.still.part, evidence.clip.part, _tasks(evidence, evidence.clip)
    crash = _crash_of(evidence, still.step)
    early = [sold.id for sold in crash.sold if _is_for(sold, evidence.clip)] if crash else []
    told = f"clips on the bill when the worker died with the still in work: {_list(early)}"
    yield Finding(crash is not None and not early, told)
    named, done = _at(evidence, "attempt.finished", still.step), _at(evidence, "step.complete", still.step)
    sent = _at(evidence, "attempt.submitting", clip.step)
    in_order = named is not None and done is not None and sent is not None and named <= done <= sent
    since = evidence.journal[0]["at"] if evidence.journal else 0
    told = f"the still's address {_ms(named, since)}, the still {_ms(done, since)}, the clip's order {_ms(sent, since)}"
    yield Finding(in_order, f"committed, from the job's creation on: {told}")
    # The bill counts in whole milliseconds.
    too_early = [task for task in tasks if done is None or task.accepted_us < done // 1000 * 1000]
    accepted = _list([_ms(task.accepted_us, since) for task in tasks])
    yield Finding(bool(tasks) and not too_early, f"by the bill the provider accepted the clip: {accepted}")
    frames = sorted({task.first_frame for task in tasks})
    is_approved = frames == [evidence.approved]
    told = "the approved still, byte for byte" if is_approved else _list([frame[:16] for frame in frames])
    yield Finding(is_approved, f"the first frame that the provider fetched for it: {told}")


def _reused(evidence: Evidence) -> Iterator[Finding]:
    for order in (evidence.still, evidence.clip):
        step = order.part.step
        yield from _reused_in(evidence, step, _crash_of(evidence, step))
    seen, steps = len(evidence.bill) + evidence.refused, len(evidence.posts)
    told = f"paid POSTs that the provider saw for {steps} steps: {seen}, {evidence.refused} of them refused"
    yield Finding(seen == steps, told)
    posts = [f"{count} for step {step}" for step, count in evidence.posts.items()]
    yield Finding(set(evidence.posts.values()) == {1}, f"POSTs that onetake recorded: {_list(posts)}")


def _reused_in(evidence: Evidence, step: str, crash: Crash | None) -> Iterator[Finding]:
    if crash is None or crash.ref is None:
        yield Finding(holds=False, says=f"step {step}: no id was saved before the worker was killed")
        return
    in_time = crash.exit_code == KILLED and crash.state == "processing"
    how = "kill -9 ended the worker" if crash.exit_code == KILLED else f"the worker ended with {crash.exit_code}"
    yield Finding(in_time, f"step {step}: {how} with {crash.ref} saved and {crash.state}")
    ref = evidence.refs.get(step)
    yield Finding(ref == crash.ref, f"step {step}: its id in the end is {ref}")
    lines = [sold.id for sold in evidence.bill].count(crash.ref)
    yield Finding(lines == 1, f"step {step}: lines of the bill with that id: {lines}")


def _recorded(evidence: Evidence) -> Iterator[Finding]:
    yield Finding(evidence.state == "complete", f"the job is {evidence.state}")
    clips = [kept for kept in evidence.kept if kept.kind == "video"]
    filled = [kept.digest for kept in clips if kept.digest is not None]
    told = _list([digest[:16] for digest in filled])
    yield Finding(len(clips) == len(filled) == 1, f"expected videos: {len(clips)}, recorded: {told}")
    stored = [kept.stored for kept in clips]
    told = _list([digest[:16] for digest in stored if digest])
    yield Finding(bool(filled) and stored == filled, f"SHA-256 of the bytes in storage: {told}")
    manifest = evidence.manifest or ()
    told = "without a right hash" if evidence.manifest is None else _list([digest[:16] for digest in manifest])
    yield Finding(bool(filled) and list(manifest) == filled, f"videos in the sealed manifest: {told}")
    stills = [kept.digest for kept in evidence.kept if kept.step == evidence.still.part.step]
    told = "the approved one" if evidence.approved in stills else "another one"
    yield Finding(evidence.approved in stills, f"the still that stands beside it: {told}")


def _tasks(evidence: Evidence, order: Ordered) -> list[Sold]:
    return [sold for sold in evidence.bill if _is_for(sold, order)]


def _is_for(sold: Sold, order: Ordered) -> bool:
    return (sold.model, sold.prompt) == (order.model, order.prompt)


def _crash_of(evidence: Evidence, step: str) -> Crash | None:
    return next((crash for crash in evidence.crashes if crash.step == step), None)


def _at(evidence: Evidence, event: str, step: str) -> int | None:
    """When that was first committed."""
    return next((line["at"] for line in evidence.journal if (line["event"], line["step"]) == (event, step)), None)


def _ms(moment_us: int | None, since_us: int) -> str:
    return "never" if moment_us is None else f"{(moment_us - since_us) / 1000:.1f} ms"


def _list(things: Sequence[object]) -> str:
    return ", ".join(map(str, things)) or "none"
