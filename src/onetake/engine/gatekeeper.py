"""Holds back steps whose model the provider account isn't offered: they wait for a person, nothing is sent."""

from onetake.domain.events import StepEvent
from onetake.domain.states import AlarmKind, WaitReason
from onetake.engine.turn import Turn
from onetake.store import alarms, jobs, steps
from onetake.store.steps import Step


def park_unoffered(turn: Turn, step: Step) -> None:
    """Park the ready step, with an alarm that says how to go on."""
    jobs.get(turn.tx, step.job_id)
    if steps.advance(turn.tx, step, StepEvent.PARKED, {"waiting_for": WaitReason.REVIEW}) is None:
        return
    detail = f"{step.provider} doesn't offer our key the model {step.model}; `onetake jobs resume` asks again"
    alarms.raise_(turn.tx, turn.clock, AlarmKind.MODEL_REFUSED, step.id, job_id=step.job_id, detail=detail)
    turn.tell("step.parked", step, data={"waiting_for": WaitReason.REVIEW, "why": detail})
