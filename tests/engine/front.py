"""A provider's front door: real HTTP before the sandbox, where single files and single questions can be turned away.

    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[1] = 410      # the second file of every task
        job = await rig.order(stills(asked=2, expected=2), prompt=PROMPT)

Whatever it doesn't turn away is the sandbox's own answer.
"""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import aiohttp
import yarl
from aiohttp import web

from tests.engine.rig import Rig, settings_for

_FILE = re.compile(r"/files/[0-9a-f]+-([0-9]+)\.")


@dataclass(slots=True, kw_only=True)
class Front:
    """What the door does.

    Attributes:
        refused: the statuses with which files are refused, by their place in the provider's list.
        unknown: ids of tasks of which it says that there is no such task.
        broken: ids of tasks about which it answers 503.
        held: ids of tasks about which it answers only once the event is set.
        fetched: how often each place was asked for.
        named: the files' addresses that were asked for, in order.
        polled: how often each task was asked about.
    """

    origin: str
    refused: dict[int, int | Iterator[int]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    fetched: Counter[int] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)
    polled: Counter[str] = field(default_factory=Counter)
    url: str = ""

    async def answer(self, request: web.Request, client: aiohttp.ClientSession) -> web.StreamResponse:
        """The sandbox's answer, unless the door has one of its own."""
        path = request.rel_url.raw_path
        if found := _FILE.match(path):
            place = int(found[1])
            self.fetched[place] += 1
            self.named.append(request.rel_url.raw_path_qs)
            if place in self.refused:
                status = self.refused[place]
                return web.Response(status=status if isinstance(status, int) else next(status))
        if request.method == "GET" and "/tasks/" in path:
            task = path.rsplit("/", 1)[1]
            self.polled[task] += 1
            if task in self.held:
                await self.held[task].wait()
            if task in self.unknown:
                return web.json_response({"error": {"code": "task_not_found", "message": "no"}}, status=404)
            if task in self.broken:
                return web.json_response({"error": {"code": "unavailable", "message": "no"}}, status=503)
        return await self._pass_on(request, client)

    async def _pass_on(self, request: web.Request, client: aiohttp.ClientSession) -> web.StreamResponse:
        kept = {name: value for name, value in request.headers.items() if name in ("Authorization", "Content-Type")}
        body, address = await request.read(), f"{self.origin}{request.rel_url.raw_path_qs}"
        asked = client.request(request.method, yarl.URL(address, encoded=True), data=body, headers=kept)
        async with asked as answer:
            headers = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers}
            return web.Response(status=answer.status, body=await answer.read(), headers=headers)


@contextlib.asynccontextmanager
async def fronted(rig: Rig) -> AsyncIterator[Front]:
    """A door through which the rig's engine reaches its sandbox from now on, files included."""
    front = Front(origin=rig.sandbox.base_url)
    async with aiohttp.ClientSession() as client:

        async def answer(request: web.Request) -> web.StreamResponse:
            return await front.answer(request, client)

        runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.5)  # type: ignore[arg-type]  # a handler may be async
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            front.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            rig.sandbox._provider.base_url = front.url
            await rig.restart(settings_for(rig.folder, rig.settings.database_url, front.url))
            yield front
        finally:
            for event in front.held.values():
                event.set()
            rig.sandbox._provider.base_url = front.origin
            await runner.cleanup()
