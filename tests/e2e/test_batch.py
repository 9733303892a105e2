"""The examples as one batch: twenty prompts in, twenty different clips out, and the same file again costs nothing."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

from tests.cli.conftest import sandboxed
from tests.cli.shell import ROOT, Shell, ask

EXAMPLES = ROOT / "examples" / "prompts.jsonl"
CREATE = ("jobs", "create", "--recipe", "still-to-clip", "--from", str(EXAMPLES))
DEFAULT_MOTION = "Slow push-in, gentle parallax, soft natural movement"
ORDERS = [json.loads(line) for line in EXAMPLES.read_text("utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A sandbox whose bill holds nothing else."""
    with sandboxed(tmp_path_factory.mktemp("provider")) as origin:
        yield origin


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, new_database: Path, provider: str) -> Shell:
    """A folder in which the batch was ordered and worked off."""
    shell = Shell(folder=tmp_path_factory.mktemp("batch"), origin=provider)
    (shell.folder / "onetake.db").write_bytes(new_database.read_bytes())
    created = shell.run(*CREATE)
    assert (created.code, created.lines[-1]) == (0, "20 new, 0 stood already, 0 refused.")
    worked = shell.run("worker", "--until-idle", "--json")
    assert (worked.code, worked.object["jobs"], worked.object["alarms"]) == (0, {"completed": 20}, [])
    return shell


def test_twenty_prompts_become_twenty_different_playable_clips(worked: Shell) -> None:
    jobs = worked.run("jobs", "list", "--json").objects
    assert {job["key"] for job in jobs} == {order["key"] for order in ORDERS}
    clips = {job["outputs"][-1]["digest"] for job in jobs}
    assert len(clips) == 20
    for digest in clips:
        path = worked.folder / "files" / "sha256" / digest[:2] / digest[2:]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
        with av.open(path) as clip:
            frames = list(clip.decode(video=0))
            assert len(frames) == 5 * (clip.streams.video[0].average_rate or 0)


def test_each_prompt_was_bought_once_as_it_was_written(worked: Shell) -> None:
    tasks = ask(f"{worked.origin}/_bill")["tasks"]
    images, clips = (Counter(task["prompt"] for task in tasks if task["route"] == kind) for kind in ("image", "video"))
    assert Counter(order["inputs"]["prompt"] for order in ORDERS) == images
    assert Counter(order["inputs"].get("motion", DEFAULT_MOTION) for order in ORDERS) == clips


def test_the_same_file_again_creates_and_sends_nothing(worked: Shell) -> None:
    before = ask(f"{worked.origin}/_bill")["totals"]
    again = worked.run(*CREATE)
    assert (again.code, again.lines[-1]) == (0, "0 new, 20 stood already, 0 refused.")
    assert worked.run("worker", "--until-idle").out == "Jobs: 20 completed.\n"
    assert ask(f"{worked.origin}/_bill")["totals"] == before
    assert len(worked.run("jobs", "list").lines) == 20
