"""A fake paid provider with a truthful bill and seeded faults, on loopback.

    POST /api/v1/images/generations   -> {"id": "...", "status": "processing"}
    POST /api/v1/videos/generations   -> {"id": "...", "status": "processing"}
    GET  /api/v1/tasks/{id}           -> {"id", "status": processing | completed | failed, "output", "error"}
    GET  /api/v1/tasks?client_key=K   -> {"data": [task, ...]}: those ordered under this key; only with --lookup
    GET  /v1/models                   -> {"data": [{"id": "..."}]}
    GET  /assets/{id}.png|.mp4        -> a real, tiny file with the task's id inside; 404 before completion

What only the harness may look at:

    GET  /_truth   every accepted (that is, billed) job, and every refused or odd request
    GET  /_stats   counters only

The prompt holds `chain=KEY`: that is how the bill attributes jobs to chains.

An order's key is its `Idempotency-Key` header, or `metadata.client_key` in its body. With --honour-idempotency a header
that an accepted order came under buys nothing again: it is looked at first, and answered with that order's id.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import math
import re
import struct
import time
import zlib
from pathlib import Path
from typing import Any

from aiohttp import web

from benchmarks.harness import faults
from benchmarks.harness.faults import draw, pick

PRICES = {"image": 0.04, "video": 0.50}
MODELS = {"image": "gemini-3.1-flash-image-preview", "video": "wan3.0-video"}
ENDINGS = {"image": "png", "video": "mp4"}
MEDIA_TYPES = {"image": "image/png", "video": "video/mp4"}
KEY_HEADER = "Idempotency-Key"
PAGE = b"<!doctype html><title>Sign in</title><p>Please sign in to continue.</p>"
_CHAIN = re.compile(r"chain=(\S+)")

Job = dict[str, Any]


def marked(stage: str, data: bytes, job_id: str) -> bytes:
    """The picture or clip with the task's id in it (a PNG text chunk, an MP4 free box), so that no two are equal."""
    name = job_id.encode()
    if stage == "video":
        return data + struct.pack(">I4s", 8 + len(name), b"free") + name
    body = b"tEXtComment\0" + name
    return data[:-12] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + data[-12:]


def refusal(status: int, code: str, **headers: str) -> web.Response:
    """An error in the provider's own shape."""
    return web.json_response({"error": {"code": code, "message": code}}, status=status, headers=headers)


