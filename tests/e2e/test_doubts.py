"""A paid request whose answer was lost: shown, held, and found again by a person who names the provider's id."""

import hashlib
import re

from tests.cli.shell import Shell

PROMPT = "a letter that never arrived"


def test_a_lost_answer_is_held_shown_and_attached_to_the_right_id_alone(shell: Shell) -> None:
    other = shell.order("a letter that did", key="other")
    shell.strike("accept_then_drop", PROMPT, "image")
    lost = shell.order(PROMPT, key="lost")
    assert shell.run("worker", "--until-idle").lines == [
        "Jobs: 1 completed, 1 submission_unknown.",
        "Waiting for a person: 1 unknown.",
    ]
    [task] = shell.bought(PROMPT)
    listed = shell.json("jobs", "list", "--status", "submission_unknown")
    assert (listed["id"], listed["state"], listed["refs"]) == (lost, "image_submit_unknown", {})
    shown, explained, checked = shell.run_all([("jobs", "show", "lost"), ("explain", "lost"), ("doctor",)])
    assert "onetake attach" in shown.out
    assert "nobody knows whether the provider took attempt 1" in explained.out
    assert (checked.code, "1 completed, 1 submission_unknown" in checked.out) == (1, True)

    refs = shell.json("jobs", "show", other)["refs"]
    refused = {
        ("nobody", "task_1"): (4, "There is no job with the id or key 'nobody'"),
        (other, "task_1"): (2, "Nothing of this job is unknown"),
        ("lost", "task_1"): (2, "reapi knows no task task_1: nothing was attached"),
        ("lost", refs["image"]): (2, "belongs to another attempt"),
        ("lost", refs["video"]): (2, "runs the model wan3.0-video, this step ordered gemini"),
        ("lost", "a\nb"): (2, "can't be a provider's id"),
        ("lost", task["id"], "--step", "video"): (2, "Nothing of step 'video'"),
    }
    ran = shell.run_all([("attach", *each) for each in refused])
    for each, (code, sentence) in zip(ran, refused.values(), strict=True):
        each.refused(code, sentence)

    assert shell.json("attach", "lost", task["id"]) == {"attached": task["id"], "attempt": 1}
    assert shell.run("worker", "--until-idle").out == "Jobs: 2 completed.\n"
    assert [each["id"] for each in shell.bought(PROMPT)] == [task["id"]]
    shell.run("attach", "lost", task["id"]).refused(2, "nothing to attach an id to")


def test_run_ends_with_10_when_nobody_knows(shell: Shell) -> None:
    prompt = "a letter in a bottle"
    shell.strike("accept_then_drop", prompt, "image")
    ran = shell.run("run", "still-to-clip", "-i", f"prompt={prompt}")
    assert (ran.code, ran.lines[-1].split()[1]) == (10, "submission_unknown")
    assert "is in doubt and needs a person: see `onetake jobs show job_" in ran.err
    again = shell.run("run", "still-to-clip", "-i", f"prompt={prompt}", "--json")
    told = again.objects[-1]
    assert (again.code, told["error"], told["money"], told["repeat_safe"]) == (10, "outcome_unknown", "unknown", False)
    assert len(shell.bought(prompt)) == 1


def test_one_of_two_lost_ones_is_attached_only_by_somebody_who_is_sure(shell: Shell) -> None:
    prompts = ("a letter to a twin", "a letter to the other twin")
    for prompt in prompts:
        shell.strike("accept_then_drop", prompt, "image")
        shell.order(prompt, key=prompt[-10:])
    shell.run("worker", "--until-idle")
    [task] = shell.bought(prompts[0])
    key = prompts[0][-10:]
    refused = shell.run("attach", key, task["id"])
    refused.refused(
        2, "may belong to any of 2 unknown requests", "repeat with --yes", "key other twin, sent 20", " UTC"
    )
    told = shell.run("attach", key, task["id"], "--json").object
    assert (told["error"], len(told["fields"])) == ("not_allowed", 2)
    assert shell.json("attach", "--yes", key, task["id"])["attached"] == task["id"]


def test_the_sheet_of_a_lost_task_tells_what_is_needed_to_recognise_it(shell: Shell) -> None:
    prompt = "a letter to be recognised"
    shell.strike("accept_then_drop", prompt, "image")
    shell.order(prompt, key="lost")
    shell.run("worker", "--until-idle")
    sheet = shell.run("jobs", "show", "lost").out
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    assert f"prompt: 25 characters, sha256 {digest[:16]}" in sheet
    assert "ratio: 16:9" in sheet
    assert "reapi image, gemini-3.1-flash-image-preview" in sheet
    assert re.search(r"attempt 1: submit_unknown, sent 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", sheet)
    assert prompt not in sheet
    assert shell.json("jobs", "show", "lost")["inputs"]["prompt"] == {"chars": 25, "sha256": digest}
    assert shell.run("jobs", "list", "--state", "image_submit_unknown").lines[0].endswith(" UTC  lost")
    for word, sentence in {
        "foo": "No job can be in the state 'foo': known are preparing, complete,",
        "imag_submit_unknown": "(did you mean `image_submit_unknown`?)",
        "submission_unknown": "submission_unknown is a status, the coarser word: use --status submission_unknown",
    }.items():
        shell.run("jobs", "list", "--state", word).refused(2, sentence)
