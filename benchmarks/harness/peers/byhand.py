"""The careful state machine, by hand, on SQLite (WAL, synchronous=FULL) or PostgreSQL (asyncpg).

It claims before the POST, saves the id, parks on doubt and resumes by polling saved ids; one commit for each
transition. One worker process only: whatever a dead worker left in *_submitting becomes *_submit_unknown at the next
start.
"""

import asyncio
import sqlite3
from typing import Any

from common import CONCURRENCY, DB_URL, STAGES, Api, HttpError, JobFailed, NoUrls, keys, now, row, serve

COLUMNS = (
    "key text primary key, state text, image_task_id text, image_url text, video_task_id text, video_url text,"
    " error text, t_done float8"
)
IS_POSTGRES = DB_URL.startswith("postgres")


class Lite:
    """A SQLite file, used in the loop."""

    async def open(self) -> None:
        self.connection = sqlite3.connect(DB_URL.removeprefix("sqlite:///"), isolation_level=None)
        self.connection.executescript("pragma journal_mode=wal; pragma synchronous=full;")

    async def run(self, sql: str, *values: object) -> int:
        return self.connection.execute(sql, values).rowcount

    async def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()


class Postgres:
    """A pool of eight connections."""

    async def open(self) -> None:
        import asyncpg

        self.pool = await asyncpg.create_pool(DB_URL, min_size=8, max_size=8)

    @staticmethod
    def numbered(sql: str) -> str:
        parts = sql.split("?")
        return parts[0] + "".join(f"${number}{part}" for number, part in enumerate(parts[1:], 1))

    async def run(self, sql: str, *values: object) -> int:
        tag = (await self.pool.execute(self.numbered(sql), *values)).split()[-1]
        return int(tag) if tag.isdigit() else 0

    async def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return [tuple(found) for found in await self.pool.fetch(self.numbered(sql), *values)]


db: Lite | Postgres = Postgres() if IS_POSTGRES else Lite()


async def init() -> None:
    await db.open()
    await db.run(f"create table chains({COLUMNS})")


async def enqueue() -> None:
    await db.open()
    rows = ", ".join("(?, 'image_ready')" for _ in keys())
    await db.run(f"insert into chains(key, state) values {rows}", *keys())


async def submitted(api: Api, key: str, stage: str, frame: str | None) -> str | None:
    """The saved task id; None if the chain is settled by what the submit came to."""
    while True:
        try:
            task_id = await api.submit(stage, key, frame)
            break
        except HttpError as error:
            if error.status == 429:  # known not accepted: the only case that may be repeated
                await asyncio.sleep(1)
                continue
            state, why = ("failed" if error.status < 500 else f"{stage}_submit_unknown"), str(error)
        except Exception as error:
            state, why = f"{stage}_submit_unknown", repr(error)
        await db.run("update chains set state=?, error=?, t_done=? where key=?", state, why, now(), key)
        return None
    await db.run(f"update chains set state=?, {stage}_task_id=? where key=?", f"{stage}_processing", task_id, key)
    return task_id


async def finished(api: Api, key: str, stage: str, task_id: str) -> str | None:
    """The output's address, its file stored; None if the chain failed."""
    while True:
        try:
            return await api.wait(task_id, stage)
        except NoUrls:
            await asyncio.sleep(0.5)
        except JobFailed as error:
            await db.run("update chains set state='failed', error=?, t_done=? where key=?", str(error), now(), key)
            return None


async def advance(api: Api, key: str, state: str, task_id: str | None, frame: str | None) -> None:
    """Run one chain from its saved state to a settled one."""
    for stage in STAGES:
        if state == f"{stage}_ready":
            sql = "update chains set state=? where key=? and state=?"
            if not await db.run(sql, f"{stage}_submitting", key, f"{stage}_ready"):
                return
            task_id = await submitted(api, key, stage, frame)
            state = f"{stage}_processing"
        if state == f"{stage}_processing":
            frame = await finished(api, key, stage, task_id) if task_id else None
            if frame is None:
                return
            is_last = stage == STAGES[-1]
            state = "complete" if is_last else "video_ready"
            moment = now() if is_last else None
            await db.run(f"update chains set state=?, {stage}_url=?, t_done=? where key=?", state, frame, moment, key)


async def worker() -> None:
    await db.open()
    for stage in STAGES:
        sql = "update chains set state=?, t_done=? where state=?"
        await db.run(sql, f"{stage}_submit_unknown", now(), f"{stage}_submitting")
    waiting: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
    open_chains = (
        "select key, state, coalesce(video_task_id, image_task_id), image_url from chains"
        " where state like '%_ready' or state like '%_processing' order by state, key"
    )
    for found in await db.rows(open_chains):
        waiting.put_nowait(found)

    async def lane(api: Api) -> None:
        while not waiting.empty():
            await advance(api, *waiting.get_nowait())

    async with Api() as api:
        await asyncio.gather(*(lane(api) for _ in range(CONCURRENCY)))


async def report() -> None:
    await db.open()
    columns = "key, state, coalesce(video_url, image_url), error, t_done"
    for key, state, url, error, done in await db.rows(f"select {columns} from chains order by key"):
        settled = {"complete": "done", "failed": "failed"}.get(state)
        kind = settled or ("uncertain" if state.endswith("unknown") else "pending")
        row(key, kind, native=state, error=error, t_done=done, url=url)


serve(init=init, enqueue=enqueue, worker=worker, report=report)
