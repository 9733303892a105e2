"""The planted faults, as diffs. Each is what somebody could write on a bad day; each breaks one law."""

from tests.simulation.planted import Plant

PLANTS = (
    Plant(
        "an unknown outcome is sent again",
        """
        engine/outcomes.py
                 open_case(turn, CaseKind.UNKNOWN, attempt, step.name, data)
        +    steps.advance(turn.tx, step, StepEvent.CAME_BACK)
             return True
        """,
    ),
    Plant(
        "what a dead worker was sending goes back to ready",
        """
        engine/recovery.py
        -from onetake.store import attempts, leases
        +from onetake.domain.events import StepEvent
        +from onetake.store import attempts, leases, steps
        ...
                 attempt = attempts.get(turn.tx, attempt_id)
        +        steps.advance(turn.tx, steps.get(turn.tx, attempt.step_id), StepEvent.CAME_BACK)
        """,
    ),
    Plant(
        "no row says that a request may have left",
        """
        store/attempts.py
        -        "INSERT INTO sends (attempt_id, n, kind, intended_at) VALUES (:id, 1, 'first', :now)",
        +        "INSERT INTO sends (attempt_id, n, kind, intended_at) SELECT :id, 1, 'first', :now WHERE false",
        """,
    ),
    Plant(
        "the provider's id is saved late",
        """
        engine/submitter.py
             outcome = outcome_of(adapter.contract, result, now_s=clock.now_us() / 1e6)
        +    await clock.sleep(30)
        """,
    ),
    Plant(
        "the lease isn't checked before the first byte",
        """
        engine/submitter.py
        -        return clock.monotonic_s() <= claimed.send_by_s
        +        return True
        """,
        theme="stalls",
    ),
    Plant(
        "a stale worker may record what it fetched",
        """
        engine/collector.py
        -    return deliver(turn, attempt, checked) if attempt.token == held.token else None
        +    return deliver(turn, attempt, checked)
        """,
        theme="stalls",
    ),
    Plant(
        "a stale worker may record the provider's word",
        """
        engine/poller.py
        -    if attempt.token != held.token:
        -        return None
             changed = artifacts.found(
        """,
        theme="stalls",
    ),
    Plant(
        "a deadline releases the money",
        """
        engine/poller.py
        -from onetake.engine.settling import Fault, close_cases, fail_step, open_case
        +from onetake.domain.events import HoldEvent
        +from onetake.engine.settling import Fault, close_cases, close_missing, fail_step, open_case
        ...
                 step = steps.get(turn.tx, attempt.step_id)
        +        if kind is AlarmKind.DEADLINE:
        +            close_missing(turn, step, HoldEvent.RELEASED, detail)
                 turn.tell("alarm.raised", attempt.job_id, step.name, {"kind": kind, "detail": detail})
        """,
        theme="wire",
    ),
    Plant(
        "a deadline fails the attempt",
        """
        engine/poller.py
                 return False
        +    late = Died(code="late", message="", is_moderation=False, charged="no")
        +    await parts.act(watch.held.worker_id, record_death, watch.held, late)
             await _alarm(parts, watch, AlarmKind.DEADLINE, "not finished by the recipe's deadline; it is polled on")
        """,
    ),
    Plant(
        "polls without an answer fail the attempt",
        """
        engine/poller.py
                 case NoAnswer():
        +            if watch.failures:
        +                lost = Died(code="lost", message="", is_moderation=False, charged="no")
        +                return await _died(parts, watch, lost)
                     await _check_deadline(parts, watch)
        """,
        theme="wire",
    ),
    Plant(
        "a task that is missing once is taken for failed",
        """
        engine/poller.py
                 case Missing():
        +            gone = Died(code="gone", message="", is_moderation=False, charged="no")
        +            return await _died(parts, watch, gone)
                     watch.missing += 1
        """,
        theme="wire",
    ),
    Plant(
        "the gate opens as soon as something is filled",
        """
        engine/settling.py
        -        if any(standing[name].state is not StepState.COMPLETE for name in wanted.needs):
        +        if wanted.needs and not any(row["digest"] for row in artifacts.list_files(turn.tx, job_id)):
        engine/collector.py
        -from onetake.engine.settling import Checked, deliver, fill, open_case
        +from onetake.engine.settling import Checked, deliver, fill, open_case, open_gates
        ...
             filled = fill(turn, attempt, artifacts.list_expected(turn.tx, step_id=attempt.step_id), checked)
        +    open_gates(turn, turn.recipe_of(attempt.job_id), attempt.job_id)
        """,
        theme="files",
    ),
    Plant(
        "a cancel gives back the money for what is running",
        """
        engine/settling.py
             for step in steps.list_of_job(turn.tx, job_id):
        +        if step.state is StepState.ACTIVE:
        +            _cancel(turn, step)
        ...
        -            continue  # an earlier buy of this step is still in doubt or running
        +            pass
        """,
        theme="people",
    ),
    Plant(
        "an id is attached without a look at it",
        """
        engine/people.py
        -    await look_at(parts, adapter, attempt, step, ref, is_sure=is_sure)
        """,
    ),
    Plant(
        "a new lease forgets the id",
        """
        store/leases.py
        -        " UPDATE attempts SET worker_id = :worker, token = token + 1, lease_until = NULL"
        +        " UPDATE attempts SET worker_id = :worker, token = token + 1, lease_until = NULL, ref_id = NULL"
        """,
    ),
    Plant(
        "a failure is bought again without a rule",
        """
        engine/poller.py
        -    if rule is not None and is_wanted and _permits(rule, step):
        +    if is_wanted and step.attempts < 3:
        ...
        -        data = {"reason": "provider_failed", "n": step.replacements + 1, "of": rule.count_max}
        +        data = {"reason": "provider_failed", "n": step.replacements + 1, "of": 2}
        """,
        theme="wire",
    ),
    Plant(
        "what is missing is captured",
        """
        engine/settling.py
        -        close_missing(turn, step, event, f"{fault.category}: {fault.code}")
        +        close_missing(turn, step, HoldEvent.CAPTURED, f"{fault.category}: {fault.code}")
        """,
    ),
    Plant(
        "a capture isn't taken out of what is held",
        """
        store/ledger.py
        -            _move(tx, account_id, way, amount)
        +            if kind is not EntryKind.CAPTURE:
        +                _move(tx, account_id, way, amount)
        """,
    ),
    Plant(
        "a release is not entered",
        """
        store/ledger.py
        -            _enter(tx, clock, entry, way, amount)
        +            if kind is not EntryKind.RELEASE:
        +                _enter(tx, clock, entry, way, amount)
        """,
    ),
    Plant(
        "a download that fails is bought again",
        """
        engine/collector.py
         from onetake.domain.errors import MediaError, StorageError
        +from onetake.domain.events import AttemptEvent, StepEvent
        ...
             await _count_refusals(parts, watch, troubles)
        +    await parts.act(watch.held.worker_id, _buy_again, watch.held)
        ...
        +def _buy_again(turn, held):
        +    attempt = attempts.get(turn.tx, held.attempt_id)
        +    attempts.advance(turn.tx, attempt, AttemptEvent.WRITTEN_OFF)
        +    steps.advance(turn.tx, steps.get(turn.tx, attempt.step_id), StepEvent.CAME_BACK)
        +
        +
         def record_delivered(
        """,
    ),
    Plant(
        "a reset is taken for never sent",
        """
        domain/answers.py
        -    if not result.receipt.may_have_left:
        +    if not result.receipt.may_have_left or result.receipt.fault is SendFault.RESET:
        """,
        theme="wire",
    ),
    Plant(
        "a server error is taken for a refusal",
        """
        domain/answers.py
        -    if answer.status not in rules.statuses | rules.later or not answer.is_whole:
        +    if answer.status not in rules.statuses | rules.later | {500, 503} or not answer.is_whole:
        """,
    ),
    Plant(
        "files are taken as they come",
        """
        engine/collector.py
        -    if not reasons and isinstance(measures, Measures):
        +    if isinstance(measures, Measures):
        """,
    ),
    Plant(
        "a doubt is kept quiet",
        """
        engine/outcomes.py
             if not is_askable:
        -        open_case(turn, CaseKind.UNKNOWN, attempt, step.name, data)
        +        pass
             return True
        """,
    ),
    # What the simulator found, put back.
    Plant(
        "a worker writes under an id that has no row yet",
        """
        engine/worker.py
        -        await self._parts.database.write(workers.insert, worker_id, self._name, lease_us=lease_us)
        -        self._id = worker_id  # not before its row is there: other loops write with it meanwhile
        +        self._id = worker_id
        +        await self._parts.database.write(workers.insert, worker_id, self._name, lease_us=lease_us)
        """,
        theme="stalls",
    ),
    Plant(
        "an older watch ends the newer one",
        """
        engine/watcher.py
        -        if self._latest.get(watch.held.attempt_id) is not watch:
        -            return  # leased anew meanwhile: the newer watch goes on
                 if isinstance(visit, Over):
        -            del self._latest[watch.held.attempt_id]
        +            self._latest.pop(watch.held.attempt_id, None)
        """,
        theme="stalls",
    ),
    Plant(
        "what an unanswered commit leased is never watched",
        """
        engine/worker.py
        -                self._is_unsure = True
                         _log.error("sweep.failed", error=error.sentence)
        """,
        theme="database",
    ),
    Plant(
        "claims in the air are withdrawn with the unanswered ones",
        """
        engine/submitter.py
        -        if attempt_id not in taken:
        +        if attempt_id:
        """,
        theme="database",
    ),
)
