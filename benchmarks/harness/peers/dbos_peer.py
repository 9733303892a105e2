"""DBOS Transact: one durable async workflow for each chain, one step for each submit and each wait.

Steps have `retries_allowed=True, max_attempts=10`, as its documentation shows for API calls; the queue polls every
50 ms instead of every second, which suits DBOS better here.
"""

import os
import time
from typing import Any

import sqlalchemy
from common import CONCURRENCY, COUNT, DB_URL, FINAL, STAGES, Api, keys, now, row, serve
from dbos import DBOS, DBOSClient

RETRY: dict[str, Any] = {
    "retries_allowed": True,
    "max_attempts": 10,
    "should_retry": lambda error: not isinstance(error, FINAL),
}
IS_SQLITE = DB_URL.startswith("sqlite")
SETTLED = "'SUCCESS', 'ERROR', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', 'CANCELLED'"
api = Api()


@DBOS.step(**RETRY)
async def submit(stage: str, key: str, frame: str | None) -> str:
    await api.open()  # DBOS runs workflows on a loop of its own
    return await api.submit(stage, key, frame)


@DBOS.step(**RETRY)
async def wait(task_id: str, stage: str) -> str:
    await api.open()
    return await api.wait(task_id, stage)


@DBOS.workflow(name="chain")
async def chain(key: str) -> dict[str, Any]:
    frame = None
    for stage in STAGES:
        frame = await wait(await submit(stage, key, frame), stage)
    return {"url": frame, "t": now()}


def launch() -> None:
    DBOS(
        config={
            "name": "peer",
            "system_database_url": DB_URL,
            "executor_id": "bench",
            "application_version": "1",
            "log_level": "ERROR",
        }
    )
    DBOS.launch()


def init() -> None:
    launch()
    DBOS.register_queue("chains", worker_concurrency=CONCURRENCY, polling_interval_sec=0.05)
    DBOS.destroy()


def enqueue() -> None:
    client = DBOSClient(system_database_url=DB_URL, application_name="peer")
    for key in keys():
        client.enqueue({"workflow_name": "chain", "queue_name": "chains", "workflow_id": key, "app_version": "1"}, key)


def settled() -> int:
    engine = sqlalchemy.create_engine(DB_URL.replace("postgresql://", "postgresql+psycopg://"))
    table = "workflow_status" if IS_SQLITE else "dbos.workflow_status"
    with engine.connect() as connection:
        sql = f"select count(*) from {table} where name='chain' and status in ({SETTLED})"
        count = connection.execute(sqlalchemy.text(sql)).scalar_one()
    engine.dispose()
    return int(count)


def worker() -> None:
    launch()
    while settled() < COUNT:
        time.sleep(0.5)
    os._exit(0)


def report() -> None:
    client = DBOSClient(system_database_url=DB_URL, application_name="peer")
    found = {workflow.workflow_id: workflow for workflow in client.list_workflows(name="chain")}
    for key in keys():
        workflow = found.get(key)
        if workflow is None or workflow.status in ("ENQUEUED", "PENDING", "DELAYED"):
            row(key, "pending")
        elif workflow.status == "SUCCESS":
            done = workflow.output["t"] if IS_SQLITE else workflow.completed_at / 1000  # SQLite counts whole seconds
            row(key, "done", t_done=done, url=workflow.output["url"])
        else:
            row(key, "failed", error=repr(workflow.error))


serve(init=init, enqueue=enqueue, worker=worker, report=report)
