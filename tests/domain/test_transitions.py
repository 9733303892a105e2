"""The tables of transitions: every pair filed once, and the laws that no cell may break."""

import enum
import itertools
from typing import Any

import pytest

from onetake.domain import states
from onetake.domain.events import ArtifactEvent, AttemptEvent, OutputEvent, ProcessEvent, StepEvent
from onetake.domain.states import AttemptState, JobState, ProcessState, StepState
from onetake.domain.transitions import (
    ATTEMPT,
    HOLD,
    JOB,
    MACHINES,
    PROCESS,
    STEP,
    ImpossibleError,
    Machine,
    Move,
    Repeat,
    read_grid,
)

AnyMachine = Machine[Any, Any]
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=[machine.name for machine in MACHINES])


def words(kind: type[enum.StrEnum]) -> list[enum.StrEnum]:
    return list(kind)


def moves_into(machine: AnyMachine, state: enum.StrEnum) -> set[tuple[str, str]]:
    return {(str(start), str(event)) for start, event, to in machine.moves() if to is state}


def test_every_kind_of_state_that_moves_has_a_machine() -> None:
    standing = {"AttemptState", "StepState", "ProcessState", "JobState", "OutputState", "ArtifactState", "HoldState"}
    assert {machine.states.__name__ for machine in MACHINES} == {*standing, "CaseState"}


@every_machine
def test_every_pair_is_filed_exactly_once(machine: AnyMachine) -> None:
    pairs = list(itertools.product(words(machine.states), words(machine.events)))
    filed = [*machine.table, *machine.impossible]
    assert len(filed) == len(set(filed)) == len(pairs)
    assert set(filed) == set(pairs)


@every_machine
def test_each_pair_does_what_its_cell_says(machine: AnyMachine) -> None:
    for pair in itertools.product(words(machine.states), words(machine.events)):
        if pair in machine.impossible:
            with pytest.raises(ImpossibleError, match=f"{machine.name}: {pair[1]} can't happen in {pair[0]}"):
                machine.after(*pair)
        elif (to := machine.table[pair]) is not None:
            assert machine.after(*pair) == Move(to)
            assert machine.move(*pair) is to
        else:
            assert machine.after(*pair) == Repeat()
            with pytest.raises(ImpossibleError, match=f"{machine.name}: {pair[1]} leads nowhere from {pair[0]}"):
                machine.move(*pair)


@every_machine
def test_a_move_goes_somewhere_else_and_nothing_leaves_a_final_state(machine: AnyMachine) -> None:
    assert [start for start, _, to in machine.moves() if start is to] == []
    for state in filter(machine.is_final, words(machine.states)):
        assert {machine.after(state, event) for event in words(machine.events)} == {Repeat()}


@every_machine
def test_every_state_but_the_first_is_reached(machine: AnyMachine) -> None:
    first, *others = words(machine.states)
    assert {to for _, _, to in machine.moves()} >= set(others)
    assert not machine.is_final(first)


@pytest.mark.parametrize(
    ("machine", "final"),
    [
        (ATTEMPT, states.FINAL_ATTEMPT),
        (STEP, states.FINAL_STEP),
        (JOB, states.FINAL_JOB),
        (PROCESS, {ProcessState.COMPLETE, ProcessState.CANCELLED}),
        (HOLD, {states.HoldState.CAPTURED, states.HoldState.RELEASED}),
    ],
    ids=["attempt", "step", "job", "process", "hold"],
)
def test_the_final_states_are_those_that_nothing_leaves(machine: AnyMachine, final: set[enum.StrEnum]) -> None:
    assert {state for state in words(machine.states) if machine.is_final(state)} == set(final)


def test_an_attempt_is_sent_once() -> None:  # L2
    """Nothing leads back to the state in which a POST is permitted."""
    assert moves_into(ATTEMPT, AttemptState.SUBMITTING) == set()


def test_what_may_be_running_ends_only_by_evidence_about_it() -> None:
    """A further buy needs `not_sent`, `rejected` or `failed`; these are all the ways there."""
    assert moves_into(ATTEMPT, AttemptState.NOT_SENT) == {
        ("submitting", "never_left"),
        ("submit_unknown", "never_left"),
    }
    assert moves_into(ATTEMPT, AttemptState.REJECTED) == {("submitting", "refused"), ("submit_unknown", "refused")}
    assert moves_into(ATTEMPT, AttemptState.FAILED) == {
        ("processing", "died"),
        ("submit_unknown", "written_off"),
        ("processing", "written_off"),
        ("collecting", "written_off"),
    }


def test_what_the_provider_accepted_is_never_doubted_refused_or_unsent_again() -> None:  # L4, L8
    for state in (AttemptState.PROCESSING, AttemptState.COLLECTING):
        for event in (AttemptEvent.DOUBTED, AttemptEvent.REFUSED, AttemptEvent.NEVER_LEFT, AttemptEvent.ACCEPTED):
            assert ATTEMPT.after(state, event) == Repeat()


def test_complete_needs_our_own_check() -> None:  # L7
    assert moves_into(ATTEMPT, AttemptState.DELIVERED) == {("collecting", "delivered")}
    assert moves_into(STEP, StepState.COMPLETE) == {("active", "delivered")}
    assert moves_into(PROCESS, ProcessState.COMPLETE) == {("running", "finished")}


def test_only_named_events_make_a_step_ready() -> None:  # L5
    assert moves_into(STEP, StepState.READY) == {("waiting", "opened"), ("active", "came_back")}
    assert moves_into(STEP, StepState.ACTIVE) == {("ready", "claimed"), ("waiting", "adopted"), ("ready", "adopted")}
    assert moves_into(PROCESS, ProcessState.READY) == {("waiting", "opened"), ("running", "lost"), ("blocked", "fixed")}


def test_a_paid_step_is_claimed_only_when_ready_and_a_local_one_never_fails() -> None:
    assert {state for state in StepState if STEP.table.get((state, StepEvent.CLAIMED))} == {StepState.READY}
    assert {state for state in ProcessState if PROCESS.table.get((state, ProcessEvent.CLAIMED))} == {ProcessState.READY}
    assert "failed" not in set(ProcessState)


def test_an_incomplete_job_can_be_repaired_and_no_other_end_can() -> None:
    assert moves_into(JOB, JobState.OPEN) == {("incomplete", "repaired")}


GRIDS = {
    "a state twice": ("filled\nmissing filled\nmissing =", "output: missing, filled is filed twice"),
    "an event twice": ("filled filled\nmissing filled =\nfilled = =", "output: missing, filled is filed twice"),
    "a state missing": ("filled\nmissing filled", "output: filled, filled is not filed"),
}


@pytest.mark.parametrize(("grid", "reason"), GRIDS.values(), ids=GRIDS)
def test_a_grid_that_does_not_file_each_pair_once_is_refused(grid: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_grid("output", states.OutputState, OutputEvent, grid)


@pytest.mark.parametrize(
    "grid", ["stored verified\nfetching stored", "stored\nfetching stored !", "lost\nfetching =", "stored\nlost ="]
)
def test_a_grid_with_a_ragged_row_or_an_unknown_word_is_refused(grid: str) -> None:
    with pytest.raises(ValueError, match=r"argument|valid"):
        read_grid("artifact", states.ArtifactState, ArtifactEvent, grid)
