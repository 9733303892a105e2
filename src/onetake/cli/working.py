"""What `onetake worker` does, and what it finds left when it ends."""

import contextlib
import sys
from typing import Any, TextIO, cast

from onetake.app import open_parts
from onetake.cli.printing import when
from onetake.cli.progress import BottomLine, is_wanted, shown
from onetake.cli.running import stop_on_signals, worker_name
from onetake.domain.errors import ProviderError
from onetake.engine.worker import Worker
from onetake.opening import load_settings
from onetake.store import alarms, overview, stops, views
from onetake.store.database import Row, Tx
from onetake.telemetry import log_to_stderr


async def work(*, until_idle: bool, is_json: bool) -> dict[str, Any]:
    """Work until a signal, or until nothing is left to do now; then what is left, as `--json` prints it.

    Raises:
        ProviderError: with `until_idle`, a provider can't be reached, or refuses our key.
        DatabaseError: the database can't be used.
    """
    line = BottomLine(sys.stderr) if is_wanted(is_json=is_json) else None
    log_to_stderr(is_json=is_json, stream=cast("TextIO | None", line))
    async with open_parts(load_settings()) as parts:
        with_progress = shown(parts.database, parts.clock, line) if line else contextlib.nullcontext()
        async with with_progress:
            await Worker(parts, name=worker_name()).run(stop_on_signals(), until_idle=until_idle)
        if until_idle:
            _refuse_unreachable(await parts.database.read(overview.list_unreachable))
        return await parts.database.read(_left)


def _left(tx: Tx) -> dict[str, Any]:
    return {
        "jobs": views.count_by_status(tx),
        "alarms": alarms.list_open(tx),
        "put_off": overview.count_put_off(tx),
        "people": overview.count_for_people(tx),
        "budgets": overview.count_without_budget(tx),
        "stops": stops.list_open(tx),
    }


def _refuse_unreachable(found: list[Row]) -> None:
    if not found:
        return
    waits = "; ".join(
        f"{row['provider']} can't be reached, and {row['count']} to be sent there will be tried again"
        f" from {when(row['not_before'])}"
        for row in found
    )
    raise ProviderError(
        f"Nothing more can be sent: {waits}. Check its address and the network, and start the worker again."
    )
