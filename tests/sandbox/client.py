"""A careful client of the sandbox: real HTTP, and not one request more than it was told to send."""

import io
import json as notation
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from onetake.sandbox import Sandbox, SandboxOptions

Json = dict[str, Any]
IMAGE = {"model": "gemini-3.1-flash-image-preview", "prompt": "A fox in the snow", "size": "16:9", "resolution": "1k"}
VIDEO = {"model": "wan3.0-video", "prompt": "The fox turns", "size": "16:9", "resolution": "720p", "duration": 1}


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer; `said` is its JSON object, if it is one."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    said: Json | None


@dataclass(frozen=True, slots=True)
class Client:
    """One sandbox and a way to talk to it."""

    sandbox: Sandbox
    session: aiohttp.ClientSession

    async def send(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        data: io.BytesIO | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, never repeated, never redirected."""
        target = URL(self.sandbox.base_url + url if url.startswith("/") else url, encoded=True)
        async with self.session.request(
            method, target, json=json, data=data, headers=headers, allow_redirects=False
        ) as response:
            body = await response.read()
            return Answer(response.status, response.headers, body, _json(body))

    async def order_image(self, **fields: object) -> Answer:
        return await self.send("POST", "/api/v1/images/generations", json=IMAGE | fields)

    async def order_video(self, first_frame_url: str, **fields: object) -> Answer:
        frames = [{"url": first_frame_url, "role": "first_frame"}]
        return await self.send("POST", "/api/v1/videos/generations", json=VIDEO | {"image_with_roles": frames} | fields)

    async def poll(self, task_id: str) -> Answer:
        return await self.send("GET", "/api/v1/tasks/" + quote(task_id, safe=""))

    async def image(self, **fields: object) -> Json:
        """A finished picture's task."""
        return await self.finished(await self.order_image(**fields))

    async def video(self, **fields: object) -> Json:
        """A finished clip's task, its first frame drawn before."""
        still = await self.image()
        return await self.finished(await self.order_video(still["output"]["image_urls"][0], **fields))

    async def finished(self, ordered: Answer) -> Json:
        assert ordered.said is not None
        await self.sandbox.settled()
        task = (await self.poll(ordered.said["id"])).said
        assert task is not None
        return task

    def task(self, number: int = -1) -> Json:
        """A line of the bill."""
        line: Json = self.bill["tasks"][number]
        return line

    @property
    def bill(self) -> Json:
        return self.sandbox.bill()


def _json(body: bytes) -> Json | None:
    try:
        found = notation.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@asynccontextmanager
async def sandboxed(options: SandboxOptions | None = None) -> AsyncIterator[Client]:
    """A sandbox with its client; tiny unless told otherwise."""
    async with Sandbox(options or SandboxOptions(tiny=True)) as sandbox, aiohttp.ClientSession() as session:
        session._retry_connection = False  # aiohttp would repeat a GET whose connection was cut
        yield Client(sandbox, session)
