"""The table of one job's path in ARCHITECTURE.md, with the lines that each file really has."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- one job: written by tools/docs/one_job.py -->\n", "<!-- one job: end -->\n"

PATH = {
    "engine/intake.py": "the request is checked, keyed, held and written, in one transaction",
    "engine/worker.py": "a worker looks for ready steps, as many as it has free POST slots",
    "engine/submitter.py": "the intent is committed with the exact bytes; they are sent, once",
    "providers/transport.py": "one POST; the receipt says how far it got",
    "domain/answers.py": "what the answer proves: accepted, refused, not sent, or unknown",
    "engine/outcomes.py": "the outcome is recorded: id bound, doubt opened, or back to ready",
    "engine/watcher.py": "the saved id is visited when it is due",
    "engine/poller.py": "the provider is asked; its last word saves the outputs' addresses",
    "engine/collector.py": "files are fetched, decoded, measured and stored by digest",
    "engine/settling.py": "outputs filled, holds closed, the next gate opened, the job closed, in one commit",
}


def lines_of(file: str) -> int:
    """How many lines the file has."""
    text = (ROOT / "src" / "onetake" / file).read_text()
    ast.parse(text)
    return text.count("\n")


def table() -> str:
    """The table as Markdown."""
    counts = {file: lines_of(file) for file in PATH}
    rows = [f"| [`{file}`](src/onetake/{file}) | {counts[file]} | {does} |" for file, does in PATH.items()]
    total = f"| {len(PATH)} files | {sum(counts.values())} | |"
    return "\n".join(["| file | lines | what happens there |", "|---|---|---|", *rows, total]) + "\n"


before, rest = PAGE.read_text().split(BEGIN)
text = before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]
if "--check" not in sys.argv:
    PAGE.write_text(text)
elif PAGE.read_text() != text:
    sys.exit("ARCHITECTURE.md is out of date; ./dev docs writes it again")
