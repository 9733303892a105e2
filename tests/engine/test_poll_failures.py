"""Case C030: a failure that stands elsewhere than in the field that is watched, polled over real HTTP.

A server stands before the provider: what is ordered goes through, what is polled is answered here.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged, settings_for

PROMPT = "A kingfisher over a still pond"
ERROR = {"code": "generation_failed", "message": "the model could not finish"}
BLOCKED = {"code": "content_policy_violation", "message": "refused"}


@contextlib.asynccontextmanager
async def answering(rig: Rig, polled: dict[str, Any] | None) -> AsyncIterator[None]:
    """The engine behind a server that answers polls with this; with nothing at all if it is None."""
    async with aiohttp.ClientSession(rig.sandbox.base_url) as provider:

        async def pass_on(request: web.Request) -> web.StreamResponse:
            if "/tasks/" in request.path and polled is not None:
                return web.json_response(polled)
            if "/tasks/" in request.path and request.transport is not None:
                request.transport.abort()
            async with provider.request(request.method, request.path, data=await request.read()) as answer:
                return web.json_response(await answer.json(), status=answer.status)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", pass_on)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
            await rig.restart(settings_for(rig.folder, rig.settings.database_url, origin))
            yield
        finally:
            await rig.restart()
            await runner.cleanup()


@pytest.mark.parametrize(
    ("polled", "code"),
    [
        ({"status": "completed", "output": {"image_urls": []}, "error": ERROR}, "generation_failed"),
        ({"status": "stopped", "error": ERROR}, "generation_failed"),
        ({"status": "processing", "error": BLOCKED}, "content_policy_violation"),
        ({"error": ERROR}, "generation_failed"),
    ],
    ids=["a: beside a success", "a: beside an unlisted status", "a: moderation beside processing", "b: at the top"],
)
async def test_c030a_c030b_an_error_anywhere_is_failed_with_its_reason_and_one_release(
    tmp_path: Path, polled: dict[str, Any], code: str
) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        async with answering(rig, polled):
            tables = await rig.work()
        assert await rig.state(job) == "failed"
        (attempt,) = tables["attempts"]
        assert (attempt["error_code"], attempt["error_message"]) == (code, polled["error"]["message"])
        assert [row["reason"] for row in tables["hold_closings"]] == [f"provider: {code}"]
        assert rig.bill["totals"]["posts"] == 1


async def test_c030c_a_success_with_an_empty_list_is_not_complete_and_a_person_is_asked(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        async with answering(rig, {"status": "completed", "success": True, "output": {"image_urls": [""]}}):
            await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"], view["money"]["open"]) == ("draw_processing", "needs_review", 1)
        assert [case["kind"] for case in view["cases"]] == ["no_output"]


async def test_c030d_polls_that_nobody_answers_leave_it_processing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        async with answering(rig, None), rig.crashing():
            await rig.clock.sleep(600)
        assert (await rig.view(job))["state"] == "draw_processing"
        assert rig.bill["totals"]["posts"] == 1


async def test_a_file_fills_the_output_of_its_own_place(tmp_path: Path) -> None:
    """The first of two places is empty: what stands at the second one must not fill the first output."""
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        async with answering(rig, {"status": "completed", "output": {"image_urls": ["", "http://127.0.0.1:1/b.png"]}}):
            async with rig.crashing():
                await rig.until_told(job, "attempt.finished")
            tables = rig.look()
        assert [(row["ordinal"], row["address"]) for row in tables["artifacts"]] == [(1, "http://127.0.0.1:1/b.png")]
