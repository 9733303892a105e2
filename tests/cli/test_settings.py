"""Settings that can't be used: refused at the start, in one sentence that names the variable and not its value."""

from concurrent.futures import ThreadPoolExecutor

from tests.cli.shell import Ran, Shell

REAPI = "ONETAKE_PROVIDERS__REAPI__"

REFUSED = {
    ("ONETAKE_WORKER__CONCURRENCY", "0"): "must be at least 1",
    **{(f"ONETAKE_{group}", "s3cret"): "can't be set as a whole" for group in ("WORKER", "PROVIDERS", "POSTGRES")},
    ("ONETAKE_ACCOUNT", "s3cret"): "can't be set as a whole",
    ("ONETAKE_WORKER__LEASE_S", "nan"): "must be a number",
    ("ONETAKE_WORKER__GRACE_S", "inf"): "must be a number",
    (f"{REAPI}BASE_URL", ""): "must be an origin such as https://reapi.ai",
    (f"{REAPI}BASE_URL", "https://reapi.ai/api/v1"): "must be an origin such as https://reapi.ai, without path",
    (f"{REAPI}BASE_URL", "http://user:s3cret@host"): "must be an origin",
    (f"{REAPI}BASE_URL", "http://s3cret.example"): "must begin with https://",
    (f"{REAPI}API_KEY", "s3cret\nX-Other: 1"): "must be one line of ASCII",
    ("ONETAKE_PROVIDERS__ACME__API_KEY", "s3cret"): "names no provider: known are reapi",
    ("ONETAKE_DATABASE_URL", "mysql://user:s3cret@host/name"): "must be sqlite:///PATH or postgresql://",
}


def test_a_setting_that_cant_be_used_is_refused_by_name(shell: Shell) -> None:
    def refused(setting: tuple[str, str]) -> Ran:
        return shell.having(**dict([setting])).run("jobs", "list")

    with ThreadPoolExecutor(3) as hands:
        for ran, ((name, _), sentence) in zip(hands.map(refused, REFUSED), REFUSED.items(), strict=True):
            ran.refused(2, name.rpartition("__")[0] or name, sentence)
            assert "s3cret" not in ran.err


def test_nothing_has_to_be_set(shell: Shell) -> None:
    (shell.folder / "elsewhere").mkdir()
    bare = Shell(folder=shell.folder / "elsewhere", is_bare=True)
    bare.run("jobs", "list").refused(1, "There is no database at", "onetake-data/onetake.db")
    assert not (bare.folder / "onetake-data").exists()  # looking makes nothing
    assert bare.run("migrate").code == 0
    assert bare.run("jobs", "list").out == "No jobs.\n"


def test_doctor_names_variables_that_are_no_settings(shell: Shell) -> None:
    ran = shell.having(ONETAKE_DATABSE_URL="sqlite:///x").run("doctor", "--json")
    assert ran.code == 1
    [strange] = [each for each in ran.objects if each["what"] == "settings"]
    assert (strange["ok"], "ONETAKE_DATABSE_URL" in strange["finding"]) == (False, True)
