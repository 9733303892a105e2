"""docs/reference/states.md, from the enums and the tables that the program runs by; a word without a sentence fails."""

import enum
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from onetake.domain import states as s
from onetake.domain.transitions import MACHINES, Machine
from tools.page import publish
from tools.state_words import MONEY, WORDS

INTRODUCTION = """\
# States

<!-- written by tools/docs/states.py -->

A **step** is the order, an **attempt** is the buy: each has rows and states of its own, so an attempt that was
superseded but may still be running keeps its id, its polls and its money until the provider's last word. Only evidence
moves a state: an answer, a file, a person's decision. Time never does. A deadline that has passed raises an alarm and
changes nothing else.

A job shows two words, both made from the same rows: `status` for people, `state` for whoever wants to know exactly.

## Status

Ordering again **under the same key** is safe in every status: it gives back the same job and buys nothing. Under
another key it is another order, and is paid again.

| `status` | what it means | what happened to the money |
|---|---|---|
"""

STATE = """\

Of several steps that move at once the worst is shown: what needs a person, then what may be costing money, then what
goes on by itself.

## State

While a job is open, `state` is the name of a step and what that step shows: its own state, or its attempt's while it is
active. The steps `image` and `video` of the recipe `still-to-clip` go through

> `image_ready` · `image_submitting` · `image_processing` · `image_collecting` · `image_complete` ·
> `video_ready` · `video_submitting` · `video_processing` · `video_collecting` · `complete`

with `image_submit_unknown` or `video_submit_unknown` where an answer was lost, and `failed` where the provider said no.
`submit_unknown` is the attempt's own state; the job's `status` for people says `submission_unknown` for the same thing.
`onetake jobs list` filters by either word: `--state image_submit_unknown`, `--status submission_unknown`.
`image_complete` shows while the video can't be sent yet; `preparing` shows before anything is ready.

## The machines

Each table below is the one that the program runs by, and the database refuses a row that breaks it. Every event is
filed once against every state: it moves the state, it is late or repeated and changes nothing, or it can't happen.
"""

MACHINE = """\

### {title}

{what}

![The states of {a} {name}](../pictures/states-{file}.svg)

| state | what it means | leads to |
|---|---|---|
{rows}
| event | what happened |
|---|---|
{events}
<details>
<summary>Every state and every event</summary>

{grid}
A word is the next state; · late or repeated, changes nothing; ✕ can't happen.

</details>
"""

KINDS = {
    s.WaitReason: ("What a step waits for", "A step in `waiting` names what holds it back."),
    s.ArtifactUse: ("What a file is good for", "A file that was found and checked is put to one use."),
    s.CaseKind: (
        "Kinds of cases",
        (
            "A case asks a person. Money that is in doubt stays held, and nothing is bought until it is decided."
            " Polling goes on meanwhile, and what it learns may settle the case by itself."
        ),
    ),
    s.AlarmKind: (
        "Kinds of alarms",
        "An alarm says that a person should look. It changes no state and no money, and is cleared when all is well.",
    ),
    s.EntryKind: (
        "Kinds of ledger entries",
        "Each entry moves an amount of credits from one bucket of an account to another.",
    ),
    s.Bucket: ("Where credits are", "An account's credits are in one of these; together they are what was granted."),
    s.Role: ("Roles", "What a person is in an account, and so what the person may do there."),
    s.Period: ("What a budget line counts", "A line bounds what is spent in one of these."),
    s.StopKind: (
        "What can be stopped",
        "Nothing is sent for it until a person lifts the stop; polls go on.",
    ),
    s.ErrorCategory: ("Categories of errors", "The last error of a job has one category: whose fault it is."),
}


def page() -> Iterator[str]:
    """The page, part by part."""
    yield INTRODUCTION
    yield from (f"| `{word}` | {meaning} | {MONEY[word]} |\n" for word, meaning in words_of(s.JobStatus).items())
    yield STATE
    yield from (section(machine) for machine in MACHINES)
    yield "\n## Other words\n"
    for kind, (title, what) in KINDS.items():
        yield f"\n### {title}\n\n{what}\n\n| word | what it means |\n|---|---|\n"
        yield from (f"| `{word}` | {meaning} |\n" for word, meaning in words_of(kind).items())


def words_of(kind: type[enum.StrEnum]) -> Mapping[str, str]:
    """The sentence for each word of an enum, in the enum's order; ends the run where one is missing or left over."""
    told = WORDS.get(kind, {})
    if set(told) != set(kind):
        sys.exit(f"tools/state_words.py tells {kind.__name__} wrongly: {', '.join(sorted(set(told) ^ set(kind)))}")
    return {str(word): told[word] for word in kind}


def section(machine: Machine[Any, Any]) -> str:
    """One machine: its picture, its states, its events and the whole table."""
    name = machine.name
    return MACHINE.format(
        title=name.capitalize(),
        what=(machine.states.__doc__ or "").strip(),
        a="an" if name[0] in "aeiou" else "a",
        name=name,
        file=name.replace(" ", "-"),
        rows="".join(
            f"| `{state}` | {meaning} | {leads(machine, state)} |\n"
            for state, meaning in words_of(machine.states).items()
        ),
        events="".join(f"| `{event}` | {meaning} |\n" for event, meaning in words_of(machine.events).items()),
        grid="".join(grid(machine)),
    )


def leads(machine: Machine[Any, Any], state: str) -> str:
    """Where a state's events lead, a target with all its events a line; or that it is final."""
    targets: dict[str, list[str]] = {}
    for start, event, to in machine.moves():
        if start == state:
            targets.setdefault(to, []).append(f"`{event}`")
    return "<br>".join(f"**{to}** on {' or '.join(events)}" for to, events in targets.items()) or "*final*"


def grid(machine: Machine[Any, Any]) -> Iterator[str]:
    """The table itself: a row for each state, a column for each event."""
    events = [f"`{event}`" for event in machine.events]
    yield f"| | {' | '.join(events)} |\n|---|{':-:|' * len(events)}\n"
    for state in machine.states:
        cells = [
            "✕" if (state, event) in machine.impossible else machine.table[state, event] or "·"
            for event in machine.events
        ]
        yield f"| `{state}` | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    publish("states.md", "".join(page()))
