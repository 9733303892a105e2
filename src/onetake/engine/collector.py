"""Making the provider's output ours: fetch, hash, decode, measure, store; then, in one commit, deliver.

Free and repeatable: whatever goes wrong here is repaired from the saved addresses, or from fresh ones under the
saved ref, and never buys again (L8). Each good file fills its output before the next one is asked for, so one dead
address holds up nothing but itself, and nothing that was filled is fetched again. A file that isn't what was ordered
is fetched once more, because a cut body may be weather; the same bytes a second time are the provider's word, and a
person is asked. What is no media at all (a page of a gateway, of a login, of a storage service) is nobody's output:
the address is renewed, however often, and a person is asked when that doesn't help.
"""

from dataclasses import dataclass, field

from onetake.domain.errors import MediaError, StorageError
from onetake.domain.outputs import Measures, OutputSpec
from onetake.domain.pacing import POLL_BACKOFF_S_MAX, backoff_s
from onetake.domain.states import AlarmKind, ArtifactState, AttemptState, CaseKind, ErrorCategory, StepState
from onetake.domain.verdict import judge
from onetake.engine.parts import Parts
from onetake.engine.poller import Again, Over, Visit, ask_person, record_alarm
from onetake.engine.schedule import Watch
from onetake.engine.settling import Checked, deliver, fill, open_case
from onetake.engine.turn import Turn
from onetake.media.decoder import DecodeFault, Undecodable
from onetake.media.fetch import Fetched, FetchFailed, FetchFault
from onetake.store import artifacts, attempts, steps
from onetake.store.artifacts import ASKED_ANEW, Artifact
from onetake.store.database import Tx
from onetake.store.leases import Watched

FETCH_TIMEOUT_S = 900.0
"""Longest one download may take: 2 GB at 20 Mbit/s; a slower line starts again."""

EXTRA_TIMEOUT_S = 60.0
"""Longest the download of a file that nobody ordered may take: the job waits for it, once, and then no more."""

DECODE_TIMEOUT_S = 600.0
"""Longest a file may decode: an hour of 1080p takes about two minutes on one core."""

RETRY_BASE_S = 1.0
"""First pause after a download that failed; doubled each time, at most the polls' longest."""

ALARM_AFTER = 3
"""Failures in a row before an alarm: one or two are weather."""

REFUSALS_MAX = 5
"""Fresh addresses in a row that storage refuses with the same words before a person is asked; it is tried on."""

# A machine without time or memory says nothing about the file.
_OUR_TROUBLE = (DecodeFault.TIMEOUT, DecodeFault.CRASH)


# Another try at the same address can't help; asking for the saved ref may name a better one, and is free.
_DEAD_ADDRESS = (FetchFault.EXPIRED, FetchFault.NOT_OURS, FetchFault.BAD_ADDRESS, FetchFault.TOO_LARGE)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why a file isn't ours yet."""

    kind: AlarmKind
    detail: str
    must_renew: bool = False
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The provider gave the same bytes twice, and they are not what was ordered."""

    ordinal: int
    digest: str
    size_bytes: int
    measures: Measures | None
    reason: str


_Found = Checked | Rejected | _Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What is left of an attempt.

    Attributes:
        wanted: the files still to be fetched, those that were ordered first.
        specs: of the outputs that were ordered.
        is_disputed: one that was ordered isn't what was ordered, and a person decides.
    """

    wanted: list[Artifact]
    specs: list[OutputSpec]
    is_disputed: bool

    def is_ordered(self, artifact: Artifact) -> bool:
        """Whether it is meant for an output; one beyond those is kept if it is good, and never holds up the others."""
        return artifact.ordinal < len(self.specs)

    def spec_of(self, artifact: Artifact) -> OutputSpec:
        """The spec of its output; an extra file is held against the last one."""
        return self.specs[min(artifact.ordinal, len(self.specs) - 1)]


@dataclass(slots=True)
class _Haul:
    """What a visit found: the last good file, whose row is still to be written, and why others aren't ours yet."""

    checked: list[Checked] = field(default_factory=list)
    troubles: list[_Trouble] = field(default_factory=list)
    is_disputed: bool = False


