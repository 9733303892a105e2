"""What the peers share: settings, request bodies, an HTTP client, a patient poll loop, and how a file is kept.

Peers differ only in how they keep state and when they repeat a submit. A stage counts as done once its file is
downloaded and stored durably under its SHA-256.
"""

import asyncio
import hashlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp

BASE_URL = os.environ["BASE_URL"]
FOLDER = Path(os.environ["BENCH_DIR"])
DB_URL = os.environ["DB_URL"]
COUNT = int(os.environ["N"])
CONCURRENCY = int(os.environ["CONCURRENCY"])
FIRST_POLL_S = float(os.environ["FIRST_POLL_S"])
POLL_S = float(os.environ["POLL_S"])
HTTP_TIMEOUT_S = float(os.environ["HTTP_TIMEOUT_S"])
STAGES = os.environ["STAGES"].split(",")
OUT = FOLDER / "out"
PATHS = {"image": "/api/v1/images/generations", "video": "/api/v1/videos/generations"}

now = time.time


def keys() -> list[str]:
    """The chains to run."""
    return [f"{os.environ['RUN']}-{number:05d}" for number in range(COUNT)]


def payload(stage: str, key: str, first_frame: str | None) -> dict[str, Any]:
    """The body of a submit."""
    if stage == "image":
        return {
            "model": "gemini-3.1-flash-image-preview",
            "prompt": f"a red bicycle chain={key}",
            "size": "16:9",
            "resolution": "1k",
            "n": 1,
        }
    return {
        "model": "wan3.0-video",
        "prompt": f"the wheel turns chain={key}",
        "image_with_roles": [{"url": first_frame, "role": "first_frame"}],
        "size": "16:9",
        "resolution": "720p",
        "duration": 5,
    }


class HttpError(Exception):
    """An answer with a status that says no."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class Rejected(HttpError):
    """A 4xx that says: not accepted, and no use asking again (not 408, 409, 429)."""


class NoId(Exception):
    """A submit was answered without an id."""


class NoUrls(Exception):
    """Completed, and no output named."""


class JobFailed(Exception):
    """The provider says that this job failed: final, nothing to repeat."""


FINAL = (JobFailed, Rejected)  # no peer repeats these


def http_error(status: int) -> HttpError:
    """The error for a status of 400 or more."""
    is_final = 400 <= status < 500 and status not in (408, 409, 429)
    return Rejected(status) if is_final else HttpError(status)


def url_of(task: Mapping[str, Any], stage: str) -> str | None:
    """The output's address; None while processing."""
    if task["status"] == "processing":
        return None
    if task["status"] == "failed":
        raise JobFailed(str(task.get("error")))
    urls = (task.get("output") or {}).get(f"{stage}_urls")
    if not urls:
        raise NoUrls(task["id"])
    return str(urls[0])


def keep(status: int, headers: Mapping[str, str], data: bytes) -> bool:
    """Store a download durably under its SHA-256; False: not a whole answer, ask again."""
    if status != 200 or int(headers.get("Content-Length", -1)) != len(data):
        return False
    path = OUT / hashlib.sha256(data).hexdigest()
    if not path.exists():
        OUT.mkdir(exist_ok=True)
        temp = path.with_suffix(f".{os.getpid()}")
        with temp.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temp.rename(path)
        folder = os.open(OUT, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    return True


class Api:
    """The provider, through one pool of connections."""

    session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def open(self) -> None:
        """Open the pool in the running loop, once."""
        if not hasattr(self, "session"):
            timeout = aiohttp.ClientTimeout(total=HTTP_TIMEOUT_S)
            self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout)

    async def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """The JSON answer."""
        async with self.session.request(method, BASE_URL + path, json=body) as response:
            if response.status >= 400:
                raise http_error(response.status)
            return await response.json()

    async def submit(self, stage: str, key: str, first_frame: str | None) -> str:
        """The id of the new job."""
        task = await self.call("POST", PATHS[stage], payload(stage, key, first_frame))
        if not task.get("id"):
            raise NoId(key)
        return str(task["id"])

    async def peek(self, task_id: str, stage: str) -> str | None:
        """One poll; None means 'ask again later', also after a temporary read error."""
        try:
            return url_of(await self.call("GET", f"/api/v1/tasks/{task_id}"), stage)
        except HttpError as error:
            if error.status in (408, 429) or error.status >= 500:
                return None
            raise
        except (aiohttp.ClientError, TimeoutError):
            return None

    async def fetch(self, url: str) -> bool:
        """Whether the file behind the address is kept now."""
        try:
            async with self.session.get(url) as response:
                got = response.status, response.headers, await response.read()
        except (aiohttp.ClientError, TimeoutError):
            return False
        return keep(*got)  # in the loop: cheaper than a thread where a sync takes 0.1 ms

    async def wait(self, task_id: str, stage: str) -> str:
        """The address, once its file is stored; after a failed download poll again, it may have expired."""
        await asyncio.sleep(FIRST_POLL_S)
        while True:
            url = await self.peek(task_id, stage)
            if url and await self.fetch(url):
                return url
            await asyncio.sleep(POLL_S)


def row(key: str, state: str, **facts: object) -> None:
    """Print one line of a report: what the peer believes about one chain."""
    print(json.dumps({"key": key, "state": state, **facts}))


def serve(**words: Callable[[], object]) -> None:
    """Do what the harness asks for in the first argument."""
    done = words[sys.argv[1]]()
    if inspect.iscoroutine(done):
        asyncio.run(done)
