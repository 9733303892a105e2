"""The one table of transitions: every (state, event) pair of every machine, filed once.

A cell holds the next state; `=` for a repeat (harmless, recorded, changes nothing); or `!` for impossible
(a bug in the caller). The law of the table: a row whose cells are all `=` is final, no cell leads out of it,
and no cell but those of a person's decision leads from "may be running" to "may be bought again".

    machine.after(state, event) -> Move(to) | Repeat() | raises ImpossibleError
    machine.move(state, event) -> to | raises ImpossibleError, where a repeat can't be

The enums give the words, the store makes its CHECK constraints from them, the state pictures in the docs are
drawn from the tables below, and a test counts that each pair is filed.
"""

import enum
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from onetake.domain import events as e
from onetake.domain import states as s

S = TypeVar("S", bound=enum.StrEnum)
E = TypeVar("E", bound=enum.StrEnum)


class ImpossibleError(AssertionError):
    """An event was filed against a state in which it can't happen: a bug in onetake, never bad luck."""


@dataclass(frozen=True, slots=True)
class Move(Generic[S]):
    """The state changes."""

    to: S


@dataclass(frozen=True, slots=True)
class Repeat:
    """The state stays: the event is late or repeated, is recorded and changes nothing."""


@dataclass(frozen=True, slots=True)
class Machine(Generic[S, E]):
    """One machine: its name, its words and its table."""

    name: str
    states: type[S]
    events: type[E]
    table: Mapping[tuple[S, E], S | None]
    impossible: frozenset[tuple[S, E]]

    def after(self, state: S, event: E) -> Move[S] | Repeat:
        """What the event does to the state.

        Raises:
            ImpossibleError: the pair is filed as impossible.
        """
        if (state, event) in self.impossible:
            raise ImpossibleError(f"{self.name}: {event} can't happen in {state}")
        to = self.table[state, event]
        return Repeat() if to is None else Move(to)

    def move(self, state: S, event: E) -> S:
        """Where the event leads from a state that it must lead out of.

        Raises:
            ImpossibleError: it doesn't.
        """
        after = self.after(state, event)
        if isinstance(after, Repeat):
            raise ImpossibleError(f"{self.name}: {event} leads nowhere from {state}")
        return after.to

    def moves(self) -> list[tuple[S, E, S]]:
        """All moves, in the table's order; the docs draw these."""
        return [(state, event, to) for (state, event), to in self.table.items() if to is not None]

    def is_final(self, state: S) -> bool:
        """Whether nothing leads out of the state."""
        return all(start != state for start, _, _ in self.moves())


def read_grid(name: str, states: type[S], events: type[E], grid: str) -> Machine[S, E]:
    """The machine that a grid draws: first line the events, then a line per state with one cell per event.

    Raises:
        ValueError: a pair is filed twice or not at all, a row is ragged, or a word is unknown.
    """
    header, *rows = (line.split() for line in grid.strip().splitlines())
    columns = [events(word) for word in header]
    filed: dict[tuple[S, E], str] = {}
    for state, *cells in rows:
        for event, cell in zip(columns, cells, strict=True):
            if (states(state), event) in filed:
                raise ValueError(f"{name}: {state}, {event} is filed twice")
            filed[states(state), event] = cell
    for state, event in itertools.product(states, events):
        if (state, event) not in filed:
            raise ValueError(f"{name}: {state}, {event} is not filed")
    impossible = frozenset(pair for pair, cell in filed.items() if cell == "!")
    table = {pair: None if cell == "=" else states(cell) for pair, cell in filed.items() if pair not in impossible}
    return Machine(name, states, events, table, impossible)


ATTEMPT = read_grid(
    "attempt",
    s.AttemptState,
    e.AttemptEvent,
    """
                accepted    inline      refused   never_left  doubted         finished    died    delivered  written_off
submitting      processing  collecting  rejected  not_sent    submit_unknown  !           !       !          !
submit_unknown  processing  collecting  rejected  not_sent    =               !           !       !          failed
processing      =           !           =         =           =               collecting  failed  !          failed
collecting      =           =           =         =           =               =           =       delivered  failed
delivered       =           =           =         =           =               =           =       =          =
rejected        =           =           =         =           =               =           =       =          =
not_sent        =           =           =         =           =               =           =       =          =
failed          =           =           =         =           =               =           =       =          =
""",
)

STEP = read_grid(
    "step",
    s.StepState,
    e.StepEvent,
    """
           opened  parked   claimed  came_back  adopted  delivered  failed  cancelled
waiting    ready   =        !        !          active   !          !       cancelled
ready      =       waiting  active   !          active   !          !       cancelled
active     =       waiting  !        ready      =        complete   failed  cancelled
complete   =       =        =        =          =        =          =       =
failed     =       =        =        =          =        =          =       =
cancelled  =       =        =        =          =        =          =       =
""",
)

PROCESS = read_grid(
    "process",
    s.ProcessState,
    e.ProcessEvent,
    """
           opened  claimed  lost   finished  broke    fixed  cancelled
waiting    ready   !        !      !         !        !      cancelled
ready      =       running  =      !         !        =      cancelled
running    =       !        ready  complete  blocked  =      cancelled
complete   =       =        =      =         =        =      =
blocked    =       !        =      !         =        ready  cancelled
cancelled  =       =        =      =         =        =      =
""",
)

JOB = read_grid(
    "job",
    s.JobState,
    e.JobEvent,
    """
            completed  fell_short  failed  cancelled  repaired
open        complete   incomplete  failed  cancelled  =
incomplete  complete   =           =       =          open
complete    =          =           =       =          =
failed      =          =           =       =          =
cancelled   =          =           =       =          =
""",
)

OUTPUT = read_grid(
    "expected output",
    s.OutputState,
    e.OutputEvent,
    """
         filled
missing  filled
filled   =
""",
)

ARTIFACT = read_grid(
    "artifact",
    s.ArtifactState,
    e.ArtifactEvent,
    """
          stored  verified  rejected
fetching  stored  !         !
stored    =       verified  rejected
verified  =       =         =
rejected  =       =         =
""",
)

HOLD = read_grid(
    "hold",
    s.HoldState,
    e.HoldEvent,
    """
          captured  released
held      captured  released
captured  =         =
released  =         =
""",
)

CASE = read_grid(
    "case",
    s.CaseState,
    e.CaseEvent,
    """
               attached  not_accepted  risk_accepted  written_off  settled
open           attached  not_accepted  risk_accepted  written_off  settled
attached       =         =             =              =            =
not_accepted   =         =             =              =            =
risk_accepted  =         =             =              =            =
written_off    =         =             =              =            =
settled        =         =             =              =            =
""",
)

MACHINES = (ATTEMPT, STEP, PROCESS, JOB, OUTPUT, ARTIFACT, HOLD, CASE)