async def collect(parts: Parts, watch: Watch) -> Visit:
    """Fetch and check what the attempt's addresses hold; fill with each good file, deliver with the last."""
    work = await parts.database.read(_work, watch.held)
    if not work.wanted:  # what is left is with a person
        return Again(POLL_BACKOFF_S_MAX, is_backoff=True)
    if watch.failures == 0 and any(artifact.address_at == ASKED_ANEW for artifact in work.wanted):
        watch.must_renew = True
        return Again(0.0)
    haul = await _fetch_all(parts, watch, work)
    if haul is None:
        return Over()
    if not haul.troubles and not haul.is_disputed:
        if await parts.act(watch.held.worker_id, record_delivered, watch.held, haul.checked) is not None:
            parts.wake.set()
        return Over()
    if haul.checked and not await parts.act(watch.held.worker_id, record_filled, watch.held, haul.checked):
        return Over()
    return await _later(parts, watch, haul.troubles) if haul.troubles else Again(POLL_BACKOFF_S_MAX, is_backoff=True)


def _work(tx: Tx, held: Watched) -> _Work:
    found = artifacts.list_of_attempt(tx, held.attempt_id)
    step_id = attempts.get(tx, held.attempt_id).step_id
    specs = [output.spec for output in artifacts.list_expected(tx, step_id=step_id)]
    return _Work(
        wanted=[artifact for artifact in found if artifact.state is ArtifactState.FETCHING],
        specs=specs,
        is_disputed=any(file.state is ArtifactState.REJECTED and file.ordinal < len(specs) for file in found),
    )


async def _fetch_all(parts: Parts, watch: Watch, work: _Work) -> _Haul | None:
    """One try at each file. What was found is written down before the next try begins; None if the lease is gone."""
    haul = _Haul(is_disputed=work.is_disputed)
    for artifact in work.wanted:
        if haul.checked and not await parts.act(watch.held.worker_id, record_filled, watch.held, haul.checked):
            return None
        found = await _take(parts, watch, artifact, work)
        haul.checked = [found] if isinstance(found, Checked) else []
        if isinstance(found, _Trouble) and work.is_ordered(artifact):
            haul.troubles.append(found)
        elif isinstance(found, Rejected) and work.is_ordered(artifact):
            haul.is_disputed = True
            if not await parts.act(watch.held.worker_id, record_rejected, watch.held, found):
                return None
    return haul


async def _take(parts: Parts, watch: Watch, artifact: Artifact, work: _Work) -> _Found:
    """One file: fetched, decoded, judged and, if good, stored."""
    timeout_s = FETCH_TIMEOUT_S if work.is_ordered(artifact) else EXTRA_TIMEOUT_S
    try:
        into = parts.blobs.incoming(artifact.id)
        try:
            spec = work.spec_of(artifact)
            got = await parts.fetcher.fetch(
                artifact.address, into=into, size_bytes_max=spec.size_bytes_max, timeout_s=timeout_s
            )
            return _trouble_of(got) if isinstance(got, FetchFailed) else await _check(parts, watch, artifact, spec, got)
        finally:
            into.unlink(missing_ok=True)
    except StorageError as error:
        return _Trouble(AlarmKind.STORAGE, error.sentence)
    except MediaError as error:
        return _Trouble(AlarmKind.STORAGE, error.sentence)


async def _check(parts: Parts, watch: Watch, artifact: Artifact, spec: OutputSpec, got: Fetched) -> _Found:
    measures = await parts.decoder.measure(got.path, timeout_s=DECODE_TIMEOUT_S)
    if isinstance(measures, Undecodable) and measures.fault in _OUR_TROUBLE:
        return _Trouble(AlarmKind.DOWNLOAD, f"could not be checked ({measures.reason})")
    if isinstance(measures, Undecodable) and measures.fault is DecodeFault.NOT_MEDIA:
        return _Trouble(AlarmKind.DOWNLOAD, measures.reason, must_renew=True)  # somebody's page, not the output
    reasons = (
        [f"{each.what}: wanted {each.wanted}, found {each.found}" for each in judge(spec, measures)]
        if isinstance(measures, Measures)
        else [measures.reason]
    )
    if not reasons and isinstance(measures, Measures):
        await parts.blobs.keep(got.path, got.digest)
        return Checked(ordinal=artifact.ordinal, digest=got.digest, size_bytes=got.size_bytes, measures=measures)
    reason = "; ".join(reasons)
    if watch.seen.get(artifact.ordinal) != got.digest:
        watch.seen = {**watch.seen, artifact.ordinal: got.digest}
        return _Trouble(AlarmKind.DOWNLOAD, f"not what was ordered ({reason}); fetched again to be sure")
    await parts.blobs.keep(got.path, got.digest)
    return Rejected(
        ordinal=artifact.ordinal,
        digest=got.digest,
        size_bytes=got.size_bytes,
        measures=measures if isinstance(measures, Measures) else None,
        reason=reason,
    )


