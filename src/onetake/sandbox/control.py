"""Routes beside the wire format, for people and tests: the bill, the counters, the faults. No fault strikes here."""

import csv
import io
import json
from dataclasses import asdict

from aiohttp import web

from onetake.sandbox import answers
from onetake.sandbox.faults import FAULTS, Script
from onetake.sandbox.provider import PROVIDER


async def show_bill(request: web.Request) -> web.Response:
    """`GET /_bill`: the truth."""
    return web.json_response(request.app[PROVIDER].bill.as_json())


async def export_usage(request: web.Request) -> web.Response:
    """`GET /_usage`: what was charged and not refunded, in CSV, as a provider's dashboard would export it."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", "task_id", "model", "amount", "currency", "created_at"])
    for task in request.app[PROVIDER].bill.as_json()["tasks"]:
        if micros := task["price_micros"] - task["refunded_micros"]:
            amount = f"{micros // 1_000_000}.{micros % 1_000_000:06d}"
            writer.writerow(
                [f"chg_{task['id']}", task["id"], task["model"], amount, task["currency"], task["accepted_at"]]
            )
    return web.Response(text=text.getvalue(), content_type="text/csv")


async def show_stats(request: web.Request) -> web.Response:
    """`GET /_stats`: counters, cheap to ask for."""
    provider = request.app[PROVIDER]
    accepted, refused = len(provider.bill.tasks), len(provider.bill.refused)
    counts = {"posts": accepted + refused, "accepted": accepted, "refused": refused}
    return web.json_response(counts | {"polls": provider.polls, "downloads": provider.downloads})


async def list_faults(request: web.Request) -> web.Response:
    """`GET /_faults`: every fault with what it does, the seeded rates, and the scripts that still wait."""
    plan = request.app[PROVIDER].plan
    return web.json_response(
        {
            "faults": {fault.name: {"stage": fault.stage, "doc": fault.doc} for fault in FAULTS.values()},
            "rates": dict(plan.rates),
            "scripts": [asdict(script) for script in plan.scripts],
        }
    )


async def add_script(request: web.Request) -> web.Response:
    """`POST /_faults`: let a fault strike the next occasions that match; see `faults.Script`."""
    try:
        script = Script.parse(json.loads(await request.read()))
    except ValueError as error:
        return answers.error(400, "bad_script", str(error))
    request.app[PROVIDER].plan.scripts.append(script)
    return web.json_response(asdict(script), status=201)


async def clear_scripts(request: web.Request) -> web.Response:
    """`DELETE /_faults`: forget the scripts; the seeded rates stay."""
    request.app[PROVIDER].plan.scripts.clear()
    return web.Response(status=204)
