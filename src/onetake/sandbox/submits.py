"""`POST /api/v1/images/generations` and `/videos/generations`: the only routes that cost money.

As at reAPI, every accepted POST makes and bills a new task; an `Idempotency-Key` is taken and ignored, unless the
options have it honoured.
"""

import asyncio
import hashlib
import json
import time

from aiohttp import web

from onetake.sandbox import answers
from onetake.sandbox.bill import Oddity, Refusal
from onetake.sandbox.chance import draw
from onetake.sandbox.faults import Fault, Occasion, Stage
from onetake.sandbox.first_frames import FirstFrameError, fetch_first_frame
from onetake.sandbox.orders import Order, RefusedError, read_order
from onetake.sandbox.provider import PROVIDER, Provider, check_key
from onetake.sandbox.tasks import Task, new_id, odd_id

_ERRORS = {
    "accept_then_5xx": (502, "bad_gateway", "the upstream did not answer"),
    "refuse_5xx": (503, "unavailable", "try again later"),
    "refuse_4xx": (400, "invalid_request", "the request was refused"),
    "refuse_moderation": (422, "content_policy_violation", "the prompt violates the content policy"),
    "refuse_401": (401, "invalid_api_key", "the API key is missing or wrong"),
    "refuse_402": (402, "insufficient_credits", "the account has no credits left"),
    "refuse_403": (403, "model_not_allowed", "this key may not use this model"),
    "refuse_account_locked": (403, "account_locked", "this account is locked"),
}

_VERDICTS = ("refuse_4xx", "refuse_moderation", "refuse_402", "refuse_403", "refuse_account_locked")
"""Refusals of an order, which a known key is answered before."""


async def submit_image(request: web.Request) -> web.StreamResponse:
    """Order pictures."""
    return await _submit(request, "image")


async def submit_video(request: web.Request) -> web.StreamResponse:
    """Order a clip that starts on a finished picture."""
    return await _submit(request, "video")


async def _submit(request: web.Request, kind: str) -> web.StreamResponse:
    provider = request.app[PROVIDER]
    body = await request.read()
    try:
        check_key(request)
        known = _find_known(request, body)
        order = known.order if known else read_order(kind, body, provider.options)
        first_frame = await _first_frame(provider, order) if kind == "video" and not known else b""
    except RefusedError as refused:
        _refuse(provider, kind, refused.prompt, code=refused.code)
        return answers.error(refused.status, refused.code, str(refused))
    occasion = Occasion(prompt=order.prompt, kind=kind, attempt=provider.bill.next_attempt(order.prompt, kind))
    fault = provider.plan.strike(Stage.SUBMIT, occasion, leaving_out=_VERDICTS if known else ())
    if known:
        return await _answer_again(request, known, fault)
    if fault and not fault.is_accepted:
        _refuse(provider, kind, order.prompt, attempt=occasion.attempt, code=fault.name, fault=fault.name)
        return await _answer_refused(request, fault)
    task = _accept(provider, order, occasion, fault, first_frame)
    task.key, task.body_sha256 = request.headers.get("Idempotency-Key", ""), hashlib.sha256(body).hexdigest()
    provider.bill.record(task)
    provider.studio.begin(task, first_frame)
    return await _answer_accepted(request, task, fault)


def _find_known(request: web.Request, body: bytes) -> Task | None:
    """The task that was ordered under the request's key before, where keys are honoured.

    Raises:
        RefusedError: keys can't be used again, or not for another order.
    """
    provider = request.app[PROVIDER]
    if provider.options.used_keys == "ignored":
        return None
    known = provider.bill.find_by_key(request.headers.get("Idempotency-Key", ""))
    if known is None:
        return None
    known.replays += 1
    provider.bill.record(known)
    if provider.options.used_keys == "refused":
        raise RefusedError(409, "idempotency_key_reuse", "this key was used before", known.order.prompt)
    if known.body_sha256 != hashlib.sha256(body).hexdigest():
        raise RefusedError(422, "idempotency_mismatch", "this key was used for another order", known.order.prompt)
    return known


