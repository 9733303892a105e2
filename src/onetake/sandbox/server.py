"""The sandbox as a server: its routes, its start and its end."""

import asyncio
import signal
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Self

import aiohttp
from aiohttp import web

from onetake.sandbox import answers, control, files, polls, submits
from onetake.sandbox.addresses import Addresses
from onetake.sandbox.bill import Bill, Json
from onetake.sandbox.faults import FaultPlan, Script
from onetake.sandbox.options import SandboxOptions
from onetake.sandbox.provider import PROVIDER, Provider
from onetake.sandbox.studio import Studio

_BODY_BYTES_MAX = 4 * 2**20  # a prompt of a megabyte with every letter escaped
_BACKLOG = 1024  # clients that connect in one burst are not turned away
_GRACE_S = 0.5  # answers that are held back on purpose are not waited for at the end
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Sandbox:
    """A provider on this machine: listens inside `async with`, at `base_url`."""

    def __init__(self, options: SandboxOptions | None = None) -> None:
        """A sandbox that isn't listening yet."""
        self.options = options or SandboxOptions()

    @property
    def base_url(self) -> str:
        """The origin, such as `http://127.0.0.1:8080`."""
        return self._provider.base_url

    def bill(self) -> Json:
        """The bill, as `GET /_bill` shows it."""
        return self._provider.bill.as_json()

    def script(self, fault: str, *, route: str = "any", times: int = 1, prompt_contains: str = "") -> None:
        """Let a fault strike the next occasions that match, as `POST /_faults` does.

        Raises:
            ValueError: no such fault or route.
        """
        fields = {"fault": fault, "route": route, "times": times, "prompt_contains": prompt_contains}
        self._provider.plan.scripts.append(Script.parse(fields))

    @property
    def scripts(self) -> tuple[Script, ...]:
        """The scripts that still wait for their occasion."""
        return tuple(self._provider.plan.scripts)

    def hold(self) -> None:
        """Keep each task that is ordered from now on in the queue, until `let_go`."""
        self._provider.studio.hold()

    def let_go(self) -> None:
        """Let go on what is held now; what is ordered later is held again."""
        self._provider.studio.let_go()

    async def settled(self) -> None:
        """Come back when no task is on its way any more."""
        await self._provider.studio.settled()

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            OSError: the port is taken, or the folder can't be written.
        """
        async with AsyncExitStack() as stack:
            self._provider = await self._open(stack)
            runner = web.AppRunner(_app(self._provider), access_log=None, shutdown_timeout=_GRACE_S)
            stack.push_async_callback(runner.cleanup)
            await runner.setup()
            await web.TCPSite(runner, self.options.host, self.options.port, backlog=_BACKLOG).start()
            self._provider.base_url = f"http://{self.options.host}:{runner.addresses[0][1]}"
            self._provider.studio.go_on()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop listening; tasks that aren't finished go on at the next start, if there is a folder."""
        await self._stack.aclose()

    async def _open(self, stack: AsyncExitStack) -> Provider:
        options = self.options
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onetake-sandbox-")))
        files_folder = folder / "files"
        files_folder.mkdir(parents=True, exist_ok=True)
        bill = stack.enter_context(closing(Bill(folder / "journal.jsonl")))
        client = await stack.enter_async_context(aiohttp.ClientSession())
        studio = Studio(bill, files_folder, tiny=options.tiny, still=options.still)
        stack.push_async_callback(studio.close)
        return Provider(
            options=options,
            bill=bill,
            plan=FaultPlan(seed=options.seed, rates=options.rates),
            studio=studio,
            addresses=Addresses.of(options.seed, options.address_ttl_s),
            client=client,
        )


async def serve(options: SandboxOptions, announce: Callable[[str], None]) -> None:
    """Run a sandbox until this process is asked to end (SIGINT or SIGTERM).

    Args:
        options: the settings.
        announce: gets one line, `ready http://HOST:PORT`, once it listens.

    Raises:
        OSError: the port is taken, or the folder can't be written.
    """
    asked_to_end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_end.set)
    async with Sandbox(options) as sandbox:
        announce(f"ready {sandbox.base_url}")
        await asked_to_end.wait()


def _app(provider: Provider) -> web.Application:
    app = web.Application(client_max_size=_BODY_BYTES_MAX, middlewares=[_json_errors])
    app[PROVIDER] = provider
    app.add_routes(
        [
            web.post("/api/v1/images/generations", submits.submit_image),
            web.post("/api/v1/videos/generations", submits.submit_video),
            web.get("/api/v1/tasks", polls.list_tasks),
            web.get(polls.TASKS_PATH + "{id:.+}", polls.poll),
            web.get("/v1/models", polls.list_models),
            web.get("/api/v1/models", polls.list_models),
            web.get("/files/{name}", files.download, allow_head=False),
            web.get("/_bill", control.show_bill),
            web.get("/_usage", control.export_usage),
            web.get("/_stats", control.show_stats),
            web.get("/_faults", control.list_faults),
            web.post("/_faults", control.add_script),
            web.delete("/_faults", control.clear_scripts),
        ]
    )
    return app


@web.middleware
async def _json_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Say what aiohttp refuses by itself (404, 405, 413) in the provider's JSON."""
    try:
        return await handler(request)
    except web.HTTPException as refused:
        return answers.error(refused.status, refused.reason.lower().replace(" ", "_"), "no such route, method or size")
