"""docs/pictures/states-*.svg: the state machines, drawn from the tables that the program runs by."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from onetake.domain.transitions import MACHINES, Machine
from tools.layered import Arrow, Drawing, Node, Point, Style, lay_out, route
from tools.page import PICTURES, publish

# Monospace letters are 0.6 of their size wide, in every font of the list below.
STYLE = Style(letter=8.7, label_letter=7.5, box_padding=34, box_height=40, label_line=17, gap_y=24)
MARGIN, HEAD = 28, 74  # around everything; above it for the title and the way in
PORTS_APART = 26  # between arrows at one side of a box: two arrowheads don't touch

DOUBT = {"submit_unknown", "incomplete", "blocked"}
DONE = {"delivered", "complete", "filled", "verified", "captured", "attached", "settled"}

CSS = """
    .card { fill: #fbfaf7; stroke: #e4e0d6 } .gap { fill: #fbfaf7 }
    .ink { fill: #1d2230 } .soft { fill: #676d7b } .wire { stroke: #8d93a1; fill: none } .head { fill: #8d93a1 }
    .moving { fill: #eef2fd; stroke: #4a55c8 } .movingText { fill: #2c358f }
    .doubt { fill: #fdf0d2; stroke: #c98508; stroke-dasharray: 7 5 } .doubtText { fill: #8a5a00 }
    .done { fill: #1c8f59; stroke: #1c8f59 } .over { fill: #676d7b; stroke: #676d7b }
    .ring { fill: none; stroke: #fbfaf7; stroke-width: 1.5 } .doneText, .overText { fill: #ffffff }
    @media (prefers-color-scheme: dark) {
      .card { fill: #14171f; stroke: #2a2f3b } .gap { fill: #14171f }
      .ink { fill: #eceae4 } .soft { fill: #9aa1af } .wire { stroke: #7d8596 } .head { fill: #7d8596 }
      .moving { fill: #1c2244; stroke: #6b76ee } .movingText { fill: #c3c9ff }
      .doubt { fill: #3a2c0c; stroke: #d9981f } .doubtText { fill: #f5c968 }
      .done { fill: #1f9a60; stroke: #1f9a60 } .over { fill: #5c6474; stroke: #5c6474 } .ring { stroke: #14171f }
    }
    .state { font-size: 14.5px; font-weight: 600 } .event { font-size: 12.5px } .mid { text-anchor: middle }
    .title { font-size: 17px; font-weight: 650 } .what { font-size: 13.5px }
    .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Noto Sans Mono', monospace }
"""
FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"


def picture(machine: Machine[Any, Any]) -> str:
    """The machine as an SVG file."""
    drawing = drawing_of(machine)
    what = (machine.states.__doc__ or "").strip()
    title = f"The states of {'an' if machine.name[0] in 'aeiou' else 'a'} {machine.name}"
    width = max(drawing.width, 8.2 * len(title) + 20, 6.9 * len(what)) + 2 * MARGIN
    left, height = (width - drawing.width) / 2, drawing.height + HEAD + MARGIN + 34
    body = "\n".join(f"    {line}" for line in _inside(machine, drawing))
    size = f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc" font-family="{FONT}">
  <title id="title">{title}</title>
  <desc id="desc">{escape(" ".join(_told(machine)))}</desc>
  <!-- written by tools/docs/state_pictures.py -->
  <style>{CSS}  </style>
  <rect class="card" x="1" y="1" width="{_n(width - 2)}" height="{_n(height - 2)}" rx="18" stroke-width="1.5"/>
  <text class="ink title" x="{MARGIN}" y="38">{title}</text>
  <text class="soft what" x="{MARGIN}" y="60">{escape(what)}</text>
  <g transform="translate({_n(left)} {HEAD + 34})">
{body}
  </g>
</svg>
"""


def drawing_of(machine: Machine[Any, Any]) -> Drawing:
    """Where the machine's states and events go."""
    texts: dict[tuple[str, str], list[str]] = {}
    for start, event, end in machine.moves():
        texts.setdefault((start, end), []).append(event)
    edges = [(start, tuple(events), end) for (start, end), events in texts.items()]
    final = {str(state) for state in machine.states if machine.is_final(state)}
    names = [str(state) for state in machine.states]
    names.sort(key=final.__contains__)  # an arrow to a final state leads down
    return lay_out(names, edges, final, STYLE)


def _told(machine: Machine[Any, Any]) -> Iterator[str]:
    """The picture in words, for those who don't see it."""
    for start, event, end in machine.moves():
        yield f"{start}, on {event}, becomes {end}."
    yield f"Final: {', '.join(state for state in machine.states if machine.is_final(state))}."


def _inside(machine: Machine[Any, Any], drawing: Drawing) -> Iterator[str]:
    upper, lower = _ports(drawing.arrows, is_upper=True), _ports(drawing.arrows, is_upper=False)
    for arrow in drawing.arrows:
        points = list(route(arrow, upper_port=upper[id(arrow)], lower_port=lower[id(arrow)]))
        yield from _line(points, is_upward=arrow.is_upward)
    for arrow in drawing.arrows:
        yield from _event(arrow.label)
    yield from _way_in(next(iter(drawing.nodes.values())))
    for state, box in drawing.nodes.items():
        yield from _state(box, _tone(machine, state), is_final=machine.is_final(state))


def _ports(arrows: Sequence[Arrow], *, is_upper: bool) -> dict[int, float]:
    """Where each arrow meets the box at that end: side by side, in the order of where they go."""
    sides: dict[int, list[Arrow]] = {}
    for arrow in arrows:
        sides.setdefault(id(arrow.chain[0 if is_upper else -1]), []).append(arrow)
    ports: dict[int, float] = {}
    for side in sides.values():
        box = side[0].chain[0 if is_upper else -1]
        apart = min(PORTS_APART, (box.width - 24) / len(side))
        for place, arrow in enumerate(sorted(side, key=lambda arrow: arrow.chain[1 if is_upper else -2].x)):
            ports[id(arrow)] = box.x + (place - (len(side) - 1) / 2) * apart
    return ports


def _line(points: Sequence[Point], *, is_upward: bool) -> Iterator[str]:
    """The line, short of its arrowhead, and the head."""
    tip = points[0] if is_upward else points[-1]
    back = 7 if is_upward else -7
    ends = [(tip[0], tip[1] + back), *points[1:]] if is_upward else [*points[:-1], (tip[0], tip[1] + back)]
    path = f"M{_n(ends[0][0])} {_n(ends[0][1])}"
    for (x0, y0), (x1, y1) in pairwise(ends):
        middle = _n((y0 + y1) / 2)
        path += f"V{_n(y1)}" if abs(x0 - x1) < 0.05 else f"C{_n(x0)} {middle} {_n(x1)} {middle} {_n(x1)} {_n(y1)}"
    yield f'<path class="wire" d="{path}" stroke-width="1.5"/>'
    yield f'<path class="head" d="M{_n(tip[0] - 5)} {_n(tip[1] + back * 1.3)}h10L{_n(tip[0])} {_n(tip[1])}z"/>'


def _event(label: Node) -> Iterator[str]:
    left, top = label.x - label.width / 2, label.y - label.height / 2
    box = f'x="{_n(left)}" y="{_n(top)}" width="{_n(label.width)}" height="{_n(label.height)}"'
    yield f'<rect class="gap" {box} rx="4"/>'
    for line, text in enumerate(label.text.split("\n")):
        y = top + STYLE.label_line * (line + 0.5) + 4.3
        yield f'<text class="soft event code mid" x="{_n(label.x)}" y="{_n(y)}">{escape(text)}</text>'


def _way_in(box: Node) -> Iterator[str]:
    """A dot, and an arrow to the first state."""
    top = box.y - box.height / 2
    yield f'<circle class="head" cx="{_n(box.x)}" cy="{_n(top - 26)}" r="4.5"/>'
    yield from _line([(box.x, top - 26), (box.x, top)], is_upward=False)


def _tone(machine: Machine[Any, Any], state: str) -> str:
    if state in DOUBT:
        return "doubt"
    if state in DONE:
        return "done"
    return "over" if machine.is_final(state) else "moving"


def _state(box: Node, tone: str, *, is_final: bool) -> Iterator[str]:
    """A box; a final state is a filled pill with a ring inside its edge."""
    yield _rect(box, f'class="{tone}" stroke-width="1.75"', 0, radius=box.height / 2 if is_final else 9)
    if is_final:
        yield _rect(box, 'class="ring"', 3, radius=box.height / 2 - 3)
    yield f'<text class="{tone}Text state code mid" x="{_n(box.x)}" y="{_n(box.y + 5)}">{escape(box.text)}</text>'


def _rect(box: Node, attributes: str, inset: float, *, radius: float) -> str:
    left, top = box.x - box.width / 2 + inset, box.y - box.height / 2 + inset
    size = f'width="{_n(box.width - 2 * inset)}" height="{_n(box.height - 2 * inset)}" rx="{_n(radius)}"'
    return f'<rect {attributes} x="{_n(left)}" y="{_n(top)}" {size}/>'


def _n(number: float) -> str:
    """A tenth of a pixel is enough, and the same on every machine."""
    return f"{number:.1f}".removesuffix(".0")


if __name__ == "__main__":
    for machine in MACHINES:
        publish(f"states-{machine.name.replace(' ', '-')}.svg", picture(machine), folder=PICTURES)
