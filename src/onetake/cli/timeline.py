"""One job's life as an SVG picture: the lanes of `onetake.domain.timeline`, drawn. Text in, text out.

It holds what the journal holds: names of steps and people, provider ids and digests; no prompt, no address, no key.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from onetake.cli.asking import read_job
from onetake.domain.errors import BadValueError
from onetake.domain.story import Line
from onetake.domain.timeline import PEOPLE, Bar, Mark, Row, Timeline, span, spread, timeline

WIDTH = 1200  # as docs/pictures/one-job.svg: at the 830 pixels of a page its letters are eleven pixels high
LEFT, TAIL, RIGHT = 214, 124, 32  # for names of lanes and steps; for last words; and the margin
TOP, ROW, BAR, LANE_GAP = 160, 44, 28, 18
GAP_MIN = 30  # between two moments: room for a mark and a half
MARK, MARKS_APART = 6.5, 10
LETTER, CUT_MIN = 8.6, 8  # how wide a letter of a bar's text is at most; fewer letters of an id say nothing

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
CSS = """
    .card { fill: #fbfaf7; stroke: #e4e0d6 } .cut { stroke: #fbfaf7 } .ink { fill: #1d2230 } .soft { fill: #676d7b }
    .lane { stroke: #e4e0d6 } .moment { stroke: #d8d4ca } .mark { fill: #ffffff; stroke: #1d2230 }
    .halo { fill: #fbfaf7 }
    .waiting { fill: #f0eee8; stroke: #d3cfc4 } .waitingText { fill: #676d7b }
    .ready { fill: #e6e9fb; stroke: #a9b1ea } .readyText { fill: #3d479f }
    .submitting { fill: #4a55c8; stroke: #4a55c8 } .processing { fill: #2a78d6; stroke: #2a78d6 }
    .collecting { fill: #14808c; stroke: #14808c }
    .submit_unknown, .doubt { fill: #fdf0d2; stroke: #c98508; stroke-dasharray: 6 4 }
    .submit_unknownText, .doubtText { fill: #8a5a00 }
    .complete, .spent { fill: #1c8f59; stroke: #1c8f59 } .failed { fill: #b93030; stroke: #b93030 }
    .cancelled, .returned, .over { fill: #676d7b; stroke: #676d7b }
    .asked { fill: #4a55c8; stroke: #4a55c8 } .working { fill: #ece9fb; stroke: #b9b2ea } .workingText { fill: #4b4399 }
    .fetching { fill: #d8f0f1; stroke: #7fc2c8 } .fetchingText { fill: #0d5c65 }
    .held { fill: #fdf0d2; stroke: #ecd9a6 } .heldText { fill: #8a5a00 } .person { fill: #1d2230; stroke: #1d2230 }
    .submittingText, .processingText, .collectingText, .completeText, .failedText, .cancelledText, .spentText,
    .returnedText, .askedText, .numberText { fill: #ffffff }
    @media (prefers-color-scheme: dark) {
      .card { fill: #14171f; stroke: #2a2f3b } .cut { stroke: #14171f } .ink { fill: #eceae4 } .soft { fill: #9aa1af }
      .lane { stroke: #2a2f3b } .moment { stroke: #2f3542 } .mark { fill: #14171f; stroke: #eceae4 }
      .halo { fill: #14171f }
      .waiting { fill: #1d212b; stroke: #3a4150 } .waitingText { fill: #9aa1af }
      .ready { fill: #20264a; stroke: #4d57a8 } .readyText { fill: #bcc3ff }
      .submitting, .asked { fill: #5a66e0; stroke: #5a66e0 } .processing { fill: #2f7fe0; stroke: #2f7fe0 }
      .collecting { fill: #178a97; stroke: #178a97 }
      .submit_unknown, .doubt { fill: #3a2c0c; stroke: #d9981f } .submit_unknownText, .doubtText { fill: #f5c968 }
      .complete, .spent { fill: #1f9a60; stroke: #1f9a60 } .failed { fill: #cf4a4a; stroke: #cf4a4a }
      .cancelled, .returned, .over { fill: #6b7384; stroke: #6b7384 }
      .working { fill: #25223f; stroke: #544c9c } .workingText { fill: #c4bdf5 }
      .fetching { fill: #10343a; stroke: #2b7882 } .fetchingText { fill: #9fe0e6 }
      .held { fill: #3a2c0c; stroke: #5d4a1c } .heldText { fill: #f5c968 } .person { fill: #eceae4; stroke: #eceae4 }
    }
    .title { font-size: 21px; font-weight: 650 } .note { font-size: 15.5px } .small { font-size: 14.5px }
    .name { font-size: 17px; font-weight: 650 } .bar { font-size: 14px; font-weight: 600 }
    .number { font-size: 11px; font-weight: 700 } .mid { text-anchor: middle } .end { text-anchor: end }
    .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Noto Sans Mono', monospace }
"""
ENDS = {"complete", "failed", "cancelled", "spent", "returned"}  # bars that nothing follows: a cap and a line
FILLED_MARKS = {"person", "submitting", "complete", "failed", "cancelled", "over"}


def draw(job: str, file: Path) -> None:
    """Draw the life of the job of that id or key into a file.

    Raises:
        NotFoundError: there is no such job.
        BadValueError: the file can't be written.
    """
    from onetake.store import views

    found, lines = read_job(job, lambda tx, row: (views.get_job(tx, row), views.list_journal(tx, row["id"])))
    try:
        with file.open("x", encoding="utf-8") as made:  # never over a file that stands, such as the database
            made.write(picture(found, lines))
    except OSError as error:
        raise BadValueError(f"{file} can't be written ({error.strerror}): name another file.") from None


def picture(job: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """The job's life as an SVG file.

    Args:
        job: the job as `store.views.get_job` has it.
        lines: its journal, whole.
    """
    receipts = {
        (step["name"], attempt["no"]): attempt["receipt"]
        for step in job["steps"]
        for attempt in step["attempts"]
        if attempt["receipt"]
    }
    life = timeline(lines, [step["name"] for step in job["steps"]], receipts)
    return _Canvas(life).svg(f"Job {job['id']}", _summary(job, life))


def _summary(job: Mapping[str, Any], life: Timeline) -> str:
    began = datetime.datetime.fromtimestamp(life.moments[0] // 1_000_000, datetime.UTC)
    took = span(life.moments[-1] - life.moments[0])
    recipe = f"recipe {job['recipe']} {job['recipe_version']}"
    outputs = f"{job['state']}: {job['filled']} of {job['expected']} {'output' if job['expected'] == 1 else 'outputs'}"
    return f"{recipe} · {began:%Y-%m-%d %H:%M:%S} UTC · {took} · {outputs}"


class _Canvas:
    """A time line and the places of everything on it."""

    def __init__(self, life: Timeline) -> None:
        self._life = life
        places, self._folds = spread(life.moments, width=WIDTH - LEFT - TAIL - RIGHT, gap_min=GAP_MIN)
        self._x = {moment: LEFT + place for moment, place in zip(life.moments, places, strict=True)}
        self._right = LEFT + places[-1] + TAIL
        self._width = max(WIDTH, self._right + RIGHT)
        self._y = _row_places(life.rows)
        self._bottom = max(self._y.values()) + BAR / 2 + LANE_GAP

    def svg(self, title: str, summary: str) -> str:
        """Everything, from the background to the legend."""
        body = "\n".join(f"  {line}" for line in self._body())
        width, height = _n(self._width), _n(self._bottom + 52)
        told = escape(" ".join(mark.title for mark in self._life.marks))
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        return f"""\
<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc" font-family="{FONT}">
  <title id="title">{escape(title)}</title>
  <desc id="desc">{told}</desc>
  <style>{CSS}  </style>
  <rect class="card" x="1" y="1" width="{_n(self._width - 2)}" height="{_n(self._bottom + 50)}" rx="22"/>
  <text class="ink title" x="32" y="50">{escape(title)}</text>
  <text class="soft note" x="32" y="76">{escape(summary)}</text>
{body}
</svg>
"""

    def _body(self) -> Iterator[str]:
        yield from self._lanes()
        yield from self._moments()
        for bar in self._life.bars:
            yield from self._bar(bar)
        yield from self._cuts()
        for bar in self._life.bars:
            yield from self._bar_text(bar)
        yield from self._marks()
        yield from self._legend()

    def _lanes(self) -> Iterator[str]:
        """The lanes' names, their steps' names, and a line between lanes."""
        before = ""
        for (lane, step), y in self._y.items():
            if lane != before:
                if before:
                    line = y - BAR / 2 - LANE_GAP / 2 - 4
                    yield f'<path class="lane" d="M32 {_n(line)}H{_n(self._width - 32)}" stroke-width="1.5"/>'
                yield f'<text class="ink name" x="32" y="{_n(y + 6)}">{lane}</text>'
            before = lane
            yield f'<text class="soft small end" x="{LEFT - 16}" y="{_n(y + 5)}">{escape(_cut(step, 11))}</text>'

    def _moments(self) -> Iterator[str]:
        """A thin line for each moment, and its time where there is room for it; after a fold, since the fold."""
        since, sign, free, last, is_after_fold = self._life.moments[0], "", 0.0, "", False
        for moment, x in self._x.items():
            yield f'<path class="moment" d="M{_n(x)} {TOP - 18}V{_n(self._bottom)}" stroke-dasharray="2 4"/>'
            text = span(moment - self._life.moments[0]) if is_after_fold else sign + span(moment - since)
            if text != last and x - 4 * len(text) > free:
                yield f'<text class="soft small mid" x="{_n(x)}" y="{TOP - 28}">{text}</text>'
                free, last = x + 4 * len(text) + 8, text
            if is_after_fold:
                since, sign = moment, "+"
            is_after_fold = moment in self._folds

    def _bar(self, bar: Bar) -> Iterator[str]:
        x, y = self._x[bar.start_us], self._y[bar.row]
        if bar.tone in ENDS:
            yield f'<path class="{bar.tone}" d="M{_n(x)} {_n(y)}H{_n(self._end(bar))}" stroke-width="4" fill="none"/>'
        box = f'x="{_n(x)}" y="{_n(y - BAR / 2)}" width="{_n(self._width_of(bar))}" height="{BAR}"'
        yield f'<rect class="{bar.tone}" {box} rx="5" stroke-width="1.5"/>'

    def _bar_text(self, bar: Bar) -> Iterator[str]:
        width, text = self._width_of(bar), bar.text
        x, y = self._x[bar.start_us] + width / 2 + 4, self._y[bar.row] + 5
        room = int((width - 22) / LETTER)
        if room >= (CUT_MIN if bar.tone == "working" else len(text)):  # an id may be cut, a word may not
            told = escape(_cut(text, room))
            yield f'<text class="{bar.tone}Text bar code mid" x="{_n(x)}" y="{_n(y)}">{told}</text>'

    def _end(self, bar: Bar) -> float:
        return self._right if bar.end_us is None else self._x[bar.end_us]

    def _width_of(self, bar: Bar) -> float:
        """How wide the bar is; of one that nothing follows, its cap."""
        width = self._end(bar) - self._x[bar.start_us]
        return min(width, LETTER * len(bar.text) + 30) if bar.tone in ENDS else width

    def _cuts(self) -> Iterator[str]:
        """Where a wait is folded: a cut through all lanes, and how long it was."""
        moments = self._life.moments
        for before in self._folds:
            after = moments[moments.index(before) + 1]
            x = (self._x[before] + self._x[after]) / 2
            slash = f"M{_n(x - 5)} {_n(self._bottom)}L{_n(x + 5)} {TOP - 18}"
            yield f'<path class="cut" d="{slash}" stroke-width="9"/>'
            told = f"{span(after - before)} of waiting, folded"
            yield f'<text class="ink small mid" x="{_n(x)}" y="{TOP - 52}">{told}</text>'

    def _marks(self) -> Iterator[str]:
        """A mark for each line, side by side where several things happened to one row at once."""
        stacks: dict[tuple[Row, int], list[Mark]] = {}
        for mark in self._life.marks:
            stacks.setdefault((mark.row, mark.at_us), []).append(mark)
        for (_, at_us), stack in stacks.items():
            for place, mark in enumerate(stack):
                yield from self._mark(mark, self._x[at_us] + place * MARKS_APART)
            told = next((mark for mark in stack if mark.text), None)
            if told:
                yield from self._word(told, self._x[at_us] + (len(stack) - 1) * MARKS_APART)

    def _mark(self, mark: Mark, x: float) -> Iterator[str]:
        y, radius = self._y[mark.row], MARK + 2 if mark.number else MARK
        tone = mark.tone if mark.tone in FILLED_MARKS else "mark"
        yield f'<g class="event"><title>{escape(mark.title)}</title>'
        yield f'<circle class="halo" cx="{_n(x)}" cy="{_n(y)}" r="{radius + 2}"/>'
        yield f'<circle class="{tone}" cx="{_n(x)}" cy="{_n(y)}" r="{radius}" stroke-width="1.75"/>'
        if mark.number:
            yield f'<text class="numberText number mid" x="{_n(x)}" y="{_n(y + 4)}">{mark.number}</text>'
        yield "</g>"

    def _word(self, told: Mark, last_x: float) -> Iterator[str]:
        """The words beside marks: on their right, as many as there is room for; the first one's may be on the left."""
        around = [mark.at_us for mark in self._life.marks if mark.row == told.row]
        after = [self._x[moment] for moment in around if moment > told.at_us]
        room, y = min(after, default=self._right + RIGHT) - last_x - 16, self._y[told.row] + 5
        fitting = [text for text in (f"{told.text} {told.detail}".rstrip(), told.text) if 7.6 * len(text) < room]
        if fitting:
            yield f'<text class="ink small" x="{_n(last_x + 12)}" y="{_n(y)}">{escape(fitting[0])}</text>'
        elif min(around) == told.at_us and told.row == PEOPLE:
            yield f'<text class="ink small end" x="{LEFT - 16}" y="{_n(y)}">{escape(told.text)}</text>'

    def _legend(self) -> Iterator[str]:
        """What the colours of the onetake lane say; its bars are often too short for words."""
        x, y = 32.0, self._bottom + 26
        for tone in ("waiting", "ready", "submitting", "submit_unknown", "processing", "collecting", "complete"):
            box = f'x="{_n(x)}" y="{_n(y - 11)}" width="14" height="14" rx="3"'
            yield f'<rect class="{tone}" {box} stroke-width="1.5"/>'
            yield f'<text class="soft small" x="{_n(x + 22)}" y="{_n(y + 1)}">{tone}</text>'
            x += 22 + 8.3 * len(tone) + 24
        yield f'<circle class="submitting" cx="{_n(x + 8)}" cy="{_n(y - 4)}" r="8.5"/>'
        yield f'<text class="numberText number mid" x="{_n(x + 8)}" y="{_n(y)}">1</text>'
        yield f'<text class="soft small" x="{_n(x + 24)}" y="{_n(y + 1)}">attempt sent</text>'


def _row_places(rows: Sequence[Row]) -> dict[Row, float]:
    """The middle of each row."""
    places: dict[Row, float] = {}
    y, before = float(TOP), ""
    for row in rows:
        y += LANE_GAP if before not in ("", row[0]) else 0
        places[row] = y + BAR / 2
        y, before = y + ROW, row[0]
    return places


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: max(letters - 1, 0)]}…"


def _n(number: float) -> str:
    """A tenth of a pixel is enough, and the same on every machine."""
    return f"{number:.1f}".removesuffix(".0")
