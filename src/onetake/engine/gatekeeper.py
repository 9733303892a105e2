"""Holds back steps that can't be sent as things are: each with an alarm that says why, and nothing is sent."""

from onetake.domain.events import StepEvent
from onetake.domain.states import AlarmKind, StepState, WaitReason
from onetake.engine.turn import Turn
from onetake.store import alarms, jobs, steps
from onetake.store.steps import Step

BROKEN_PAUSE_S = 300.0
"""Before a step that broke us is tried again: it will break us again until the program or its rows are mended."""


def park_unoffered(turn: Turn, step: Step) -> None:
    """Park the ready step, with an alarm that says how to go on."""
    jobs.get(turn.tx, step.job_id)
    if steps.advance(turn.tx, step, StepEvent.PARKED, {"waiting_for": WaitReason.REVIEW}) is None:
        return
    detail = f"{step.provider} doesn't offer our key the model {step.model}; `onetake jobs resume` asks again"
    alarms.raise_(turn.tx, turn.clock, AlarmKind.MODEL_REFUSED, step.id, job_id=step.job_id, detail=detail)
    turn.tell("step.parked", step, data={"waiting_for": WaitReason.REVIEW, "why": detail})


def put_off_broken(turn: Turn, step_id: str, error: str) -> None:
    """Put the ready step off, with an alarm that names the type of the error alone: its words may quote a secret."""
    step = steps.get(turn.tx, step_id)
    if step.state is not StepState.READY:
        return
    steps.postpone(turn.tx, step, turn.tx.now_us + round(BROKEN_PAUSE_S * 1e6))
    detail = f"our own program fails over it ({error}, see the log); nothing was sent, it is tried on"
    if alarms.raise_(turn.tx, turn.clock, AlarmKind.BROKEN, step.id, job_id=step.job_id, detail=detail):
        turn.tell("alarm.raised", step, data={"kind": AlarmKind.BROKEN, "detail": detail})