def _trouble_of(failed: FetchFailed) -> _Trouble:
    kind = AlarmKind.STORAGE if failed.kind is FetchFault.STORAGE else AlarmKind.DOWNLOAD
    return _Trouble(
        kind,
        f"{failed.kind}: {failed.detail}",
        must_renew=failed.kind in _DEAD_ADDRESS,
        retry_after_s=failed.retry_after_s,
    )


async def _later(parts: Parts, watch: Watch, troubles: list[_Trouble]) -> Visit:
    """Come back after a pause; an address that died is renewed first, by asking for the saved ref."""
    watch.failures += 1
    is_stubborn = watch.failures >= ALARM_AFTER and any(each.kind is AlarmKind.DOWNLOAD for each in troubles)
    watch.must_renew = is_stubborn or any(each.must_renew for each in troubles)
    for each in troubles:
        if watch.failures >= ALARM_AFTER and each.kind not in watch.raised:
            await parts.act(watch.held.worker_id, record_alarm, watch.held, each.kind, each.detail)
            watch.raised |= {each.kind}
    await _count_refusals(parts, watch, troubles)
    pause_s = backoff_s(
        watch.failures,
        base_s=RETRY_BASE_S,
        cap_s=POLL_BACKOFF_S_MAX,
        chance=parts.clock.uniform(0, 1),
        retry_after_s=max(each.retry_after_s or 0.0 for each in troubles),
    )
    return Again(pause_s, is_backoff=True)


async def _count_refusals(parts: Parts, watch: Watch, troubles: list[_Trouble]) -> None:
    """Ask a person once fresh addresses are refused like the one before; the poller counts those it was given."""
    said = next((each.detail for each in troubles if each.must_renew), "")
    if said != watch.refusal:
        watch.refusal, watch.renewals = said, 0
        watch.asked -= {CaseKind.NO_OUTPUT}
    if said and watch.renewals >= REFUSALS_MAX:
        facts: dict[str, object] = {"fresh_addresses_refused": REFUSALS_MAX, "said": said}
        await ask_person(parts, watch, CaseKind.NO_OUTPUT, facts)


def record_delivered(turn: Turn, held: Watched, checked: list[Checked]) -> StepState | None:
    """Deliver, if the lease still stands."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    return deliver(turn, attempt, checked) if attempt.token == held.token else None


def record_filled(turn: Turn, held: Watched, checked: list[Checked]) -> bool:
    """Fill what is good while the attempt goes on; False if the lease is gone."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token or attempt.state is not AttemptState.COLLECTING:
        return False
    filled = fill(turn, attempt, artifacts.list_expected(turn.tx, step_id=attempt.step_id), checked)
    told = [{"digest": file.digest, "size_bytes": file.size_bytes} for file in checked]
    turn.tell("step.filled", attempt, steps.get(turn.tx, attempt.step_id).name, {"files": told, "filled": filled})
    return True


def record_rejected(turn: Turn, held: Watched, rejected: Rejected) -> bool:
    """Keep bytes that aren't what was ordered as evidence and ask a person; False if the lease is gone.

    Nothing is bought again: the attempt stays where it is, and what is held for the output in doubt stays held.
    """
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token or attempt.state is not AttemptState.COLLECTING:
        return False
    standing = {artifact.ordinal: artifact for artifact in artifacts.list_of_attempt(turn.tx, held.attempt_id)}
    artifact, measures = standing[rejected.ordinal], rejected.measures
    media_type = measures.media_type if measures else "application/octet-stream"
    artifacts.store(turn.tx, artifact, digest=rejected.digest, size_bytes=rejected.size_bytes, media_type=media_type)
    artifacts.reject(turn.tx, artifact, measures=measures, reason=rejected.reason)
    category, reason = ErrorCategory.VALIDATION, rejected.reason
    attempts.note(turn.tx, attempt.id, category=category, code="output_rejected", message=reason)
    facts: dict[str, object] = {"digest": rejected.digest, "reason": reason}
    open_case(turn, CaseKind.OUTPUT_REJECTED, attempt, steps.get(turn.tx, attempt.step_id).name, facts)
    return True
