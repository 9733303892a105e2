"""`--json` as it is documented: each example of docs/reference/json.md has the members that the command prints."""

import json
import re

from tests.cli.shell import ROOT, Json, Shell

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text()
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def documented(heading: str) -> list[Json]:
    """The examples under a heading."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    [text] = [each for each in section if each.partition("\n")[0].replace("`", "") == heading]
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    return [json.loads(line) for block in blocks for line in block.splitlines()]


def same_members(printed: list[Json], examples: list[Json]) -> None:
    assert [set(each) for each in printed] == [set(each) for each in examples]


def test_errors_and_orders(shell: Shell) -> None:
    create = ("jobs", "create", "--recipe", "still-to-clip", "--json")
    same_members(shell.run(*create).objects, documented("Errors"))
    lines = '{"key": "mine", "inputs": {"prompt": "a"}}\n{"inputs": {}}'
    taken = shell.run(*create, "--key", "mine", "-i", "prompt=a").objects
    same_members([*taken, *shell.run(*create, "--from", "-", given=lines).objects], documented("jobs create"))


def test_lists_sheets_and_journals(shell: Shell) -> None:
    job = shell.order("a job to look at", key="mine")
    [listed], [explained] = documented("jobs list"), documented("explain, jobs tail")
    [more] = documented("jobs show")
    ran = shell.run("run", "still-to-clip", "-i", "prompt=a job to look at", "--key", "mine", "--json")
    assert (ran.code, ran.err) == (0, "")
    *lines, shown = ran.objects
    assert {frozenset(line) for line in lines} == {frozenset(explained)}
    assert lines == shell.run("explain", job, "--json").objects == shell.run("jobs", "tail", job, "--json").objects
    assert shell.json("jobs", "show", job) == shown
    assert set(shown) == {*listed, *more}
    assert [set(shown[name]) for name in ("money",)] == [set(more["money"])]
    [found] = shell.run("jobs", "list", "--json").objects
    assert set(found) == set(listed)
    assert {frozenset(output) for output in found["outputs"]} == {frozenset(listed["outputs"][0])}
    assert all((shell.folder / output["path"]).is_file() for output in shown["outputs"])
    moments = [*(found[name] for name in found if name.endswith("_at")), *(line["at"] for line in lines)]
    assert [moment for moment in moments if not MOMENT.fullmatch(moment)] == []


def test_what_people_do(shell: Shell) -> None:
    job = shell.order("a job to cancel")
    resumed, cancelled = shell.json("jobs", "resume", job), shell.json("jobs", "cancel", job)
    assert (resumed, cancelled) == ({"polls": 0, "files": 0, "steps": 0}, {"state": "cancelled"})
    same_members([resumed, cancelled], documented("jobs resume, jobs cancel, attach")[:2])
    for again in shell.run_all([("jobs", "resume", job), ("jobs", "cancel", job)]):
        again.refused(2, "is cancelled")
    for nobody in shell.run_all([("jobs", word, "nobody") for word in ("show", "resume")]):
        nobody.refused(4, "There is no job with the id or key 'nobody'")


def test_what_runs_and_checks(shell: Shell) -> None:
    worker, migrated, recipe = (
        shell.json("worker", "--until-idle"),
        shell.json("migrate"),
        shell.json("recipe", "check", "still-to-clip"),
    )
    same_members([worker], documented("worker"))
    checked = shell.run("doctor", "--json")
    assert checked.code == 0
    same_members([migrated, recipe, checked.objects[0]], documented("migrate, recipe check, doctor"))
    faults = shell.run("sandbox", "--list-faults", "--json").objects
    same_members([faults[0]], documented("sandbox, demo")[1:2])
    taken = shell.run("sandbox", "--port", shell.origin.rpartition(":")[2], "--json")
    assert (taken.code, taken.object["error"]) == (1, "surroundings")
