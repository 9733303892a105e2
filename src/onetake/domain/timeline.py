"""One job's life as lanes of bars and marks, from its journal alone. Pure: lines in, places on a time line out.

What people did, what onetake's rows said, what the provider had in hand, what was fetched, and where the money
was, each in a lane of its own; every journal line is one mark with its sentence. A picture needs widths, not
seconds: `spread` gives each moment a place, and folds long waits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from onetake.domain.jsonvalue import shown
from onetake.domain.states import WaitReason
from onetake.domain.story import Line, sentence

LANES = ("people", "onetake", "provider", "storage", "money")

Row = tuple[str, str]
"""A lane and, within it, a step; the people's lane has one row for all."""

PEOPLE: Row = ("people", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Something that lasted.

    Attributes:
        start_us, end_us: microseconds since 1970; an end of None: it lasts.
        tone: what it looks like: a step's state, or asked, working, doubt, fetching, held, spent or returned.
        text: what to write on it, if there is room.
    """

    row: Row
    start_us: int
    end_us: int | None
    tone: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One journal line.

    Attributes:
        tone: what it looks like: a step's state, person, doubt or over.
        text: a word or two for beside the mark; may be empty.
        detail: what to write after it, if there is room: the id that a person attached.
        number: the attempt that begins here.
        title: its sentence, and how far a request got.
    """

    row: Row
    at_us: int
    tone: str
    text: str
    detail: str
    number: int | None
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A job's life. `rows` are in the order in which they are drawn; `moments` are distinct, first to last."""

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    moments: tuple[int, ...]


def timeline(lines: Sequence[Line], steps: Sequence[str], receipts: Mapping[tuple[str, int], Line]) -> Timeline:
    """The life that the journal tells.

    Args:
        lines: the journal, whole and in order; at least one line.
        steps: the job's steps in the recipe's order.
        receipts: the send receipt of each attempt, by step and number, as far as one is known.
    """
    board = _Board(tuple(steps), receipts)
    for line in lines:
        board.tell(line)
    rows = tuple((lane, step) for lane in LANES for step in (steps if lane != "people" else [""]))
    moments = tuple(sorted({line["at"] for line in lines}))
    bars = tuple(bar for bar in board.all_bars() if bar.end_us is None or bar.end_us > bar.start_us)
    return Timeline(rows=rows, bars=bars, marks=tuple(board.marks), moments=moments)


@dataclass(frozen=True, slots=True)
class _Event:
    """What a kind of line shows.

    Attributes:
        lane: where its mark goes.
        tone: of the mark.
        text: beside the mark.
        bars: for each lane that changes, the tone of the bar that begins now, empty for none.
    """

    lane: str
    tone: str
    text: str = ""
    bars: Mapping[str, str] = field(default_factory=dict)


_EVENTS: dict[str, _Event] = {
    "job.created": _Event("people", "person", "ordered"),
    "step.ready": _Event("onetake", "ready", bars={"onetake": "ready"}),
    "step.renewed": _Event("onetake", "ready", bars={"onetake": "ready"}),
    "attempt.submitting": _Event("onetake", "submitting", bars={"onetake": "submitting", "provider": "asked"}),
    "attempt.accepted": _Event("provider", "processing", bars={"onetake": "processing", "provider": "working"}),
    "attempt.unknown": _Event("onetake", "submit_unknown", bars={"onetake": "submit_unknown", "provider": "doubt"}),
    "attempt.replaying": _Event("onetake", "submitting", "sent again"),
    "attempt.replayed": _Event("provider", "doubt"),
    "attempt.looked_up": _Event("provider", "doubt", "looked up"),
    "attempt.not_sent": _Event("provider", "over", "not taken", bars={"onetake": "ready", "provider": ""}),
    "attempt.later": _Event("provider", "over", "not now", bars={"onetake": "ready", "provider": ""}),
    "attempt.refused": _Event("provider", "failed", "refused", bars={"onetake": "ready", "provider": ""}),
    "attempt.finished": _Event(
        "provider", "complete", bars={"onetake": "collecting", "provider": "", "storage": "fetching"}
    ),
    "attempt.failed": _Event("provider", "failed", "failed", bars={"onetake": "ready", "provider": ""}),
    "step.filled": _Event("storage", "complete"),
    "attempt.delivered": _Event("storage", "complete", bars={"storage": ""}),
    "step.complete": _Event("onetake", "complete", bars={"onetake": "complete"}),
    "step.failed": _Event("onetake", "failed", bars={"onetake": "failed"}),
    "step.cancelled": _Event("onetake", "cancelled", bars={"onetake": "cancelled", "money": "returned"}),
    "step.parked": _Event("onetake", "doubt", bars={"onetake": "waiting"}),
    "step.admitted": _Event("onetake", "ready", bars={"onetake": "ready"}),
    "step.paid": _Event("people", "person"),
    "ledger.corrected": _Event("people", "person"),
    "ledger.not_corrected": _Event("people", "doubt"),
    "step.replaced": _Event("onetake", "ready", bars={"onetake": "ready"}),
    "case.opened": _Event("people", "doubt"),
    "case.closed": _Event("people", "person"),
    "alarm.raised": _Event("onetake", "doubt"),
    "alarm.cleared": _Event("onetake", "ready"),
    "job.resumed": _Event("people", "person", "resumed"),
    "job.cancel_requested": _Event("people", "person", "cancel asked for"),
    "fixture.frozen": _Event("people", "person", "approved"),
    "job.complete": _Event("people", "complete", "complete"),
    "job.incomplete": _Event("people", "doubt", "incomplete"),
    "job.failed": _Event("people", "failed", "failed"),
    "job.cancelled": _Event("people", "cancelled", "cancelled"),
}

_TEXTS = {"asked": "POST", "doubt": "taken, or not?", "fetching": "fetch, check"}


class _Board:
    """The bars that go on, the bars that have ended, and the marks."""

    def __init__(self, steps: tuple[str, ...], receipts: Mapping[tuple[str, int], Line]) -> None:
        self._steps, self._receipts = steps, receipts
        self._going: dict[Row | str, Bar] = {}
        self._ended: list[Bar] = []
        self._attempts: dict[str, int] = {}
        self._parked: set[str] = set()
        self.marks: list[Mark] = []

    def all_bars(self) -> list[Bar]:
        return [*self._ended, *self._going.values()]

    def tell(self, line: Line) -> None:
        """Draw one line."""
        event = _EVENTS.get(line["event"], _Event("onetake", "over"))
        self._mark(line, event)
        if self._is_current(line):
            for lane, tone in event.bars.items():
                self._change((lane, line["step"]), line, tone)
        beside = _BESIDE.get(line["event"])
        if beside is not None:
            beside(self, line)

    def _is_current(self, line: Line) -> bool:
        """Whether the line is about the step's latest attempt, or about none: an earlier one moves nothing."""
        step, no = line["step"], line["attempt_no"]
        if line["event"] == "attempt.submitting" or line["event"] == "attempt.accepted":
            self._attempts[step] = no
        return no is None or no == self._attempts.get(step, no)

    def _mark(self, line: Line, event: _Event) -> None:
        is_attached = line["event"] == "attempt.accepted" and line["data"].get("source") == "attach"
        lane = "people" if is_attached or line["step"] not in self._steps else event.lane
        number = line["attempt_no"] if line["event"] == "attempt.submitting" else None
        mark = Mark(
            row=PEOPLE if lane == "people" else (lane, line["step"]),
            at_us=line["at"],
            tone="person" if is_attached else event.tone,
            text="attached" if is_attached else event.text,
            detail=shown(str(line["data"]["ref"]), 40) if is_attached else "",
            number=number,
            title=self._title(line),
        )
        self.marks.append(mark)

    def _title(self, line: Line) -> str:
        receipt = self._receipts.get((line["step"], line["attempt_no"] or 0))
        told = f" {receipt_sentence(receipt)}" if receipt and line["event"] == "attempt.submitting" else ""
        return sentence(line) + told

    def _change(self, row: Row, line: Line, tone: str) -> None:
        """End the row's bar, and begin another if there is a tone for it."""
        self._end(row, line["at"])
        if tone:
            ref = shown(str(line["data"].get("ref", "")), 40)
            text = ref if tone == "working" else _TEXTS.get(tone, tone)
            self._going[row] = Bar(row=row, start_us=line["at"], end_us=None, tone=tone, text=text)

    def _end(self, key: Row | str, at_us: int) -> None:
        bar = self._going.pop(key, None)
        if bar is not None:
            self._ended.append(replace(bar, end_us=at_us))

    def ordered(self, line: Line) -> None:
        """Everything waits and is held from the first moment."""
        for step in self._steps:
            self._change(("onetake", step), line, "waiting")
            self._change(("money", step), line, "held")

    def failed(self, line: Line) -> None:
        """What the provider doesn't bill for is given back; else it stays held until somebody knows."""
        if line["data"].get("charged") == "no":
            self._change(("money", line["step"]), line, "returned")

    def delivered(self, line: Line) -> None:
        """What fills an output is paid; a late file that fills none moves no money."""
        if line["data"].get("filled"):
            self._change(("money", line["step"]), line, "spent")

    def cancelled(self, line: Line) -> None:
        """Nobody is needed for it any more."""
        self._parked.discard(line["step"])
        self._end(f"parked {line['step']}", line["at"])

    def parked(self, line: Line) -> None:
        """A person is asked to look."""
        if line["data"].get("waiting_for") == WaitReason.REVIEW:
            self._parked.add(line["step"])
            self._ask(f"parked {line['step']}", line, "needs a person")

    def resumed(self, line: Line) -> None:
        """What was parked may be sent again."""
        for step in sorted(self._parked):
            self._end(f"parked {step}", line["at"])
            self._change(("onetake", step), line, "ready")
        self._parked.clear()

    def asked(self, line: Line) -> None:
        """A case waits for a person."""
        self._ask(line["data"]["case"], line, "needs a person")

    def answered(self, line: Line) -> None:
        """The case is closed."""
        self._end(line["data"]["case"], line["at"])

    def _ask(self, key: str, line: Line, text: str) -> None:
        self._going[key] = Bar(row=PEOPLE, start_us=line["at"], end_us=None, tone="doubt", text=text)


_BESIDE: dict[str, Callable[[_Board, Line], None]] = {
    "job.created": _Board.ordered,
    "attempt.delivered": _Board.delivered,
    "step.failed": _Board.failed,
    "step.cancelled": _Board.cancelled,
    "step.parked": _Board.parked,
    "job.resumed": _Board.resumed,
    "case.opened": _Board.asked,
    "case.closed": _Board.answered,
}


def receipt_sentence(receipt: Mapping[str, Any]) -> str:
    """How far a request got, and when, since it began."""
    phases = [f"{phase.replace('_', ' ')} after {span(at_us)}" for phase, at_us in receipt["at_us"].items()]
    fault = f"; then: {str(receipt['fault']).replace('_', ' ')}" if receipt.get("fault") else ""
    return f"The request: {', '.join(phases) or 'nothing left'}{fault}."


def spread(moments: Sequence[int], *, width: float, gap_min: float) -> tuple[list[float], list[int]]:
    """A place for each moment, from 0, and the moments after which a wait is folded.

    Every wait gets `gap_min` and a share of what is left of the width, by its length; a folded one as much as all
    that aren't folded together. With so many moments that the width doesn't do, the places go beyond it.
    """
    waits = [after - before for before, after in pairwise(moments)]
    shorter, longest = _fold(waits)
    drawn = [min(wait, shorter) if wait >= longest else wait for wait in waits]
    rest, total = max(0.0, width - gap_min * len(waits)), sum(drawn)
    places = [0.0]
    for length in drawn:
        places.append(places[-1] + gap_min + rest * length / total)
    return places, [before for before, wait, length in zip(moments, waits, drawn, strict=False) if length < wait]


IDLE_US = 600_000_000
"""A wait that may be folded: ten minutes, since models answer sooner and what is longer is a wait for a person."""

DWARFS = 4
"""How many times longer than all shorter waits together a folded one is: else it hides nothing."""


def _fold(waits: Sequence[int]) -> tuple[int, int]:
    """How long all waits are that aren't folded, taken together, and the shortest wait that is."""
    ordered = sorted(waits)
    for place, wait in enumerate(ordered):
        shorter = sum(ordered[:place])
        if wait >= IDLE_US and 0 < DWARFS * shorter < wait:
            return shorter, wait
    return 0, sum(waits) + 1


def span(length_us: int) -> str:
    """A length of time in words: `7 ms`, `2.62 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    if length_us < 1_000_000:
        return f"{length_us / 1000:.0f} ms"
    if length_us < 120_000_000:
        return f"{length_us / 1e6:.{2 if length_us < 10_000_000 else 0}f} s"
    minutes = round(length_us / 60e6)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
