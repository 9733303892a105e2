"""A layered drawing of a small directed graph: nodes in rows, arrows from row to row, nothing on top of another.

The method is Sugiyama's, in four steps: rows by longest path; an arrow that spans several rows gets an unseen node in
each, and its text is such a node too, so texts have room of their own; the order within rows is the one with the fewest
crossings that sweeping and swapping finds; places are where the arrows are straightest, at a fixed distance from the
neighbours. Everything is decided by the order in which nodes and arrows are given, so the same graph is always drawn
alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import fsum

Point = tuple[float, float]

GAP_X = 22  # between neighbours: two letters, so that texts don't read as one
SWEEPS = 24  # orders settle within ten for graphs of a dozen nodes; the rest is for luck
PULLS = 500  # places settle to a tenth of a pixel


@dataclass(slots=True, eq=False)
class Node:
    """Something with a place: a state, the text of an arrow, or a bend in one. `x` and `y` are its middle."""

    text: str
    width: float
    height: float
    row: int
    x: float = 0.0
    y: float = 0.0
    above: list["Node"] = field(default_factory=list)
    below: list["Node"] = field(default_factory=list)

    @property
    def is_bend(self) -> bool:
        """Whether it only guides an arrow past a row."""
        return self.width == 0


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from one state to another with its text; drawn through `chain`, from the upper to the lower end."""

    chain: list[Node]
    label: Node
    is_upward: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where everything is. Sizes in pixels."""

    nodes: dict[str, Node]
    arrows: list[Arrow]
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Sizes in pixels."""

    letter: float
    label_letter: float
    box_padding: float
    box_height: float
    label_line: float
    gap_y: float


def lay_out(
    names: Sequence[str], edges: Sequence[tuple[str, tuple[str, ...], str]], last: set[str], style: Style
) -> Drawing:
    """The drawing of a graph.

    Args:
        names: the nodes; an arrow to an earlier one is drawn upwards.
        edges: from, the lines of its text, to.
        last: nodes that stand in the last row, whatever leads to them.
        style: sizes.
    """
    rows_of = _rows(names, edges, last)
    nodes = {
        name: Node(name, len(name) * style.letter + style.box_padding, style.box_height, row)
        for name, row in rows_of.items()
    }
    arrows = [_arrow(nodes[start], nodes[end], lines, style) for start, lines, end in edges]
    rows = _filled([*nodes.values()], arrows)
    _order(rows)
    _place(rows, arrows)
    height = _stack(rows, style.gap_y)
    return Drawing(nodes, arrows, _moved_to_zero(rows), height)


def _rows(names: Sequence[str], edges: Sequence[tuple[str, tuple[str, ...], str]], last: set[str]) -> dict[str, int]:
    """Each node's row, by the longest way down to it; the odd rows between are for texts."""
    rows = dict.fromkeys(names, 0)
    for name in names:
        lower = [end for start, _, end in edges if start == name and names.index(end) > names.index(name)]
        for end in lower:
            rows[end] = max(rows[end], rows[name] + 2)
    bottom = max(rows.values())
    return {name: bottom if name in last else row for name, row in rows.items()}


def _arrow(start: Node, end: Node, lines: tuple[str, ...], style: Style) -> Arrow:
    """The arrow with a node in each row between; its text is beside its start."""
    upper, lower = sorted((start, end), key=lambda node: node.row)
    label_row = start.row + 1 if start is upper else start.row - 1
    chain = [upper]
    for row in range(upper.row + 1, lower.row):
        if row == label_row:
            width = max(map(len, lines)) * style.label_letter + 8
            chain.append(Node("\n".join(lines), width, len(lines) * style.label_line, row))
        else:
            chain.append(Node("", 0, 0, row))
    chain.append(lower)
    for above, below in pairwise(chain):
        above.below.append(below)
        below.above.append(above)
    return Arrow(chain, chain[label_row - upper.row], is_upward=start is lower)


