"""docs/reference/benchmarks.md and its picture, from the results that `./dev bench` left in benchmarks/results."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Result
from benchmarks.picture import picture
from benchmarks.report import FULL, RESULTS, read
from tools.page import PICTURES, publish

INTRODUCTION = """\
# Benchmarks

<!-- written by tools/docs/benchmarks.py -->

`./dev bench` measures; `./dev bench 9 22` measures these rows again and leaves the others' results as they are,
on the same machine; `--quick` takes a look instead (smaller, three rounds, its results go to `bench-out/quick.jsonl`).
The first run installs the peers, at the versions and hashes of `benchmarks/peers.lock`, into an environment of their
own.

## How to read it

Machines differ and are noisy, so every figure is a **ratio**: ours to a baseline, on the same machine and disk, in
rounds that measure the baseline and then ours right after it. The ratio is the median of the rounds; the spread is the
smallest and the largest of them. Where the spread is wide the machine was doing something else, and the ratio says
little; load and the time of a fixed loop stand below for that reason. An absolute number is only ever a remark.

- **B1** is PostgreSQL's own `pgbench`: prepared UPDATEs of one row by its key, 4 clients, each its own transaction,
  fsync on. **B2** is Python's `sqlite3`: the same update, autocommit, WAL, synchronous=FULL.
- **By hand** is `benchmarks/harness/peers/byhand.py`: a careful script with a state for each chain and a commit for
  each change, and no journal, ledger, leases, retries or decoding. **DBOS** runs the same chains as durable workflows.
  Both download, hash and sync every file as onetake does; onetake decodes it too.
- The provider is `benchmarks/harness/fake_provider.py`, on loopback, with a truthful bill.
- Row 7 orders for one account that pays with credits, at 7 credits each: key looked up, priced, held and entered in the
  ledger, written with its journal; all callers take from the same balance.
- Rows 1 and 7a have eight callers, each with a connection and commits of its own; 2, 7b and 9b share one open database.
- Row 21 runs the same engine over a database that leaves out the journal and the closing of holds, and takes the fences
  out of each guarded UPDATE (`benchmarks/unguarded.py`).

A target says what we want to reach, not what we promise. Tests never assert a time.
"""

HARNESS = """
## Under faults

`.venv/bin/python -m benchmarks.harness faults onetake` runs 300 chains of an image and a clip against the provider
above, which loses answers in every way that it can, kills the worker five times, and prints one JSON line: what was
billed, held against what onetake says. `--chains`, `--kills`, `--seed`, `--workers` and `--database postgres` vary it.

As at reAPI, a lost answer can't be asked for, and its chain ends `uncertain`: a person has to look. Two options make
the provider help, and tell onetake so with a contract that describes this provider, not reAPI:

| | the provider | contract |
|---|---|---|
| `--honour-idempotency` | bills one `Idempotency-Key` once | `benchmarks/reapi-honours-keys.toml` |
| `--lookup` | shows the jobs of a key | `benchmarks/reapi-shows-tasks.toml` |

With either, `uncertain` has to be 0 as well, and `done` and `failed_right` add up to the chains.
"""

IN_FLIGHT = """
## Many waiting steps on one worker

`python -m benchmarks in-flight`. A poll is overdue by as much as it comes later than interval and spread allow; the
answering side is a few small processes, whose own load is the farm's share.
"""

MISSED = """
## Where the time goes

The rows that miss their targets are those of whole transitions; polls, memory, lateness and the guards themselves meet
theirs. A sampling profile of the worker (py-spy, 200 a second, 40 chains in flight) says why:

- **PostgreSQL** (rows 1, 2, 3, 7, 10, 11, 12): about 120 statements a chain, most of them a round trip each. 45 % of
  the samples are in the lane that writes, sending a statement or waiting for its answer, and the rest of the worker
  waits for that lane. Commits and log syncs are few (6 and 4.8 a chain), statements and log many (27 kB a chain). The
  baseline of rows 1, 2 and 7 is a C program whose transaction is one prepared statement.
