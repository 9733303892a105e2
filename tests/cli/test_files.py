"""Files that are gone from the store: said by `doctor` and by `jobs show`, with the job and what to do."""

from pathlib import Path

from tests.cli.shell import Shell


def test_a_file_that_is_gone_is_missed(shell: Shell) -> None:
    assert shell.run("run", "still-to-clip", "-i", "prompt=a file to lose", "--key", "mine").code == 0
    well = shell.run("doctor", "--hash")
    assert (well.code, well.err) == (0, "")  # no progress but at a terminal
    assert "2 files of filled outputs read and hashed" in well.out
    shown = shell.json("jobs", "show", "mine")
    assert [output["is_gone"] for output in shown["outputs"]] == [False, False]
    lost = Path(shown["outputs"][0]["path"])
    lost.unlink()
    ran = ("run", "still-to-clip", "-i", "prompt=a file to lose", "--key", "mine")
    looks = [("jobs", "show", "mine"), ("jobs", "show", "mine", "--json"), ("doctor",), ran]
    page, again, checked, same = shell.run_all(looks)
    assert (same.code, "isn't there: put it back from a backup" in same.err) == (1, True)
    assert "next     a person: a file is missing where it was stored" in page.out
    assert f"{lost}  missing: put it back from a backup" in page.out
    assert [output["is_gone"] for output in again.object["outputs"]] == [True, False]
    [said] = [line for line in checked.lines if line.startswith("FAIL  file ")]
    assert checked.code == 1
    assert f"{shown['id']} image.still: its file is missing: put {lost} back from a backup" in said
