"""`onetake fixture`: an approved job frozen in one file, and its chain through two killed workers."""

import json
from pathlib import Path

from onetake.domain.canonical import digest
from tests.cli.shell import Shell

PROMPT = "A fox that is approved"


def test_an_approved_job_is_frozen_and_verified_through_a_crash_and_a_restart(shell: Shell) -> None:
    shell.order(PROMPT, key="fox")
    assert shell.run("worker", "--until-idle").code == 0
    file = shell.folder / shell.json("fixture", "freeze", "fox", "--approved-by", "Ada")["file"]
    shell.run("fixture", "freeze", "fox", "--approved-by", "Ada").refused(2, "is there already")

    ran = shell.having(ONETAKE_DATABASE_URL="sqlite:////nowhere/o.db").run("fixture", "verify", str(file), "--json")
    told = ran.object
    assert (ran.code, told["verdict"]) == (0, "PASS"), told
    assert [answer["yes"] for answer in told["answers"]] == [True] * 4
    assert all(finding["holds"] for answer in told["answers"] for finding in answer["evidence"])

    refuse_what_was_changed(shell, file)


def refuse_what_was_changed(shell: Shell, file: Path) -> None:
    """A changed file is refused before anything runs, even one whose still and seal were made to fit."""
    content = json.loads(file.read_text())
    content["clip"]["prompt"] = "Something else moves"
    (shell.folder / "prompt.json").write_text(json.dumps(content))
    content = json.loads(file.read_text())
    del content["seal"]
    content["clip"]["first_frame"]["sha256"] = "0" * 64
    content["seal"] = digest(content)
    (shell.folder / "frame.json").write_text(json.dumps(content))
    prompt, frame = shell.run_all([("fixture", "verify", name) for name in ("prompt.json", "frame.json")])
    prompt.refused(2, "not as it was approved", "its prompts or inputs")
    frame.refused(2, "not as it was approved", "the still's pixels")