- **Row 7**: an order of one still for credits is 23 statements in 9 round trips, BEGIN and COMMIT among them: twelve
  rows in eleven tables, two lines of its journal, the step frozen and opened, the balance moved. A statement costs
  about 60 microseconds, two thirds of them in Python; no two orders of one account can commit from the same balance at
  once.
- **SQLite** (9, 10, 11, 12): half of the busy samples are in the thread that writes: a quarter commits (the disk), a
  sixth executes statements, the rest is Python around them. Syncing files takes a tenth.
- **Row 5** takes over in pages, ordered, each row with a new token; the plain UPDATE orders nothing.
- **Row 15** runs the real engine over the real SQL for each schedule.

What would change it: fewer statements. A change and what is read after it could answer together (RETURNING), the lines
of a journal could be written once for a transaction, and an order with one statement for each table.
"""

KILLS = """
## Killed workers

`python -m benchmarks kill-cycles`: real workers, SIGKILL at a random time, again and again, until a batch is settled.
Uncertain ones were being sent when the kill came: held, named, never repeated.

| | kills | chains | duplicates | lost | done | uncertain | silent |
|---|---|---|---|---|---|---|---|
"""


def machine_lines(machine: dict[str, Any]) -> Iterator[str]:
    """What was measured on."""
    yield "\n## Measured on\n\n| | |\n|---|---|\n"
    for name, fact in machine.items():
        yield f"| {name.replace('_', ' ')} | {fact} |\n"


def table(results: list[Result]) -> Iterator[str]:
    """A row for each result."""
    yield "\n## Results\n\n![Ratios against their targets](../pictures/benchmark.svg)\n\n"
    yield "| row | database | what | against | target | ratio | spread | |\n|---|---|---|---|---|---|---|---|\n"
    for found in results:
        spread = f"{found.low:.3g} to {found.high:.3g}" if found.low != found.high else ""
        word = "" if found.target is None else "met" if found.is_met else "missed"
        what = f"{found.what} ({found.remark})" if found.remark else found.what
        cells = (found.row, found.database, what, found.baseline, found.target, f"{found.ratio:.3g}", spread, word)
        yield "| " + " | ".join(str(cell or "") for cell in cells) + " |\n"


def waiting_lines(path: Path) -> Iterator[str]:
    """The long run with many waiting steps."""
    if not path.exists():
        return
    kept = json.loads(path.read_text())
    yield IN_FLIGHT
    yield "\n| | " + " | ".join(kept) + " |\n|---" + "|---" * len(kept) + "|\n"
    for name in next(iter(kept.values())):
        if name != "database":
            cells = " | ".join(told(found[name]) for found in kept.values())
            yield f"| {name.replace('_', ' ')} | {cells} |\n"


def told(value: object) -> str:
    """A figure, or several by name."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def kill_lines(path: Path) -> Iterator[str]:
    """The sums of the killed workers."""
    if not path.exists():
        return
    yield KILLS
    for name, sums in json.loads(path.read_text()).items():
        columns = ("kills", "chains", "duplicates", "lost", "done", "uncertain", "silent_chains")
        yield f"| {name} | " + " | ".join(f"{sums[column]:,}" for column in columns) + " |\n"


measured_on, found_results = read(FULL) if FULL.exists() else ({}, [])
found_results.sort(key=lambda found: (int(found.row.rstrip("abcd")), found.database != "SQLite", found.row))
page = [INTRODUCTION]
if found_results:
    page += [*machine_lines(measured_on), *table(found_results)]
    publish("benchmark.svg", picture(found_results), folder=PICTURES)
page += [MISSED, HARNESS, *waiting_lines(RESULTS / "in-flight.json"), *kill_lines(RESULTS / "kill-cycles.json")]
publish("benchmarks.md", "".join(page))
