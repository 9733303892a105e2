"""Everything that `onetake doctor` looks at: each part that a job needs, and what stands in the way of jobs now."""

import asyncio
import datetime
import shutil
from collections.abc import AsyncIterator

from onetake.app import open_parts
from onetake.config import Settings
from onetake.diagnosis.files import Progress, look_at_files
from onetake.diagnosis.finding import Finding
from onetake.domain.errors import OnetakeError, ProviderError, StorageError
from onetake.domain.moments import utc
from onetake.domain.roles import Act
from onetake.engine import models
from onetake.engine.members import is_over_all
from onetake.engine.parts import Parts
from onetake.media.decoder import VIDEO_HINT, video_available
from onetake.opening import database_site
from onetake.providers.adapter import Adapter
from onetake.store import alarms, cases, stops, views
from onetake.store.accounts import EMBEDDED_NAME
from onetake.store.migrate import HEAD

FREE_BYTES_MIN = 1_000_000_000
"""A gigabyte: some hundred clips; below it a batch may fill the disk before somebody looks."""

CONTRACT_AGE_DAYS_MAX = 90
"""How long a reading of a provider's promises is trusted without another look."""


async def examine(settings: Settings, *, is_hashed: bool, on_progress: Progress) -> list[Finding]:
    """Everything, in the order in which a job needs it; files by their sizes, or hashed.

    Jobs and files are those of every account, for a person who has a role over the installation.
    """
    try:
        async with open_parts(settings) as parts:
            found = [finding async for finding in _parts(parts)]
            if not await parts.database.read(is_over_all, settings.person, Act.LOOK):
                return [*found, _LEFT_OUT]
            found += [finding async for finding in _jobs(parts)]
            return found + [each async for each in _files(parts, is_hashed=is_hashed, on_progress=on_progress)]
    except OnetakeError as error:
        return [Finding(error.code, is_well=False, says=error.sentence)]


_LEFT_OUT = Finding(
    "jobs", is_well=True, says=f"not looked at: every account's jobs take a role in the account {EMBEDDED_NAME}"
)


async def _parts(parts: Parts) -> AsyncIterator[Finding]:
    """What a job needs."""
    if strangers := Settings.list_strangers():
        known = f"{', '.join(strangers)}: no setting of that name; see docs/reference/settings.md"
        yield Finding("settings", is_well=False, says=known)
    site = database_site(parts.settings)
    kept_by = await asyncio.to_thread(site.describe)
    yield Finding("database", is_well=True, says=f"{site.place} at revision {HEAD}, {kept_by}")
    yield _storage(parts)
    yield Finding("decoders", is_well=video_available(), says="images and clips" if video_available() else VIDEO_HINT)
    for adapter in parts.adapters.values():
        yield _contract(parts, adapter)
        yield await _account(parts, adapter)


async def _jobs(parts: Parts) -> AsyncIterator[Finding]:
    """What stands in the way of jobs, and how far they are."""
    standing = await parts.database.read(alarms.list_open)
    for alarm in standing:
        yield Finding(
            "alarm", is_well=False, says=f"{alarm['kind']} on {alarm['job_id'] or alarm['subject']}: {alarm['detail']}"
        )
    for stop in await parts.database.read(stops.list_open):
        says = f"nothing is sent for {stop['kind']} {stop['subject']} since {utc(stop['since'])}: {stop['reason']}"
        yield Finding("stop", is_well=False, says=says)
    for job in await parts.database.read(cases.list_ended_jobs):
        says = f"{job['id']} has ended, and a case on it is open; see `onetake jobs show {job['id']}`"
        yield Finding("case", is_well=False, says=says)
    counts = await parts.database.read(views.count_by_status)
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "none"
    is_well = not counts.get("submission_unknown")
    next_step = "" if is_well else "; see `onetake jobs list --status submission_unknown`, then `onetake attach JOB ID`"
    yield Finding("jobs", is_well=is_well, says=f"{told}{next_step}")


async def _files(parts: Parts, *, is_hashed: bool, on_progress: Progress) -> AsyncIterator[Finding]:
    try:
        async for finding in look_at_files(parts, is_hashed=is_hashed, on_progress=on_progress):
            yield finding
    except StorageError as error:
        yield Finding("files", is_well=False, says=error.sentence)


def _storage(parts: Parts) -> Finding:
    folder = parts.settings.storage_path
    try:
        parts.blobs.incoming("doctor").unlink()
    except OnetakeError as error:
        return Finding("storage", is_well=False, says=error.sentence)
    free = shutil.disk_usage(folder).free
    return Finding("storage", is_well=free >= FREE_BYTES_MIN, says=f"{folder}, {free / 1e9:.1f} GB free")


def _contract(parts: Parts, adapter: Adapter) -> Finding:
    verified = datetime.date.fromisoformat(adapter.contract.verified_on)
    today = datetime.datetime.fromtimestamp(parts.clock.now_us() / 1e6, datetime.UTC).date()
    age_days = (today - verified).days
    says = f"{adapter.name}, version {adapter.contract.version}, read on {verified}"
    return Finding("contract", is_well=age_days <= CONTRACT_AGE_DAYS_MAX, says=says)


async def _account(parts: Parts, adapter: Adapter) -> Finding:
    try:
        offered = await models.offered(parts, adapter.name, is_fresh=True)
    except ProviderError as error:
        return Finding("provider", is_well=False, says=error.sentence)
    if offered is None:
        says = f"{adapter.name} at {adapter.origin} can't be reached, or doesn't say which models our key is offered"
        return Finding("provider", is_well=False, says=says)
    return Finding(
        "provider", is_well=True, says=f"{adapter.name} at {adapter.origin} offers {', '.join(offered)[:200]}"
    )
