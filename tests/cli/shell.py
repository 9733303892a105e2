"""Our own program as a person meets it: real processes, their output and exit codes."""

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "onetake")
MORTAL = (sys.executable, str(Path(__file__).with_name("mortal.py")))
KEY = "rk-recognisable-8f1c"
_LONGEST_S = 100  # one command; nothing comes near it

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[Json]:
        """The JSON objects on standard output, which must hold one a line and nothing else."""
        found = [json.loads(line) for line in self.out.split("\n") if line]
        assert all(isinstance(each, dict) for each in found)
        return found

    @property
    def object(self) -> Json:
        [found] = self.objects
        return found

    def refused(self, code: int, *words: str) -> None:
        """One clear sentence came of it, beside logs if it was a worker, with this exit code and these words."""
        said = [line for line in self.err.splitlines() if line.startswith("onetake: ")]
        assert (self.code, self.out, len(said)) == (code, "", 1), self
        assert "Traceback" not in self.err
        assert said[0].endswith("."), self
        for word in words:
            assert word in self.err, self


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """A folder with its settings, to run commands in."""

    folder: Path
    origin: str = "http://127.0.0.1:1"
    more: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    is_bare: bool = False

    @property
    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("ONETAKE_")}
        return (
            ours
            if self.is_bare
            else ours
            | {
                "ONETAKE_DATABASE_URL": f"sqlite:///{self.folder / 'onetake.db'}",
                "ONETAKE_STORAGE_URL": f"file://{self.folder / 'files'}",
                "ONETAKE_PROVIDERS__REAPI__BASE_URL": self.origin,
                "ONETAKE_PROVIDERS__REAPI__API_KEY": KEY,
                "ONETAKE_PROVIDERS__REAPI__SUBMIT_TIMEOUT_S": "5",
                "ONETAKE_PROVIDERS__REAPI__POLL_FIRST_S": "0.05",
                "ONETAKE_PROVIDERS__REAPI__POLL_INTERVAL_S": "0.1",
                "ONETAKE_WORKER__LEASE_S": "2",
                **self.more,
            }
        )

    def having(self, **more: str) -> "Shell":
        """The same, with these variables set as well."""
        return replace(self, more={**self.more, **more})

    def behind(self, *command: str) -> "Shell":
        """The same, with every command run by this one."""
        return replace(self, before=command)

    def run(self, *arguments: str | bytes, given: str | bytes = b"") -> Ran:
        """The command, run to its end; `given` is its standard input."""
        ran = subprocess.run(
            [*self.before, *PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            timeout=_LONGEST_S,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode("utf-8", "replace"))

    def run_all(self, commands: Sequence[Sequence[str | bytes]]) -> list[Ran]:
        """Commands that don't mind each other, a few at a time."""
        with ThreadPoolExecutor(3) as hands:
            return list(hands.map(lambda arguments: self.run(*arguments), commands))

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """The command, left running; asked to end afterwards, and ended if it doesn't."""
        process = subprocess.Popen(
            [*self.before, *PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield process
                process.terminate()
                process.communicate(timeout=_LONGEST_S)
            finally:
                process.kill()

    def order(self, prompt: str, *, key: str = "") -> str:
        """A new job's id."""
        command = ["jobs", "create", "--recipe", "still-to-clip", "--input", f"prompt={prompt}"]
        return str(self.json(*command, *(("--key", key) if key else ()))["job"])

    def json(self, *arguments: str) -> Json:
        """The one object that the command prints with `--json`."""
        ran = self.run(*arguments, "--json")
        assert ran.code == 0, ran
        return ran.object

    def strike(self, fault: str, prompt: str, route: str = "any", times: int = 1) -> None:
        """Let the sandbox fail in this way for this prompt."""
        script = {"fault": fault, "route": route, "times": times, "prompt_contains": prompt}
        ask(f"{self.origin}/_faults", script)

    def bought(self, prompt: str) -> list[Json]:
        """What the bill says about a prompt."""
        return [task for task in ask(f"{self.origin}/_bill")["tasks"] if task["prompt"] == prompt]


def ask(address: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
    """What the sandbox answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})  # noqa: S310 - our own
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def until(process: "subprocess.Popen[str]", word: str) -> str:
    """The first line with that word on the process's standard error; the process must not end before it."""
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"it ended without a word of {word}")
