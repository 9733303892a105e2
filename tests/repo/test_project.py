"""What the repository as a whole promises to somebody who clones it."""

import re

from tests.repo.tree import ROOT, find, listed, project_files


def test_the_readme_opens_with_two_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert [line.split("#")[0].strip() for line in blocks[0].splitlines()] == ["./dev demo", "./dev test"]


def test_the_lock_pins_every_file_by_hash_and_names_no_server() -> None:
    text = (ROOT / "requirements.lock").read_text()
    pins = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(pins) > 50
    assert [pin.split()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []
    assert find(r"://|--(extra-)?index|--find", [ROOT / "requirements.lock"]) == []


def test_no_file_names_a_machine_or_a_package_server() -> None:
    folders = r"(?<![\w.~$}])/(work|root|home|Users)/"
    servers = r"py(pi|thonhosted)[.]org|npm(js|mirror)[.](org|com)|deb[.]debian|debian[.]org"
    found = find(rf"{folders}|{servers}", project_files())
    assert not found, listed(found)