async def _answer_again(request: web.Request, task: Task, fault: Fault | None) -> web.StreamResponse:
    """The first answer again, unless it is lost again; nothing is billed."""
    if fault and not fault.is_accepted:
        return await _answer_refused(request, fault)
    return await _answer_accepted(request, task, fault)


async def _first_frame(provider: Provider, order: Order) -> bytes:
    try:
        return await fetch_first_frame(provider, order.first_frame_url)
    except FirstFrameError as error:
        what = f"video ordered without a finished first frame: {error}"
        provider.bill.record(Oddity(at_s=time.time(), route=order.kind, prompt=order.prompt, what=what))
        raise RefusedError(400, "bad_first_frame", f"the first frame can't be used: {error}", order.prompt) from error


def _refuse(
    provider: Provider, kind: str, prompt: str, *, code: str, attempt: int = 0, fault: str | None = None
) -> None:
    now_s = time.time()
    provider.bill.record(Refusal(at_s=now_s, route=kind, prompt=prompt, attempt=attempt, code=code, fault=fault))


def _accept(provider: Provider, order: Order, occasion: Occasion, fault: Fault | None, first_frame: bytes) -> Task:
    """Bill it. From here on nothing can make it unbilled."""
    options, where, now_s = provider.options, (occasion.prompt, occasion.kind, occasion.attempt), time.time()
    is_odd = provider.plan.strike(Stage.ID, occasion) is not None
    task_fault = provider.plan.strike(Stage.TASK, occasion)
    starts_at_s = now_s + options.queue_s.at(draw(options.seed, "queue", *where))
    task = Task(
        id=odd_id(options.seed, "id", *where) if is_odd else new_id(),
        order=order,
        attempt=occasion.attempt,
        accepted_at_s=now_s,
        starts_at_s=starts_at_s,
        ends_at_s=starts_at_s + options.render_s.at(draw(options.seed, "render", *where)),
        price_micros=order.price_micros(options),
        submit_fault=fault.name if fault else None,
        task_fault=task_fault.name if task_fault else None,
        first_frame_sha256=hashlib.sha256(first_frame).hexdigest() if first_frame else "",
    )
    provider.bill.record(task)
    return task


async def _answer_refused(request: web.Request, fault: Fault) -> web.StreamResponse:
    if fault.name in _ERRORS:
        return answers.error(*_ERRORS[fault.name])
    if fault.name == "refuse_drop":
        return await answers.cut(request)
    if fault.name == "refuse_429_html":
        return answers.page(429)
    return answers.too_many(request.app[PROVIDER].options.retry_after_s, as_date=fault.name == "refuse_429_date")


async def _answer_accepted(request: web.Request, task: Task, struck: Fault | None) -> web.StreamResponse:
    options, fault = request.app[PROVIDER].options, struck.name if struck else ""
    receipt = {"id": task.id, "model": task.order.model, "status": "processing", "created_at": int(task.accepted_at_s)}
    if fault in _ERRORS:
        return answers.error(*_ERRORS[fault])
    if fault == "accept_then_drop":
        return await answers.cut(request)
    if fault == "accept_then_silence":
        return await answers.silence(request, options.silence_s_max)
    if fault == "accept_then_redirect":
        return web.Response(status=307, headers={"Location": request.path})
    if fault == "accept_no_id":
        return web.json_response({name: value for name, value in receipt.items() if name != "id"})
    if fault == "accept_unreadable":
        return answers.unreadable()
    if fault == "accept_truncated":
        return await answers.half(request, json.dumps(receipt).encode(), "application/json")
    if fault == "accept_gateway_html":
        return answers.page(502 if draw(options.seed, "gateway", task.order.prompt) < 0.5 else 504)
    if fault == "accept_slow":
        await asyncio.sleep(options.slow_s)
    return await _tell(request, task, receipt)


async def _tell(request: web.Request, task: Task, receipt: dict[str, object]) -> web.StreamResponse:
    try:
        response = await answers.send(request, web.json_response(receipt))
    except ConnectionError:  # the client left first; the bill says that it was never told
        return await answers.cut(request)
    task.is_told = True
    request.app[PROVIDER].bill.record(task)
    return response
