"""A database with rows in it, made by the store's own drawers as the engine makes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from onetake.clock import ManualClock, new_id
from onetake.domain.events import AttemptEvent, HoldEvent, JobEvent, StepEvent
from onetake.domain.outputs import Measures, OutputSpec
from onetake.domain.pricing import QuoteLine, Worst
from onetake.domain.states import ArtifactUse, StepState
from onetake.domain.wire import WireRequest
from onetake.store import (
    accounts,
    allowances,
    artifacts,
    attempts,
    jobs,
    journal,
    leases,
    ledger,
    quotes,
    recipes,
    steps,
    workers,
)
from onetake.store.attempts import Attempt
from onetake.store.database import Database, Row, Tx
from onetake.store.steps import Step

P = ParamSpec("P")
T = TypeVar("T")

SECOND = 1_000_000
SPEC = OutputSpec(kind="image")
MEASURES = Measures(kind="image", media_type="image/png", size_bytes=9, width_px=4, height_px=4, frames=1)
DIGEST = "ab" * 32
SIGNED = "https://cdn.example/out.png?X-Sig=s3cret"
LOCATOR = "https://provider.example/tasks/s3cret-locator"
INPUTS = '{"prompt":"s3cret-prompt"}'
CONTENT = '{"inputs":{"prompt":{"type":"text"}}}'
WIRE = WireRequest(
    method="POST",
    url="https://provider.example/s3cret-submit",
    headers=(("Content-Type", "application/json"),),
    body=INPUTS.encode(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The ids of an order that was written: by step, its outputs and the holds for them."""

    job: str
    key: str
    steps: dict[str, str]
    holds: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shop:
    """An open database and its clock."""

    database: Database
    clock: ManualClock

    async def do(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the operation gives, committed."""
        return await self.database.write(op, *args, **kwargs)

    async def see(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the operation reads."""
        return await self.database.read(op, *args, **kwargs)

    async def rows(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """What a SELECT gives."""
        return await self.database.read(lambda tx: tx.all(sql, params))

    async def sql(self, sql: str, params: Mapping[str, object] | None = None) -> int:
        """How many rows a statement changes, outside of every drawer."""
        return await self.database.write(lambda tx: tx.do(sql, params))

    # --- rows, each function from where the one before left off

    async def order(
        self, key: str = "k1", *names: str, outputs: int = 1, amount: int = 0, inputs: str = INPUTS
    ) -> Order:
        """An open job whose steps wait; a second later than the one before."""
        self.clock.advance(1)
        lines = {name: [self._line(name, n, amount) for n in range(outputs)] for name in names or ("draw",)}
        return await self.do(self._order, key, lines, inputs)

    def _order(self, tx: Tx, key: str, lines: Mapping[str, list[QuoteLine]], inputs: str) -> Order:
        clock, account_id = self.clock, accounts.ensure_embedded(tx)
        job_id, quote_id = new_id("job", clock), new_id("qte", clock)
        recipes.record(tx, name="r", version=1, digest="f0", content=CONTENT, source="[recipe]")
        quoted = quotes.Quoted(
            account_id=account_id, recipe_hash="f0", request_hash="a1", price_version="p1", consent_version=""
        )
        quotes.insert(tx, quote_id, quoted, is_accepted=True)
        line_ids = quotes.insert_lines(tx, clock, quote_id, [line for each in lines.values() for line in each])
        total = sum(line.credits_max for each in lines.values() for line in each)
        if total:
            ledger.grant(tx, clock, account_id, total, reason="g", actor="ada")
            ledger.take(tx, account_id, total)
        jobs.insert(
            tx,
            job_id=job_id,
            account_id=account_id,
            key=key,
            quote_id=quote_id,
            recipe=("r", 1, "f0"),
            request_hash="a1",
            expected=sum(map(len, lines.values())),
            inputs_json=inputs,
        )
        journal.record(tx, job_id, "job.created", actor="ada", data={"steps": list(lines)})
        order = Order(job=job_id, key=key, steps={name: new_id("stp", clock) for name in lines})
        for position, (name, step_id) in enumerate(order.steps.items()):
            self._step(tx, order, name, step_id, position)
            order.holds[name] = [self._output(tx, order, line, line_ids) for line in lines[name]]
        return order

    def _step(self, tx: Tx, order: Order, name: str, step_id: str, position: int) -> None:
        steps.insert(
            tx,
            step_id=step_id,
            job_id=order.job,
            name=name,
            position=position,
            provider="reapi",
            operation="image",
            model="m-1",
            deadline_s=60,
        )
        worst = Worst(request_micros=40_000, requests=1, currency="USD")
        allowances.insert(tx, self.clock, worst, job_id=order.job, step_id=step_id, provider="reapi")

    @staticmethod
    def _line(step: str, ordinal: int, amount: int) -> QuoteLine:
        return QuoteLine(
            step_name=step,
            output_name="still",
            ordinal=ordinal,
            credits_max=amount,
            spend_micros_max=40_000,
            currency="USD",
        )

    def _output(self, tx: Tx, order: Order, line: QuoteLine, line_ids: Mapping[quotes.Place, str]) -> str:
        hold_id = ledger.hold(
            tx,
            self.clock,
            job_id=order.job,
            account_id=accounts.EMBEDDED,
            line_id=line_ids[line.step_name, line.output_name, line.ordinal],
            amount=line.credits_max,
            actor="ada",
        )
        artifacts.insert_expected(
            tx,
            self.clock,
            job_id=order.job,
            step_id=order.steps[line.step_name],
            hold_id=hold_id,
            name=line.output_name,
            ordinal=line.ordinal,
            spec=SPEC,
        )
        return hold_id

    async def step(self, order: Order, name: str = "draw") -> Step:
        """The step as it stands."""
        return await self.see(steps.get, order.steps[name])

    async def worker(self, worker_id: str = "w1", *, lease_s: float = 30) -> str:
        """A living worker."""
        await self.do(workers.insert, worker_id, worker_id, lease_us=round(lease_s * SECOND))
        return worker_id

    async def ready(self, order: Order, name: str = "draw", *, not_before: int | None = None) -> Step:
        """A step whose request is frozen and which may be claimed."""
        return await self.do(self._ready, order.steps[name], not_before)

    def _ready(self, tx: Tx, step_id: str, not_before: int | None = None) -> Step:
        steps.freeze(tx, step_id, meaning='{"n":1}', request_hash="c3")
        changes = {"not_before": not_before}
        assert steps.advance(tx, steps.get(tx, step_id), StepEvent.OPENED, changes) is StepState.READY
        return steps.get(tx, step_id)

    async def submitting(self, order: Order, name: str = "draw", *, worker: str = "w1", lease_s: float = 30) -> Attempt:
        """A step that was claimed: its attempt's bytes may have left."""
        return await self.do(self._submitting, order.steps[name], worker, round(lease_s * SECOND))

    def _submitting(self, tx: Tx, step_id: str, worker: str, lease_us: int = 30 * SECOND) -> Attempt:
        step, attempt_id = self._ready(tx, step_id), new_id("att", self.clock)
        changes = {"current_attempt_id": attempt_id, "attempts": step.attempts + 1}
        assert steps.advance(tx, step, StepEvent.CLAIMED, changes) is StepState.ACTIVE
        attempt = attempts.insert(
            tx,
            step,
            attempt_id=attempt_id,
            no=step.attempts + 1,
            contract_version="c1",
            worker_id=worker,
            lease_us=lease_us,
        )
        attempts.insert_wire(tx, attempt_id, WIRE, idempotency_key=None, callback_token=self.clock.token(8).hex())
        return attempt

    async def processing(self, order: Order, name: str = "draw", *, worker: str = "w1", ref: str = "task_1") -> Attempt:
        """An attempt that the provider accepted."""
        return await self.do(self._processing, order.steps[name], worker, ref)

    def _processing(self, tx: Tx, step_id: str, worker: str, ref: str) -> Attempt:
        return self.accept(tx, self._submitting(tx, step_id, worker), ref)

    def accept(self, tx: Tx, attempt: Attempt, ref: str) -> Attempt:
        """The attempt with the provider's id, as it stands afterwards."""
        ref_id = attempts.bind_ref(
            tx,
            self.clock,
            attempt,
            provider_account="reapi",
            ref=ref,
            locator=LOCATOR,
            source="answer",
            actor="w1",
        )
        changes = {"ref_id": ref_id, "accepted_at": tx.now_us}
        assert attempts.advance(tx, attempt, AttemptEvent.ACCEPTED, changes)
        return attempts.get(tx, attempt.id)

    async def collecting(self, order: Order, name: str = "draw", *, ref: str = "task_1") -> Attempt:
        """An attempt whose output addresses are saved."""
        return await self.do(self._collecting, order.steps[name], ref)

    def _collecting(self, tx: Tx, step_id: str, ref: str) -> Attempt:
        return self.finish(tx, self._processing(tx, step_id, "w1", ref))

    def finish(self, tx: Tx, attempt: Attempt) -> Attempt:
        """The attempt with one address, as it stands afterwards."""
        artifacts.found(tx, self.clock, job_id=attempt.job_id, attempt_id=attempt.id, addresses=(SIGNED,))
        assert attempts.advance(tx, attempt, AttemptEvent.FINISHED)
        return attempts.get(tx, attempt.id)

    async def delivered(self, order: Order, name: str = "draw", *, ref: str = "task_1") -> Attempt:
        """An attempt whose one file fills the step's one output; the step is complete."""
        return await self.do(self._delivered, order.steps[name], ref)

    def _delivered(self, tx: Tx, step_id: str, ref: str) -> Attempt:
        return self.deliver(tx, self._collecting(tx, step_id, ref))

    def deliver(self, tx: Tx, attempt: Attempt) -> Attempt:
        """The attempt after its file was stored, checked and filled in."""
        (artifact,) = artifacts.list_of_attempt(tx, attempt.id)
        (output,) = artifacts.list_expected(tx, step_id=attempt.step_id)
        assert artifacts.store(tx, artifact, digest=DIGEST, size_bytes=9, media_type="image/png")
        assert artifacts.verify(tx, artifact, MEASURES, ArtifactUse.FILLS)
        assert artifacts.fill(tx, output, artifact.id)
        jobs.count_filled(tx, attempt.job_id)
        assert ledger.close(tx, self.clock, output.hold_id, HoldEvent.CAPTURED, reason="delivered", actor="w1")
        assert attempts.advance(tx, attempt, AttemptEvent.DELIVERED, {"charged": "yes"})
        assert steps.advance(tx, steps.get(tx, attempt.step_id), StepEvent.DELIVERED)
        return attempts.get(tx, attempt.id)

    async def complete(self, order: Order, *, ref: str = "task_1") -> Attempt:
        """A job of one step that is complete and sealed."""
        (step_id,) = order.steps.values()
        return await self.do(self._complete, step_id, ref)

    def _complete(self, tx: Tx, step_id: str, ref: str) -> Attempt:
        attempt = self._delivered(tx, step_id, ref)
        assert jobs.advance(tx, jobs.get(tx, attempt.job_id), JobEvent.COMPLETED)
        jobs.seal(tx, attempt.job_id, content="{}", digest="d4")
        return attempt

    async def watched(self, attempt: Attempt) -> leases.Watched:
        """The attempt as its holder sees it."""
        return await self.see(leases.watched, attempt.id)
