"""Results as an SVG picture: how far each ratio is on the right side of its target, on a logarithmic scale."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.measuring import Result

WIDTH, LEFT, RIGHT, TOP, ROW = 1120, 470, 150, 96, 30
DECADE = 1.15
"""How far the scale goes either way, as a power of ten: what is further out is drawn at the edge."""

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
CSS = """
    .card { fill: #fbfaf7; stroke: #e4e0d6 } .ink { fill: #1d2230 } .soft { fill: #676d7b } .grid { stroke: #e4e0d6 }
    .line { stroke: #1d2230 } .met { fill: #1c8f59; stroke: #1c8f59 } .missed { fill: #c98508; stroke: #c98508 }
    @media (prefers-color-scheme: dark) {
      .card { fill: #14171f; stroke: #2a2f3b } .ink { fill: #eceae4 } .soft { fill: #9aa1af } .grid { stroke: #2a2f3b }
      .line { stroke: #eceae4 } .met { fill: #1f9a60; stroke: #1f9a60 } .missed { fill: #d9981f; stroke: #d9981f }
    }
    .title { font-size: 20px; font-weight: 650 } .name { font-size: 13.5px } .small { font-size: 12.5px }
    .mid { text-anchor: middle } .end { text-anchor: end }
"""


def picture(results: Sequence[Result]) -> str:
    """The SVG file."""
    drawn = [found for found in results if found.target is not None and found.target.value > 0]
    height = TOP + ROW * len(drawn) + 34
    body = "\n".join(f"  {line}" for line in [*_scale(height), *_rows(drawn)])
    met = sum(found.is_met for found in drawn)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" \
aria-labelledby="title desc" font-family="{FONT}">
  <title id="title">Ratios against their targets</title>
  <desc id="desc">{met} of {len(drawn)} ratios reach their target; the table below says which.</desc>
  <!-- written by tools/docs/benchmarks.py -->
  <style>{CSS}  </style>
  <rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="18" stroke-width="1.5"/>
  <text class="ink title" x="28" y="38">Ratios against their targets</text>
  <text class="soft small" x="28" y="60">The mark is the median, the line the spread of the rounds; right of the \
black line the target is met.</text>
{body}
</svg>
"""


def _scale(height: int) -> Iterator[str]:
    for factor in (0.1, 0.25, 0.5, 1, 2, 4, 10):
        x = _x(factor)
        kind, wide = ("line", 1.6) if factor == 1 else ("grid", 1)
        yield f'<line class="{kind}" x1="{x}" y1="{TOP - 12}" x2="{x}" y2="{height - 24}" stroke-width="{wide}"/>'
        label = "target" if factor == 1 else f"× {factor:g}"
        yield f'<text class="soft small mid" x="{x}" y="{TOP - 20}">{label}</text>'


def _rows(results: Sequence[Result]) -> Iterator[str]:
    for number, found in enumerate(results):
        y, kind = TOP + ROW * number + 8, "met" if found.is_met else "missed"
        where = f" ({found.database})" if found.database else ""
        name = escape(f"{found.row}  {found.what}{where}")
        yield f'<text class="ink name" x="28" y="{y + 5}">{name}</text>'
        low, high = sorted((_x(_factor(found, found.low)), _x(_factor(found, found.high))))
        yield f'<line class="{kind}" x1="{low}" y1="{y}" x2="{high}" y2="{y}" stroke-width="3" opacity="0.45"/>'
        yield f'<circle class="{kind}" cx="{_x(_factor(found, found.ratio))}" cy="{y}" r="5.5"/>'
        told = escape(f"{found.ratio:.3g}, wanted {found.target}")
        yield f'<text class="soft small end" x="{WIDTH - 28}" y="{y + 5}">{told}</text>'


def _factor(found: Result, ratio: float) -> float:
    """How many times better than the target; 1 meets it."""
    if found.target is None or not ratio:
        return float(10**DECADE)
    return ratio / found.target.value if found.target.sense == ">=" else found.target.value / ratio


def _x(factor: float) -> float:
    share: float = (max(-DECADE, min(DECADE, math.log10(factor))) + DECADE) / (2 * DECADE)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)
