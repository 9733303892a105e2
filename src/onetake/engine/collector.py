"""Making the provider's output ours: fetch, hash, decode, measure, store; then, in one commit, deliver.

Free and repeatable: whatever goes wrong here is repaired from the saved addresses, or from fresh ones under the
saved ref, and never buys again (L8). A file that isn't what was ordered is fetched once more, because a cut body may
be weather; the same bytes a second time are the provider's word, and a person is asked. What is no media at all (a
page of a gateway, of a login, of a storage service) is nobody's output: the address is renewed, however often.
"""

from dataclasses import dataclass
from pathlib import Path

from onetake.domain.errors import MediaError, StorageError
from onetake.domain.outputs import Measures, OutputSpec
from onetake.domain.pacing import POLL_BACKOFF_S_MAX, backoff_s
from onetake.domain.states import AlarmKind, ArtifactState, CaseKind, ErrorCategory, StepState
from onetake.domain.verdict import judge
from onetake.engine.parts import Parts
from onetake.engine.poller import Again, Over, Visit, record_alarm
from onetake.engine.schedule import Watch
from onetake.engine.settling import Checked, deliver, fill, open_case
from onetake.engine.turn import Turn
from onetake.media.decoder import DecodeFault, Undecodable
from onetake.media.fetch import FetchFailed, FetchFault
from onetake.store import artifacts, attempts, steps
from onetake.store.artifacts import Artifact
from onetake.store.database import Tx
from onetake.store.leases import Watched

FETCH_TIMEOUT_S = 900.0
"""Longest one download may take: 2 GB at 20 Mbit/s; a slower line starts again."""

DECODE_TIMEOUT_S = 600.0
"""Longest a file may decode: an hour of 1080p takes about two minutes on one core."""

RETRY_BASE_S = 1.0
"""First pause after a download that failed; doubled each time, at most the polls' longest."""

ALARM_AFTER = 3
"""Failures in a row before an alarm: one or two are weather."""


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
class _Refused:
    """The provider gave the same bytes twice, and they are not what was ordered."""

    ordinal: int
    digest: str
    size_bytes: int
    measures: Measures | None
    reason: str


_Found = Checked | _Refused | _Trouble


async def collect(parts: Parts, watch: Watch) -> Visit:
    """Fetch and check what the attempt's addresses hold; deliver once every file is settled."""
    wanted, specs = await parts.database.read(_wanted, watch.held)
    if not wanted:  # what is left is with a person
        return Again(POLL_BACKOFF_S_MAX, is_backoff=True)
    found = [await _take(parts, watch, artifact, _spec_at(specs, artifact.ordinal)) for artifact in wanted]
    # A file beyond what was ordered is kept if it is good and never holds up what was.
    ordered = [each for artifact, each in zip(wanted, found, strict=True) if artifact.ordinal < len(specs)]
    troubles = [each for each in ordered if isinstance(each, _Trouble)]
    if troubles:
        return await _later(parts, watch, troubles[0])
    checked = [each for each in found if isinstance(each, Checked)]
    refused = [each for each in ordered if isinstance(each, _Refused)]
    if refused:
        await parts.act(watch.held.worker_id, record_refused, watch.held, checked, refused)
        return Again(POLL_BACKOFF_S_MAX, is_backoff=True)
    state = await parts.act(watch.held.worker_id, record_delivered, watch.held, checked)
    if state is not None:
        parts.wake.set()
    return Over()


def _wanted(tx: Tx, held: Watched) -> tuple[list[Artifact], list[OutputSpec]]:
    found = artifacts.list_of_attempt(tx, held.attempt_id)
    step_id = attempts.get(tx, held.attempt_id).step_id
    specs = [output.spec for output in artifacts.list_expected(tx, step_id=step_id)]
    return [artifact for artifact in found if artifact.state is ArtifactState.FETCHING], specs


def _spec_at(specs: list[OutputSpec], ordinal: int) -> OutputSpec:
    """The spec of the output in that place; an extra file is held against the last one."""
    return specs[min(ordinal, len(specs) - 1)]


async def _take(parts: Parts, watch: Watch, artifact: Artifact, spec: OutputSpec) -> _Found:
    """One file: fetched, decoded, judged and, if good, stored."""
    try:
        into = parts.blobs.incoming(artifact.id)
        try:
            return await _fetch_and_check(parts, watch, artifact, spec, into)
        finally:
            into.unlink(missing_ok=True)
    except StorageError as error:
        return _Trouble(AlarmKind.STORAGE, error.sentence)
    except MediaError as error:
        return _Trouble(AlarmKind.STORAGE, error.sentence)


async def _fetch_and_check(parts: Parts, watch: Watch, artifact: Artifact, spec: OutputSpec, into: Path) -> _Found:
    got = await parts.fetcher.fetch(
        artifact.address, into=into, size_bytes_max=spec.size_bytes_max, timeout_s=FETCH_TIMEOUT_S
    )
    if isinstance(got, FetchFailed):
        return _trouble_of(got)
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
    return _Refused(
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


async def _later(parts: Parts, watch: Watch, trouble: _Trouble) -> Visit:
    """Come back after a pause; an address that died is renewed first, by asking for the saved ref."""
    watch.failures += 1
    is_stubborn = trouble.kind is AlarmKind.DOWNLOAD and watch.failures >= ALARM_AFTER
    watch.must_renew = trouble.must_renew or is_stubborn
    if watch.failures >= ALARM_AFTER and trouble.kind not in watch.raised:
        await parts.act(watch.held.worker_id, record_alarm, watch.held, trouble.kind, trouble.detail)
        watch.raised |= {trouble.kind}
    pause_s = backoff_s(
        watch.failures,
        base_s=RETRY_BASE_S,
        cap_s=POLL_BACKOFF_S_MAX,
        chance=parts.clock.uniform(0, 1),
        retry_after_s=trouble.retry_after_s,
    )
    return Again(pause_s, is_backoff=True)


def record_delivered(turn: Turn, held: Watched, checked: list[Checked]) -> StepState | None:
    """Deliver, if the lease still stands."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    return deliver(turn, attempt, checked) if attempt.token == held.token else None


def record_refused(turn: Turn, held: Watched, checked: list[Checked], refused: list[_Refused]) -> None:
    """Fill what is good, keep the other bytes as evidence and ask a person; nothing is bought again.

    The attempt stays where it is, and what is held for the outputs in doubt stays held.
    """
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token:
        return
    fill(turn, attempt, checked)
    standing = {artifact.ordinal: artifact for artifact in artifacts.list_of_attempt(turn.tx, held.attempt_id)}
    step = steps.get(turn.tx, attempt.step_id)
    for each in refused:
        artifact, measures = standing[each.ordinal], each.measures
        media_type = measures.media_type if measures else "application/octet-stream"
        artifacts.store(turn.tx, artifact, digest=each.digest, size_bytes=each.size_bytes, media_type=media_type)
        artifacts.reject(turn.tx, artifact, measures=measures, reason=each.reason)
        attempts.note(
            turn.tx, attempt.id, category=ErrorCategory.VALIDATION, code="output_rejected", message=each.reason
        )
        facts: dict[str, object] = {"digest": each.digest, "reason": each.reason}
        open_case(turn, CaseKind.OUTPUT_REJECTED, attempt, step.name, facts)
