"""`GET /files/{name}`: the finished pictures and clips, under signed addresses that expire."""

import asyncio
import hashlib
import io
import time

from aiohttp import web
from PIL import Image

from onetake.sandbox import answers
from onetake.sandbox.addresses import AddressError
from onetake.sandbox.chance import draw
from onetake.sandbox.clips import clip
from onetake.sandbox.faults import Fault, Stage
from onetake.sandbox.pictures import picture
from onetake.sandbox.provider import PROVIDER, Provider
from onetake.sandbox.tasks import Task

_TYPES = {"image": "image/png", "video": "video/mp4"}
_LIE_SIZE_PX = (48, 48)  # no order makes this size


async def download(request: web.Request) -> web.StreamResponse:
    """One output, whole; ranges are not offered."""
    provider = request.app[PROVIDER]
    name = request.match_info["name"]
    try:
        number = provider.addresses.check(name, request.query, time.time())
    except AddressError as error:
        return _denied(str(error))
    task = provider.bill.find_owner(name)
    if task is None or number <= task.addresses_dead:
        return _denied("the address has expired")
    task.downloads += 1
    provider.downloads += 1
    fault = provider.plan.strike(Stage.DOWNLOAD, task.occasion(task.downloads))
    if fault and fault.name == "file_expired":
        task.addresses_dead = number
        provider.bill.record(task)
        return _denied("the address has expired")
    return await _answer(request, task, provider.studio.path(name).read_bytes(), fault)


def _denied(why: str) -> web.Response:
    return web.Response(status=403, text=f"Access denied: {why}\n")


async def _answer(request: web.Request, task: Task, data: bytes, fault: Fault | None) -> web.StreamResponse:
    provider = request.app[PROVIDER]
    name = fault.name if fault else None
    if name == "file_truncated":
        return await answers.half(request, data, _TYPES[task.order.kind])
    if name == "file_html":
        return answers.page(200)
    if name == "file_5xx":
        return answers.error(503, "unavailable", "try again later")
    if name == "file_drop":
        return await answers.cut(request)
    if name == "file_slow":
        await asyncio.sleep(provider.options.slow_s)
    if name == "file_lying":
        data = await asyncio.to_thread(_lie, provider, task)
    return _file(task, data)


def _file(task: Task, data: bytes) -> web.Response:
    tag = hashlib.sha256(data).hexdigest()
    return web.Response(body=data, content_type=_TYPES[task.order.kind], headers={"ETag": f'"{tag}"'})


def _lie(provider: Provider, task: Task) -> bytes:
    """Something whole in the file's stead: the right kind in another size, or another kind under the same label."""
    order = task.order
    is_other_size = draw(provider.options.seed, "lie", order.prompt, order.kind, task.attempt) < 0.5
    if not is_other_size:
        return _jpeg(picture(order.prompt, *_LIE_SIZE_PX, task.id))
    if order.kind == "image":
        return picture(order.prompt, *_LIE_SIZE_PX, task.id)
    still = picture(order.prompt, *_LIE_SIZE_PX, task.id)
    return clip(still, *_LIE_SIZE_PX, 1, fps=6, motion=order.prompt, take=task.id)


def _jpeg(png: bytes) -> bytes:
    stored = io.BytesIO()
    Image.open(io.BytesIO(png)).save(stored, "JPEG")
    return stored.getvalue()
