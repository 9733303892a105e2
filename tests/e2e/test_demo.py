"""The demo as a stranger runs it: a real process, its transcript, its clip, and what it leaves behind."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import log10
from pathlib import Path

import av
import psutil
import pytest
from PIL import Image, ImageChops, ImageStat

from tests.cli.shell import PROGRAM, Shell

LINE = re.compile(r"\$ \S.*|  (journal|bill   ) \| (the-lighthouse|the-night-train): \S.*|")
PSNR_DB_MIN = 30


@dataclass(frozen=True, slots=True)
class Played:
    """One performance that stayed and was told to go: its transcript, its folder, and the processes that it started."""

    lines: list[str]
    folder: Path
    code: int
    family: list[psutil.Process]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("demo")
    lines: list[str] = []
    with performing(folder, "--folder", "stage", "--stay") as process:
        assert process.stdout is not None
        while not lines or not lines[-1].startswith("$ export ONETAKE_WORKER__LEASE_S"):
            lines.append(process.stdout.readline().removesuffix("\n"))
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    return Played(lines + rest.splitlines(), folder / "stage" / "001", process.returncode, family)


@contextmanager
def performing(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """A demo; the settings of whoever calls it are not its concern."""
    environment = Shell(folder=folder, is_bare=True).environment | {"ONETAKE_WORKER__CONCURRENCY": "0"}
    command = [*PROGRAM, "demo", *options]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_every_line_is_a_command_or_comes_from_the_journal_or_the_bill(played: Played) -> None:
    assert [line for line in played.lines[:-1] if not LINE.fullmatch(line)] == []
    assert played.lines[-1] == str(played.folder / "clip.mp4")


def test_it_tells_of_a_lost_answer_a_killed_worker_and_one_purchase_each(played: Played) -> None:
    story = "\n".join(played.lines)
    scenes = (
        r"\$ onetake worker &  # process (\d+), the first worker\n",
        r"the-night-train: Step image: nobody knows whether the provider took attempt 1 .*It is not sent again",
        r"\$ kill -9 \1  # the first worker dies here",
        r"\$ curl \S+/_bill  # what the provider was paid for so far\n",
        r"  bill    \| the-night-train: image bought once, 0\.04 USD \((task_\w+)\)\n\n",
        r"\$ onetake attach the-night-train \2  # the id was found on the provider's bill, by a person\n",
        r"\$ onetake worker &  # process \d+, a second worker",
        r"the-night-train: Step image: owner found the id \2, and the provider knows it",
        r"the-night-train: The job is complete: 2 of 2 outputs stand",
        r"  bill    \| the-lighthouse: video bought once, 0\.50 USD",
        r"  bill    \| the-night-train: image bought once, 0\.04 USD \(\2\)\n",
        r"  bill    \| the-night-train: video bought once, 0\.50 USD",
    )
    assert re.search(r"[\s\S]*?".join(scenes), story)


def test_the_bill_has_one_task_for_each_step_of_each_job(played: Played) -> None:
    entries = [json.loads(line) for line in (played.folder / "provider" / "journal.jsonl").read_text().splitlines()]
    tasks = {entry["Task"]["id"]: entry["Task"] for entry in entries if "Task" in entry}
    assert sorted(task["order"]["kind"] for task in tasks.values()) == ["image", "image", "video", "video"]
    assert len({task["order"]["prompt"] for task in tasks.values()}) == 4
    assert {task["attempt"] for task in tasks.values()} == {1}


def test_the_clip_plays_to_its_end_and_begins_with_the_jobs_own_still(played: Played) -> None:
    folder = played.folder
    with av.open(folder / "clip.mp4") as clip:
        frames = list(clip.decode(video=0))
    first = frames[0].to_image()  # type: ignore[no-untyped-call]
    assert len(frames) == 5 * 24
    still = Image.open(folder / "still.png").convert("RGB").resize(first.size, Image.Resampling.LANCZOS)
    assert psnr_db(first, still) >= PSNR_DB_MIN
    assert psnr_db(first, frames[-1].to_image()) < PSNR_DB_MIN  # type: ignore[no-untyped-call]  # it moves


def psnr_db(one: Image.Image, other: Image.Image) -> float:
    squares = ImageStat.Stat(ImageChops.difference(one, other)).sum2
    error = sum(squares) / (3 * one.width * one.height)
    return 10 * log10(255**2 / error) if error else float("inf")


def test_it_stays_until_it_is_told_to_go_and_leaves_no_process_behind(played: Played) -> None:
    assert played.code == 0
    assert len(played.family) >= 2  # a sandbox and a worker
    assert psutil.wait_procs(played.family, timeout=20)[1] == []


def test_stopped_in_the_middle_it_leaves_no_process_behind_either(tmp_path: Path) -> None:
    with performing(tmp_path, "--json") as process:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline())]
        while told[-1]["kind"] != "journal":
            told.append(json.loads(process.stdout.readline()))
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert [each["kind"] for each in told[:-1]] == ["command"] * 5
    assert told[-1]["job"] == "the-lighthouse"
    assert (process.returncode, len(family) >= 2) == (130, True)
    assert psutil.wait_procs(family, timeout=20)[1] == []


def test_a_folder_that_cant_be_made_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    Shell(folder=tmp_path, is_bare=True).run("demo", "--folder", "file").refused(1, "name another with --folder")