class Provider:
    """The shop and its books."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Open with empty books; `options` are the arguments of the command line."""
        self._options = options
        self._rates: dict[str, float] = {
            name: float(rate) for name, _, rate in (f.partition("=") for f in options.fault)
        }
        if unknown := set(self._rates) - faults.NAMES:
            raise SystemExit(f"unknown fault(s): {sorted(unknown)}")
        folder = Path(options.asset_dir)
        self._files = {
            stage: [f.read_bytes() for f in sorted(folder.glob(f"*.{end}"))] for stage, end in ENDINGS.items()
        }
        if not all(self._files.values()):
            raise SystemExit(f"{folder}: needs at least one .png and one .mp4")
        low, _, high = options.latency.partition(":")
        self._latency_s = (float(low), float(high or low))
        self._jobs: dict[str, Job] = {}
        self._honoured: dict[str, Job] = {}
        self._refused: list[dict[str, Any]] = []
        self._odd: list[dict[str, Any]] = []
        self._attempts: dict[tuple[str, str], int] = {}
        self._counts = {"submits": 0, "accepted": 0, "replays": 0, "polls": 0, "assets": 0, "told_done": 0}
        self._gate_at: float | None = None
        self.origin = ""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to any request."""
        path = request.path
        if path.startswith("/api/v1/tasks/"):
            return await self._task(request)
        if path == "/api/v1/tasks" and self._options.lookup:
            return self._look_up(request)
        if path == "/api/v1/images/generations":
            return await self._submit(request, "image")
        if path == "/api/v1/videos/generations":
            return await self._submit(request, "video")
        if path.startswith("/assets/"):
            return await self._asset(request)
        if path == "/v1/models":
            return web.json_response({"data": [{"id": model, "object": "model"} for model in MODELS.values()]})
        if path == "/_truth":
            books = {
                "jobs": list(self._jobs.values()),
                "refused": self._refused,
                "odd": self._odd,
                "counts": self._counts,
            }
            return web.json_response(books)
        if path == "/_stats":
            return web.json_response({**self._counts, "gate_at": self._gate_at})
        return refusal(404, "no_such_route")

    async def _submit(self, request: web.BaseRequest, stage: str) -> web.StreamResponse:
        self._counts["submits"] += 1
        sent = await request.read()
        if known := self._honoured.get(request.headers.get(KEY_HEADER, "")):
            return self._answer_again(known, sent)
        try:
            body = json.loads(sent)
            prompt = str(body["prompt"])
        except (ValueError, KeyError, TypeError):
            return refusal(400, "bad_json")
        found = _CHAIN.search(prompt)
        key, now = found[1] if found else "?", time.time()
        attempt = self._attempts[key, stage] = self._attempts.get((key, stage), 0) + 1
        if stage == "video" and not self._is_finished(body):
            self._odd.append({"t": now, "key": key, "what": "video ordered without a finished first frame"})
            return refusal(400, "bad_first_frame")
        fault = self._submit_fault(key, stage, attempt)
        if fault and fault.startswith("refuse"):
            self._refused.append({"t": now, "key": key, "stage": stage, "attempt": attempt, "fault": fault})
            return self._refuse(request, fault)
        job = self._accept(key, stage, attempt, fault, now)
        self._remember(job, request, sent)
        return await self._confirm(request, job)

    def _answer_again(self, job: Job, sent: bytes) -> web.Response:
        """The answer to an order under the key of an accepted one: nothing is billed."""
        self._counts["replays"] += 1
        if digest(sent) != job["body_sha256"]:
            return refusal(422, "idempotency_mismatch")
        return web.json_response({"id": job["id"], "status": "processing"})

    def _remember(self, job: Job, request: web.BaseRequest, sent: bytes) -> None:
        """Note what an accepted order can be known by."""
        header, metadata = request.headers.get(KEY_HEADER), json.loads(sent).get("metadata")
        field = metadata.get("client_key") if isinstance(metadata, dict) else None
        job["client_keys"], job["body_sha256"] = [key for key in (header, field) if key], digest(sent)
        if self._options.honour_idempotency and header:
            self._honoured[header] = job

    def _is_finished(self, body: dict[str, Any]) -> bool:
        """Whether the first frame is an output of ours that exists: the law of the image-to-video chain."""
        roles = body.get("image_with_roles") or [{}]
        source = self._jobs.get(str(roles[0].get("url") or "").rsplit("/", 1)[-1].split(".")[0])
        return source is not None and time.time() >= source["completes_at"] and not source["fails"]

    def _submit_fault(self, key: str, stage: str, attempt: int) -> str | None:
        seed = self._options.seed
        if pick(self._rates, ("refuse_400",), seed, "sticky", key, stage):
            return "refuse_400"
        names = [name for name in faults.SUBMIT if name != "refuse_400"]
        return pick(self._rates, names, seed, "submit", key, stage, attempt)

    def _refuse(self, request: web.BaseRequest, fault: str) -> web.StreamResponse:
        match fault:
            case "refuse_400":
                return refusal(400, "invalid_prompt")
            case "refuse_429":
                return refusal(429, "rate_limited", **{"Retry-After": "1"})
            case "refuse_5xx":
                return refusal(503, "unavailable")
            case _:
                return cut(request)

    def _accept(self, key: str, stage: str, attempt: int, fault: str | None, now: float) -> Job:
        seed, number = self._options.seed, len(self._jobs)
        job_id = f"{stage[:3]}_{number:06d}{int(draw(seed, 'id', number) * 16**6):06x}"
        low, high = self._latency_s
        job: Job = {
            "id": job_id,
            "t": now,
            "key": key,
            "stage": stage,
            "attempt": attempt,
            "price": PRICES[stage],
            "fault": fault,
            "latency": low + (high - low) * draw(seed, "latency", key, stage, attempt),
            "completes_at": math.inf,
            "fails": bool(pick(self._rates, ("job_fails",), seed, "fails", key, stage, attempt)),
            "no_urls": bool(pick(self._rates, ("job_no_urls",), seed, "no_urls", key, stage, attempt)),
            "told_done_at": None,
            "polls": 0,
            "number": number,
            "fetches": 0,
            "expired": 0,
            "sha256": None,
        }
        self._jobs[job_id] = job
        self._counts["accepted"] += 1
        self._open_gate(job, now)
        return job

    def _open_gate(self, job: Job, now: float) -> None:
        """Start the job's clock; with --gate N all wait until the N-th was accepted."""
        if self._gate_at is not None:
            job["completes_at"] = now + job["latency"]
        elif len(self._jobs) >= self._options.gate:
            self._gate_at = now
            for each in self._jobs.values():
                each["completes_at"] = now + each["latency"]

    async def _confirm(self, request: web.BaseRequest, job: Job) -> web.StreamResponse:
        match job["fault"]:
            case "accept_drop":
                return cut(request)
            case "accept_5xx":
                return refusal(502, "bad_gateway")
            case "accept_no_id":
                return web.json_response({"status": "processing"})
            case "accept_slow":
                await asyncio.sleep(self._options.slow_s)
            case _:
                pass
        return web.json_response({"id": job["id"], "status": "processing"})

    def _look_up(self, request: web.BaseRequest) -> web.Response:
        if not (wanted := request.query.get("client_key")):
            return refusal(400, "no_client_key")
        found = [self._view(job) for job in self._jobs.values() if wanted in job["client_keys"]]
        return web.json_response({"data": found})

    async def _task(self, request: web.BaseRequest) -> web.StreamResponse:
        self._counts["polls"] += 1
        job = self._jobs.get(request.path.rsplit("/", 1)[-1])
        if job is None:
            return refusal(404, "not_found")
        job["polls"] += 1
        salt = (self._options.seed, "poll", job["key"], job["stage"], job["attempt"], job["polls"])
        fault = pick(self._rates, faults.POLL, *salt) if self._rates else None
        match fault:
            case "poll_5xx":
                return refusal(503, "unavailable")
            case "poll_429":
                return refusal(429, "rate_limited", **{"Retry-After": "1"})
            case "poll_drop":
                return cut(request)
            case "poll_slow":
                await asyncio.sleep(self._options.slow_s)
            case _:
                pass
        view = self._view(job)
        if fault == "poll_no_urls" and view["status"] == "completed":
            view["output"] = {}
        elif view["status"] != "processing" and job["told_done_at"] is None:
            job["told_done_at"] = time.time()
            self._counts["told_done"] += 1
        return web.json_response(view)

    def _view(self, job: Job) -> dict[str, Any]:
        if time.time() < job["completes_at"]:
            return {"id": job["id"], "status": "processing"}
        if job["fails"]:
            error = {"code": "generation_failed", "message": "model error"}
            return {"id": job["id"], "status": "failed", "error": error}
        stage, fresh = job["stage"], f"?fresh={job['expired']}" if job["expired"] else ""
        urls = [] if job["no_urls"] else [f"{self.origin}/assets/{job['id']}.{ENDINGS[stage]}{fresh}"]
        return {"id": job["id"], "status": "completed", "output": {f"{stage}_urls": urls}}

    async def _asset(self, request: web.BaseRequest) -> web.StreamResponse:
        self._counts["assets"] += 1
        job = self._jobs.get(request.path.rsplit("/", 1)[-1].split(".")[0])
        if job is None or time.time() < job["completes_at"] or job["fails"]:
            return web.Response(status=404)
        job["fetches"] += 1
        salt = (self._options.seed, "asset", job["key"], job["stage"], job["attempt"], job["fetches"])
        fault = pick(self._rates, faults.ASSET, *salt) if self._rates else None
        if fault == "asset_expired":
            job["expired"] += 1
        if int(request.query.get("fresh", 0)) < job["expired"]:
            return web.Response(status=403, text="Request has expired", content_type="text/plain")
        if fault == "asset_5xx":
            return web.Response(status=503)
        if fault == "asset_html":
            return web.Response(body=PAGE, content_type="text/html")
        return await self._file(request, job, is_cut=fault == "asset_truncated")

    async def _file(self, request: web.BaseRequest, job: Job, *, is_cut: bool) -> web.StreamResponse:
        files = self._files[job["stage"]]
        data = marked(job["stage"], files[job["number"] % len(files)], job["id"])
        job["sha256"] = job["sha256"] or digest(data)
        headers = {"ETag": f'"{job["sha256"][:32]}"', "Content-Type": MEDIA_TYPES[job["stage"]]}
        if not is_cut:
            return web.Response(body=data, headers=headers)
        response = web.StreamResponse(headers={**headers, "Content-Length": str(len(data))})
        await response.prepare(request)
        await response.write(data[: len(data) // 2])
        cut(request)
        return response


def digest(data: bytes) -> str:
    """SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()


def cut(request: web.BaseRequest) -> web.Response:
    """Close the connection; the response never reaches the client."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def options() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description="A fake paid provider with a truthful bill and seeded faults.")
    parser.add_argument("--port", type=int, default=0, help="where to listen on 127.0.0.1; 0 takes a free port")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--latency", default="0", help="seconds from acceptance to completion: X or LOW:HIGH")
    parser.add_argument("--gate", type=int, default=0, help="hold every job in 'processing' until so many are accepted")
    parser.add_argument("--slow-s", type=float, default=5.0, help="how long the 'slow' faults hold an answer")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=RATE")
    parser.add_argument("--honour-idempotency", action="store_true", help="one key, one job: billed once")
    parser.add_argument("--lookup", action="store_true", help="show the jobs of a key: GET /api/v1/tasks?client_key=K")
    parser.add_argument("--asset-dir", default=Path(__file__).with_name("assets"), help="the .png and .mp4 to serve")
    return parser.parse_args()


async def main() -> None:
    """Serve until killed; `ready ORIGIN` goes to standard output first."""
    chosen = options()
    provider = Provider(chosen)
    runner = web.ServerRunner(web.Server(provider.handle, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", chosen.port, backlog=4096)
    await site.start()
    provider.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    print(json.dumps({"ready": provider.origin}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        try:
            import uvloop
        except ImportError:
            asyncio.run(main())
        else:
            uvloop.run(main())
