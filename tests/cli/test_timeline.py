"""`explain --svg`: real jobs' journals as pictures, whole, well-formed and without a secret."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from onetake.cli.timeline import picture
from onetake.domain.story import sentence
from onetake.engine import people
from tests.cli.shell import Shell
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged

TICKS_Y = "132"
SVG = "{http://www.w3.org/2000/svg}"
PROMPT = 'A <night> train & its "lights"'
TWO_TRIES = "[steps.repeats]\ncount_max = 2"


async def happy(rig: Rig) -> str:
    job = await rig.order(prompt=PROMPT)
    await rig.work()
    return job


async def lost_and_attached(rig: Rig) -> str:
    rig.sandbox.script("accept_then_drop", route="image")
    job = await rig.order(prompt=PROMPT)
    await rig.work()
    rig.clock.leap(8 * 3600)
    await people.attach(rig.parts, job, rig.bought()[0]["id"])
    await rig.work()
    return job


async def failed(rig: Rig) -> str:
    rig.sandbox.script("task_fails", route="video")
    job = await rig.order(prompt=PROMPT)
    await rig.work()
    return job


async def asked_too_often(rig: Rig) -> str:
    rig.sandbox.script("refuse_429", times=2)
    job = await rig.order(still(TWO_TRIES), prompt=PROMPT)
    await rig.work()
    await rig.act(people.resume, job)
    await rig.work()
    return job


@pytest.mark.parametrize(
    ("play", "words", "tones"),
    [
        (happy, {"ordered", "complete"}, {"complete", "spent"}),
        (lost_and_attached, {"attached", "complete", "submit_unknown"}, {"submit_unknown", "doubt", "working"}),
        (failed, {"failed", "returned", "spent"}, {"failed", "returned"}),
        (asked_too_often, {"not now", "resumed", "complete"}, {"waiting", "complete"}),
    ],
)
async def test_a_real_life_is_drawn(
    tmp_path: Path, play: Callable[[Rig], Awaitable[str]], words: set[str], tones: set[str]
) -> None:
    async with rigged(tmp_path) as rig:
        job = await play(rig)
        lines, view = await rig.journal(job), await rig.view(job)
        drawn = picture(view, lines)
        root = ET.fromstring(drawn)  # noqa: S314 - our own
        titles = [title.text or "" for mark in root.iter(f"{SVG}g") for title in mark.iter(f"{SVG}title")]
        assert len(titles) == len(lines)
        assert all(any(title.startswith(sentence(line)) for title in titles) for line in lines)
        texts = [text.text or "" for text in root.iter(f"{SVG}text")]
        refs = [line["data"]["ref"] for line in lines if line["data"].get("source") == "attach"]
        assert words <= {text.removesuffix(f" {ref}") for text in texts for ref in refs or [""]}
        assert all(f"attached {ref}" in texts for ref in refs)
        assert tones <= {shape.get("class") for shape in root.iter(f"{SVG}rect")}
        assert drawn == picture(view, lines)
        assert_quiet(drawn, rig)


def assert_quiet(drawn: str, rig: Rig) -> None:
    """No prompt and no address is in it."""
    assert "night" not in drawn
    assert "lights" not in drawn
    assert re.findall(r"https?://(?!www\.w3\.org)", drawn) == []
    assert rig.settings.providers["reapi"].api_key.get_secret_value() not in drawn


async def test_a_night_is_folded_and_a_strange_id_does_no_harm(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await lost_and_attached(rig)
        lines, view = await rig.journal(job), await rig.view(job)
        accepted = next(line for line in lines if line["event"] == "attempt.accepted")
        accepted["data"]["ref"] = "<script>&\u202e" + "x" * 500
        drawn = picture(view, spread_out(lines))
        assert "of waiting, folded</text>" in drawn
        assert "<script" not in drawn
        ET.fromstring(drawn)  # noqa: S314 - our own


async def test_moments_within_a_millisecond_get_one_label(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await happy(rig)
        lines, view = await rig.journal(job), await rig.view(job)
        close = [{**line, "at": lines[0]["at"] + place * 20} for place, line in enumerate(lines)]
        root = ET.fromstring(picture(view, close))  # noqa: S314 - our own
        assert [text.text for text in root.iter(f"{SVG}text") if text.get("y") == TICKS_Y] == ["0 ms"]


def spread_out(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As if each line had taken a second: virtual time stands still while anything works."""
    return [{**line, "at": line["at"] + place * 1_000_000} for place, line in enumerate(lines)]


def test_the_command_writes_a_file_and_says_where(shell: Shell) -> None:
    job = shell.order(PROMPT)
    assert shell.json("explain", job, "--svg", "life.svg") == {"file": "life.svg"}
    drawn = (shell.folder / "life.svg").read_text()
    assert job in drawn
    assert "ordered" in drawn
    assert "night" not in drawn
    assert shell.run("explain", job, "--svg", "again.svg").out == "again.svg\n"
    shell.run("explain", job, "--svg", "onetake.db").refused(2, "onetake.db can't be written (File exists)")
    assert len(shell.run("jobs", "list").lines) == 1  # nothing that stands is written over
    shell.run("explain", job, "--svg", "no/such/folder.svg").refused(2, "no/such/folder.svg", "can't be written")
