"""`GET /api/v1/tasks/{id}` and the list of models: free, and safe to repeat."""

import asyncio
import time
from urllib.parse import unquote

from aiohttp import web

from onetake.sandbox import answers
from onetake.sandbox.faults import Fault, Stage
from onetake.sandbox.orders import RefusedError
from onetake.sandbox.provider import PROVIDER, Provider, check_key
from onetake.sandbox.tasks import Phase, Task

TASKS_PATH = "/api/v1/tasks/"
_ERRORS = {
    "poll_5xx": (503, "unavailable", "try again later"),
    "poll_404": (404, "task_not_found", "there is no such task"),
    "poll_401": (401, "invalid_api_key", "the API key is missing or wrong"),
}
_SPOILED: dict[str | None, dict[str, object]] = {
    "poll_no_addresses": {"output": {}},
    "poll_unlisted_status": {"status": "finalizing", "output": None},
}


async def list_models(request: web.Request) -> web.StreamResponse:
    """The models that the key may use."""
    try:
        check_key(request)
    except RefusedError as refused:
        return answers.error(refused.status, refused.code, str(refused))
    options = request.app[PROVIDER].options
    models = (*options.image_models, *options.video_models)
    return web.json_response({"object": "list", "data": [{"id": model, "object": "model"} for model in models]})


async def list_tasks(request: web.Request) -> web.StreamResponse:
    """What was accepted, newest first: of one key, or of a time."""
    provider = request.app[PROVIDER]
    provider.polls += 1
    if not provider.options.shows_tasks:
        return answers.error(404, "not_found", "tasks aren't listed here")
    try:
        check_key(request)
        shown = [task for task in provider.bill.tasks.values() if _is_wanted(task, request)]
    except RefusedError as refused:
        return answers.error(refused.status, refused.code, str(refused))
    except ValueError:
        return answers.error(400, "invalid_request", "created_after and created_before are Unix seconds")
    lines = [_view(provider, task) | {"input": {"prompt": task.order.prompt}} for task in reversed(shown)]
    return web.json_response({"object": "list", "data": lines})


def _is_wanted(task: Task, request: web.Request) -> bool:
    """Whether the task is asked for.

    Raises:
        ValueError: a time is no number.
    """
    asked, at_s = request.query, task.accepted_at_s
    if "client_key" in asked:
        return bool(task.key) and task.key == asked["client_key"]
    return float(asked.get("created_after", 0)) <= at_s <= float(asked.get("created_before", "inf"))


async def poll(request: web.Request) -> web.StreamResponse:
    """One task as it stands now."""
    provider = request.app[PROVIDER]
    provider.polls += 1
    try:
        check_key(request)
        task = _find(provider, request.raw_path)
    except RefusedError as refused:
        return answers.error(refused.status, refused.code, str(refused))
    task.polls += 1
    leaving_out = () if task.phase is Phase.COMPLETED else ("poll_no_addresses",)
    fault = provider.plan.strike(Stage.POLL, task.occasion(task.polls), leaving_out=leaving_out)
    return await _answer(request, task, fault)


def _find(provider: Provider, target: str) -> Task:
    """The task whose id is the rest of the path, decoded once, and not normalised in any way.

    Raises:
        RefusedError: 404.
    """
    encoded = target.partition("?")[0].removeprefix(TASKS_PATH)
    task = None if "/" in encoded else provider.bill.tasks.get(unquote(encoded))
    if task is None:
        raise RefusedError(404, "task_not_found", "there is no such task")
    return task


async def _answer(request: web.Request, task: Task, fault: Fault | None) -> web.StreamResponse:
    provider = request.app[PROVIDER]
    name = fault.name if fault else None
    if name in _ERRORS:
        return answers.error(*_ERRORS[name])
    if name in {"poll_429", "poll_429_date"}:
        return answers.too_many(provider.options.retry_after_s, as_date=name == "poll_429_date")
    if name == "poll_drop":
        return await answers.cut(request)
    if name == "poll_unreadable":
        return answers.unreadable()
    if name == "poll_gateway_html":
        return answers.page(200)
    if name == "poll_slow":
        await asyncio.sleep(provider.options.slow_s)
    return web.json_response(_view(provider, task) | _SPOILED.get(name, {}))


def _view(provider: Provider, task: Task) -> dict[str, object]:
    view: dict[str, object] = {"id": task.id, "model": task.order.model, "status": _status(provider, task)}
    view |= {"created_at": int(task.accepted_at_s), "output": None, "error": None}
    if task.phase is Phase.FAILED:
        view["error"] = {"code": "generation_failed", "message": "the model could not finish"}
    if task.phase is Phase.COMPLETED:
        is_named = task.task_fault != "task_no_addresses"
        view["output"] = {f"{task.order.kind}_urls": _urls(provider, task)} if is_named else {}
    return view


def _status(provider: Provider, task: Task) -> str:
    if task.is_final or (task.phase is Phase.QUEUED and provider.options.says_queued):
        return task.phase.value
    return "processing"


def _urls(provider: Provider, task: Task) -> list[str]:
    """An address for each output, good from now on; every poll names new ones."""
    task.addresses += 1
    names = (task.file_name(output) for output in range(task.order.count))
    return [provider.base_url + provider.addresses.sign(name, task.addresses, time.time()) for name in names]
