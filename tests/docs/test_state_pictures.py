"""The pictures of the state machines: everything of the table is there, and nothing lies on anything else."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from typing import Any

import pytest

from onetake.domain.transitions import MACHINES, Machine
from tools.docs.state_pictures import drawing_of, picture
from tools.layered import Node

NAMES = [machine.name for machine in MACHINES]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_every_state_and_move_of_the_table_is_drawn(machine: Machine[Any, Any]) -> None:
    root = ET.fromstring(picture(machine))  # noqa: S314 - our own words
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {str(state) for state in machine.states} <= texts
    drawing = drawing_of(machine)
    drawn = set()
    for arrow in drawing.arrows:
        ends = [arrow.chain[0].text, arrow.chain[-1].text]
        start, end = reversed(ends) if arrow.is_upward else ends
        drawn |= {(start, event, end) for event in arrow.label.text.split("\n")}
    assert drawn == {(str(start), str(event), str(end)) for start, event, end in machine.moves()}


@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_nothing_lies_on_anything_else_and_it_fits_a_page(machine: Machine[Any, Any]) -> None:
    drawing = drawing_of(machine)
    boxes = [*drawing.nodes.values(), *(arrow.label for arrow in drawing.arrows)]
    assert [(a.text, b.text) for a, b in combinations(boxes, 2) if touch(a, b)] == []
    width = re.search(r'viewBox="0 0 ([\d.]+) ', picture(machine))
    assert width is not None
    assert float(width[1]) <= 830  # as wide as a page of GitHub's shows it


@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_final_states_look_different(machine: Machine[Any, Any]) -> None:
    rings = re.findall(r'class="ring"', picture(machine))
    assert len(rings) == len([state for state in machine.states if machine.is_final(state)])


def touch(a: Node, b: Node) -> bool:
    """Whether two boxes overlap."""
    return abs(a.x - b.x) < (a.width + b.width) / 2 and abs(a.y - b.y) < (a.height + b.height) / 2
