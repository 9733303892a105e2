"""Nothing leaks: no key, no signed address and no prompt in anything that is printed or logged, whatever goes wrong."""

import json
import sqlite3

from tests.cli.shell import KEY, Ran, Shell

MOTION = "the secret motion, turning slowly"
FAULTS = {
    "a secret that goes well": (),
    "a secret whose answer is lost": (("accept_then_drop", "image"),),
    "a secret that is refused for what it says": (("refuse_moderation", "image"),),
    "a secret that is refused for its account": (("refuse_402", "image"),),
    "a secret that fails at the provider": (("task_fails", "any"),),
    "a secret with bad polls": (("poll_gateway_html", "poll"), ("poll_5xx", "poll"), ("poll_unlisted_status", "poll")),
    "a secret with bad files": (
        ("file_html", "download"),
        ("file_expired", "download"),
        ("file_truncated", "download"),
    ),
}


def test_no_key_no_signed_address_and_no_prompt_is_ever_printed(shell: Shell) -> None:
    for prompt, faults in FAULTS.items():
        for fault, route in faults:
            shell.strike(fault, prompt, route)
    lines = "\n".join(json.dumps({"inputs": {"prompt": prompt, "motion": MOTION}}) for prompt in FAULTS)
    create = ("jobs", "create", "--recipe", "still-to-clip", "--from", "-")
    said = [shell.run(*create, given=lines), shell.run(*create, "--json", given=lines)]
    with shell.running("worker", "--json") as worker:
        said.append(shell.run("run", "still-to-clip", "-i", "prompt=a secret run", "-i", f"motion={MOTION}"))
        worker.terminate()
        said.append(Ran(0, *worker.communicate(timeout=60)))
    for _ in range(2):  # the refusal of the account stops the provider, for a person to look at
        said += [shell.run("worker", "--until-idle"), shell.run("stops", "list")]
        said += [shell.run("stops", "lift", "provider", "reapi"), shell.run("worker", "--until-idle")]
    jobs = [job["id"] for job in shell.run("jobs", "list", "--json").objects]
    looks = [
        ("jobs", "list"),
        ("jobs", "list", "--json"),
        ("doctor", "--json"),
        *(("jobs", "show", job) for job in jobs[:1]),
    ]
    for job in jobs:
        looks += [("jobs", "show", job, "--json"), ("explain", job)]
    said += shell.run_all(looks)

    told = "\n".join(part for ran in said for part in (ran.out, ran.err))
    assert "submission_unknown" in told  # the faults did strike
    assert "content_policy_violation" in told
    for secret in (KEY, "a secret", MOTION, *signed_addresses(shell)):
        assert secret not in told, told[max(0, told.index(secret) - 300) :][:600]


def signed_addresses(shell: Shell) -> list[str]:
    """Every address that was kept, and what makes it open: its query."""
    with sqlite3.connect(shell.folder / "onetake.db") as database:
        kept = [address for (address,) in database.execute("SELECT address FROM artifacts")]
    database.close()
    assert len(kept) > 3
    assert all("?" in address for address in kept)
    return [part for address in kept for part in (address, address.partition("?")[2])]
