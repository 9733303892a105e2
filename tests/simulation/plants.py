"""The planted faults. Each is what somebody could write on a bad day; each breaks one law."""

from tests.simulation.planted import Change, Plant

_BACK = "steps.advance(turn.tx, steps.get(turn.tx, attempt.step_id), StepEvent.CAME_BACK)"

PLANTS = (
    Plant(
        "an unknown outcome is sent again",
        (
            Change(
                "engine.outcomes",
                "    open_case(turn, CaseKind.UNKNOWN, attempt, step.name, data)\n    return True\n",
                f"    open_case(turn, CaseKind.UNKNOWN, attempt, step.name, data)\n    {_BACK}\n    return True\n",
            ),
        ),
    ),
    Plant(
        "what a dead worker was sending goes back to ready",
        (
            Change(
                "engine.recovery",
                "        doubt(turn, attempt,",
                f"        {_BACK}\n        doubt(turn, attempt,",
            ),
            Change(
                "engine.recovery",
                "from onetake.store import attempts, leases\n",
                "from onetake.domain.events import StepEvent\nfrom onetake.store import attempts, leases, steps\n",
            ),
        ),
    ),
    Plant(
        "no row says that a request may have left",
        (Change("store.attempts", "VALUES (:id, 1, 'first', :now)\"", "SELECT :id, 1, 'first', :now WHERE 0\""),),
    ),
    Plant(
        "the provider's id is saved late",
        (
            Change(
                "engine.submitter",
                "    while True:\n        try:\n            await parts.act(worker_id, record_outcome",
                "    await clock.sleep(30)\n    while True:\n        try:\n            await parts.act(worker_id, record_outcome",
            ),
        ),
    ),
    Plant(
        "the lease isn't checked before the first byte",
        (Change("engine.submitter", "return clock.monotonic_s() <= claimed.send_by_s", "return True"),),
    ),
    Plant(
        "a stale worker may record what it fetched",
        (
            Change(
                "engine.collector",
                "return deliver(turn, attempt, checked) if attempt.token == held.token else None",
                "return deliver(turn, attempt, checked)",
            ),
        ),
    ),
    Plant(
        "a stale worker may record the provider's word",
        (
            Change(
                "engine.poller",
                "    if attempt.token != held.token:\n        return None\n    changed =",
                "    changed =",
            ),
        ),
    ),
    Plant(
        "a deadline releases the money",
        (
            Change(
                "engine.poller",
                "        step = steps.get(turn.tx, held.step_id)\n        turn.tell(\"alarm.raised\"",
                "        step = steps.get(turn.tx, held.step_id)\n"
                "        if kind is AlarmKind.DEADLINE:\n            _release(turn, step, detail)\n        turn.tell(\"alarm.raised\"",
            ),
            Change("engine.poller", "settling import Fault,", "settling import _release, Fault,"),
        ),
    ),
    Plant(
        "a deadline fails the attempt",
        (
            Change(
                "engine.poller",
                "    await _alarm(parts, watch, AlarmKind.DEADLINE,",
                "    late = Died(code=\"late\", message=\"\", is_moderation=False, charged=\"no\")\n"
                "    await parts.act(watch.held.worker_id, record_death, watch.held, late)\n"
                "    await _alarm(parts, watch, AlarmKind.DEADLINE,",
            ),
        ),
    ),
    Plant(
        "polls that fail fail the attempt",
        (
            Change(
                "engine.poller",
                "        case NoAnswer():\n",
                "        case NoAnswer() if watch.failures >= 1:\n"
                "            lost = Died(code=\"lost\", message=\"\", is_moderation=False, charged=\"no\")\n"
                "            return await _died(parts, watch, lost)\n        case NoAnswer():\n",
            ),
        ),
    ),
    Plant(
        "a task that is missing once is taken for failed",
        (
            Change(
                "engine.poller",
                "        case Missing():\n",
                "        case Missing():\n"
                "            gone = Died(code=\"gone\", message=\"\", is_moderation=False, charged=\"no\")\n"
                "            return await _died(parts, watch, gone)\n        case Missing():\n",
            ),
        ),
    ),
    Plant(
        "the gate opens as soon as something is filled",
        (
            Change(
                "engine.settling",
                "        if any(standing[name].state is not StepState.COMPLETE for name in wanted.needs):\n",
                "        if not any(row[\"digest\"] for row in artifacts.list_files(turn.tx, job_id)) and wanted.needs:\n",
            ),
            Change(
                "engine.collector",
                "    fill(turn, attempt, checked)\n",
                "    fill(turn, attempt, checked)\n    open_gates(turn, turn.recipe_of(held.job_id), held.job_id)\n",
            ),
            Change("engine.collector", "settling import Checked,", "settling import open_gates, Checked,"),
        ),
    ),
    Plant(
        "a cancel gives back the money for what is running",
        (
            Change(
                "engine.settling",
                "        if step.state not in (StepState.WAITING, StepState.READY) or (",
                "        if step.state in FINAL_STEP or (",
            ),
            Change(
                "engine.settling",
                "        if any(attempt.state not in FINAL_ATTEMPT for attempt in attempts.list_of_step(turn.tx, step.id)):\n"
                "            continue",
                "        if False:\n            continue",
            ),
        ),
    ),
    Plant(
        "an id is attached without a look at it",
        (Change("engine.people", "    await _look_at(parts, adapter, attempt, step, ref)\n", ""),),
    ),
    Plant(
        "a new lease forgets the id",
        (Change("store.leases", "\" lease_until = NULL WHERE id IN", "\" lease_until = NULL, ref_id = NULL WHERE id IN"),),
    ),
    Plant(
        "a failure is bought again without a rule",
        (
            Change(
                "engine.poller",
                "    if rule is not None and is_wanted and _permits(rule, step):\n",
                "    if is_wanted and step.attempts < 3:\n",
            ),
            Change("engine.poller", "\"of\": rule.count_max}", "\"of\": 2}"),
        ),
    ),
    Plant(
        "what is missing is captured",
        (
            Change(
                "engine.settling",
                "ledger.close(turn.tx, output.hold_id, HoldEvent.RELEASED, reason=reason, actor=turn.actor)",
                "ledger.close(turn.tx, output.hold_id, HoldEvent.CAPTURED, reason=reason, actor=turn.actor)",
            ),
        ),
    ),
    Plant(
        "a download that fails is bought again",
        (
            Change(
                "engine.collector",
                "    watch.must_renew = trouble.must_renew\n",
                "    watch.must_renew = trouble.must_renew\n    await parts.act(watch.held.worker_id, _buy_again, watch.held)\n",
            ),
            Change(
                "engine.collector",
                "def record_delivered(",
                "def _buy_again(turn, held):\n"
                "    attempt = attempts.get(turn.tx, held.attempt_id)\n"
                "    attempts.advance(turn.tx, attempt, AttemptEvent.WRITTEN_OFF)\n"
                f"    {_BACK}\n\n\ndef record_delivered(",
            ),
            Change(
                "engine.collector",
                "from onetake.domain.errors import",
                "from onetake.domain.events import AttemptEvent, StepEvent\nfrom onetake.domain.errors import",
            ),
        ),
    ),
    Plant(
        "a reset is taken for never sent",
        (
            Change(
                "domain.answers",
                "    if not result.receipt.may_have_left:\n",
                "    if not result.receipt.may_have_left or result.receipt.fault is SendFault.RESET:\n",
            ),
        ),
    ),
    Plant(
        "a server error is taken for a refusal",
        (
            Change(
                "domain.answers",
                "    if answer.status not in rules.statuses | rules.later or not answer.is_whole:\n",
                "    if answer.status not in rules.statuses | rules.later | {500, 503} or not answer.is_whole:\n",
            ),
        ),
    ),
    Plant(
        "files are taken as they come",
        (Change("engine.collector", "for each in judge(spec, measures)]", "for each in judge(spec, measures) if 0]"),),
    ),
    Plant(
        "claims in the air are withdrawn with the lost ones",
        (Change("engine.submitter", "        if attempt_id not in taken:\n", "        if True:\n"),),
    ),
    Plant(
        "a doubt is kept quiet",
        (Change("engine.outcomes", "    open_case(turn, CaseKind.UNKNOWN, attempt, step.name, data)\n    return True\n", "    return True\n"),),
    ),
    Plant(
        "an older watch ends the newer one",
        (
            Change(
                "engine.watcher",
                "        if self._latest.get(watch.held.attempt_id) is not watch:\n            return  # leased anew meanwhile",
                "        if False:\n            return  # leased anew meanwhile",
            ),
            Change(
                "engine.watcher",
                "            del self._latest[watch.held.attempt_id]\n",
                "            self._latest.pop(watch.held.attempt_id, None)\n",
            ),
        ),
    ),
)