def _filled(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> list[list[Node]]:
    rows: list[list[Node]] = [[] for _ in range(max(node.row for node in nodes) + 1)]
    for node in [*nodes, *(node for arrow in arrows for node in arrow.chain[1:-1])]:
        rows[node.row].append(node)
    return rows


def _order(rows: list[list[Node]]) -> None:
    """Put each row in the order with the fewest crossings that was met."""
    best, fewest = [list(row) for row in rows], _crossings(rows)
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        for row in rows if is_down else reversed(rows):
            _by_neighbours(row, rows, is_down=is_down)
        _swap(rows)
        count = _crossings(rows)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best


def _by_neighbours(row: list[Node], rows: list[list[Node]], *, is_down: bool) -> None:
    places = {id(node): place for each in rows for place, node in enumerate(each)}

    def middle(node: Node) -> float:
        near = node.above if is_down else node.below
        return sum(places[id(each)] for each in near) / len(near) if near else places[id(node)]

    row.sort(key=middle)


def _swap(rows: list[list[Node]]) -> None:
    """Swap neighbours for as long as that undoes crossings."""
    fewest, is_better = _crossings(rows), True
    while is_better:
        is_better = False
        for row in rows:
            for left in range(len(row) - 1):
                row[left], row[left + 1] = row[left + 1], row[left]
                count = _crossings(rows)
                if count < fewest:
                    fewest, is_better = count, True
                else:
                    row[left], row[left + 1] = row[left + 1], row[left]


def _crossings(rows: list[list[Node]]) -> int:
    return sum(_crossings_between(upper, lower) for upper, lower in pairwise(rows))


def _crossings_between(upper: list[Node], lower: list[Node]) -> int:
    places = {id(node): place for place, node in enumerate(lower)}
    ends = [place for node in upper for place in sorted(places[id(each)] for each in node.below)]
    return sum(first > second for index, first in enumerate(ends) for second in ends[index + 1 :])


def _place(rows: list[list[Node]], arrows: Sequence[Arrow]) -> None:
    """Give each node its place: pulled to where its arrows lead, pushed apart where neighbours are too close."""
    for row in rows:
        for left, right in pairwise(row):
            right.x = left.x + _distance(left, right)
    pieces = _straight_pieces(rows, arrows)
    for pull in range(PULLS):
        strength = 0.5 * max(0.0, 1 - 1.25 * pull / PULLS)  # the last fifth only pushes
        for piece in {id(piece): piece for piece in pieces.values()}.values():
            _move(piece, strength * (_wanted(piece) - piece[0].x))
        for row in rows:
            for left, right in pairwise(row):
                lacking = left.x + _distance(left, right) - right.x
                if lacking > 0:
                    _move(pieces[id(left)], -lacking / 2)
                    _move(pieces[id(right)], lacking / 2)


def _straight_pieces(rows: list[list[Node]], arrows: Sequence[Arrow]) -> dict[int, list[Node]]:
    """For each node, those that share its place: an arrow's text and bends, as far as no other arrow is in the way."""
    pieces = {id(node): [node] for row in rows for node in row}
    for arrow in arrows:
        for above, below in pairwise(arrow.chain[1:-1]):
            piece = [*pieces[id(above)], *pieces[id(below)]]
            joined = pieces | {id(node): piece for node in piece}
            if _is_orderly(rows, joined):
                pieces = joined
                for node in piece:
                    node.x = piece[0].x
    return pieces


def _is_orderly(rows: list[list[Node]], pieces: dict[int, list[Node]]) -> bool:
    """Whether no piece would have to be left of itself."""
    right_of: dict[int, set[int]] = {id(piece): set() for piece in pieces.values()}
    for row in rows:
        for left, right in pairwise(row):
            right_of[id(pieces[id(left)])].add(id(pieces[id(right)]))
    try:
        tuple(TopologicalSorter(right_of).static_order())
    except CycleError:
        return False
    return True


def _wanted(piece: list[Node]) -> float:
    """Where the arrows of a straight piece, or of a box, pull it."""
    ends = [each for node in piece for each in (*node.above, *node.below) if each not in piece]
    return fsum(each.x for each in ends) / len(ends)  # exact: `sum` of floats differs between Python versions


def _move(piece: list[Node], distance: float) -> None:
    for node in piece:
        node.x += distance


def _distance(left: Node, right: Node) -> float:
    """How far apart the middles of neighbours must be."""
    return (left.width + right.width) / 2 + GAP_X


def _stack(rows: list[list[Node]], gap: float) -> float:
    """Give each row its height; the height of all."""
    y = 0.0
    for row in rows:
        tallest = max(node.height for node in row)
        for node in row:
            node.y = y + tallest / 2
            node.height = node.height or tallest
        y += tallest + gap
    return y - gap


def _moved_to_zero(rows: list[list[Node]]) -> float:
    """Move everything so that the leftmost edge is at 0; the width of all."""
    nodes = [node for row in rows for node in row]
    left = min(node.x - node.width / 2 for node in nodes)
    for node in nodes:
        node.x -= left
    return max(node.x + node.width / 2 for node in nodes)


def route(arrow: Arrow, *, upper_port: float, lower_port: float) -> Iterator[Point]:
    """The points that the arrow goes through, from its upper end to its lower one; it is upright at each."""
    upper, *between, lower = arrow.chain
    yield upper_port, upper.y + upper.height / 2
    for node in between:
        yield node.x, node.y - node.height / 2
        yield node.x, node.y + node.height / 2
    yield lower_port, lower.y - lower.height / 2
