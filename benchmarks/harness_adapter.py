"""Attaches onetake to the harness: `harness_adapter.py init|enqueue|worker|report`, as the harness calls it.

Only public names are used: the environment variables, `onetake migrate`, `jobs create`, `worker --until-idle` and
`jobs list --json`. The recipe beside this file orders what the harness's fake provider serves. With `--unguarded`
before the word the worker is the one of `unguarded.py`.
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
E = os.environ

STATES = {
    "completed": "done",
    "failed": "failed",
    "incomplete": "failed",
    "cancelled": "failed",
    "submission_unknown": "uncertain",
}

CONTRACTS = {"honour-idempotency": "reapi-honours-keys.toml", "lookup": "reapi-shows-tasks.toml"}
"""What says so to onetake, for each promise of the harness's provider. Where it keeps both, the first is enough."""


def environment() -> dict[str, str]:
    """The harness's settings under onetake's names."""
    folder = E["BENCH_DIR"]
    return {
        **E,
        "ONETAKE_DATABASE_URL": E.get("DB_URL") or f"sqlite:///{folder}/onetake.db",
        "ONETAKE_STORAGE_URL": f"file://{folder}/files",
        "ONETAKE_PROVIDERS__REAPI__BASE_URL": E["BASE_URL"],
        "ONETAKE_PROVIDERS__REAPI__API_KEY": "harness",
        "ONETAKE_PROVIDERS__REAPI__SUBMIT_TIMEOUT_S": E["HTTP_TIMEOUT_S"],
        "ONETAKE_PROVIDERS__REAPI__POLL_FIRST_S": E["FIRST_POLL_S"],
        "ONETAKE_PROVIDERS__REAPI__POLL_INTERVAL_S": E["POLL_S"],
        "ONETAKE_WORKER__CONCURRENCY": str(min(1000, int(E["CONCURRENCY"]))),
        "ONETAKE_WORKER__LEASE_S": "2",
        **contract(),
    }


def contract() -> dict[str, str]:
    """The contract that fits what the provider was told to do; else it is the one that ships."""
    promises = E.get("PROMISES", "").split(",")
    fitting = [str(HERE / name) for promise, name in CONTRACTS.items() if promise in promises]
    return {"ONETAKE_PROVIDERS__REAPI__CONTRACT": fitting[0]} if fitting else {}


def onetake(*arguments: str, stdin: str = "") -> str:
    """What the command printed."""
    done = subprocess.run(
        [sys.executable, "-m", "onetake", *arguments],
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"onetake {' '.join(arguments)}: {done.returncode}\n{done.stderr[-3000:]}\n{done.stdout[-1000:]}"
        )
    return done.stdout


def enqueue() -> None:
    """One job per chain, under the chain's key."""
    lines = [
        json.dumps(
            {
                "key": key,
                "inputs": {
                    "image_prompt": f"a red bicycle chain={key}",
                    "video_prompt": f"the wheel turns chain={key}",
                },
            }
        )
        for key in (f"{E['RUN']}-{number:05d}" for number in range(int(E["N"])))
    ]
    recipe = "chain" if E.get("STAGES", "image,video") == "image,video" else "still"
    onetake("jobs", "create", "--recipe", str(HERE / f"harness-{recipe}.toml"), "--from", "-", stdin="\n".join(lines))


def worker() -> None:
    """Become the worker, so that a kill hits it."""
    command, settings = [sys.executable, "-m", "onetake", "worker", "--until-idle"], environment()
    if sys.argv[1] == "--unguarded":
        command, settings["PYTHONPATH"] = [sys.executable, "-m", "benchmarks.unguarded"], str(HERE.parent)
    os.execve(sys.executable, command, settings)  # noqa: S606 - this process is to become the worker


def report() -> None:
    """One line per chain: what onetake says of it."""
    for line in onetake("jobs", "list", "--json").splitlines():
        job = json.loads(line)
        last = job["outputs"][-1]
        steps = [output["step"] for output in job["outputs"]]
        ref = job["refs"].get(steps[-1])
        kind = {"image": "png", "video": "mp4"}[steps[-1]]
        print(
            json.dumps(
                {
                    "key": job["key"],
                    "state": STATES.get(job["status"], "uncertain" if job["status"] == "needs_review" else "pending"),
                    "t_done": None if job["completed_at"] is None else epoch(job["completed_at"]),
                    "url": f"{E['BASE_URL']}/assets/{ref}.{kind}",
                    "sha256": last["digest"],
                    "native": job["state"],
                    "error": job["last_error"],
                }
            )
        )


def epoch(moment: str) -> float:
    """Seconds since 1970 of an ISO time."""
    return datetime.datetime.fromisoformat(moment).timestamp()


{"init": lambda: onetake("migrate"), "enqueue": enqueue, "worker": worker, "report": report}[sys.argv[-1]]()
