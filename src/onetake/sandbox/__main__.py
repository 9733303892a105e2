"""`python -m onetake.sandbox`: the sandbox by itself."""

import argparse
import asyncio
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from onetake.sandbox import FAULTS, SandboxOptions, Span, serve


def parse(arguments: Sequence[str] | None = None) -> SandboxOptions:
    """The options on a command line; ends the program with a usage message when they make no sense."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    try:
        return SandboxOptions(**given | {"rates": dict(given["rates"]), "keys": tuple(given["keys"])})
    except ValueError as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    default = SandboxOptions()
    parser = argparse.ArgumentParser(
        prog="onetake-sandbox",
        description="A provider simulator with real pictures and clips, seeded faults and a truthful bill.",
        epilog=_fault_help(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--host", default=default.host)
    add("--port", type=int, default=default.port, help="0 takes a free one")
    add("--seed", default=default.seed, help="decides every fault, wait and picture")
    add(
        "--key",
        action="append",
        default=[],
        dest="keys",
        help="a bearer key to accept; none given: no key is asked for",
    )
    add("--queue-s", type=seconds, default=default.queue_s, metavar="LO:HI", help="seconds in the queue")
    add("--render-s", type=seconds, default=default.render_s, metavar="LO:HI", help="seconds of rendering, at least")
    add("--says-queued", action="store_true", help="tell the status queued apart from processing")
    add("--fault", action="append", default=[], dest="rates", type=fault_rate, metavar="NAME=RATE", help="see below")
    add("--slow-s", type=float, default=default.slow_s, help="how long slow answers take")
    add("--silence-s-max", type=float, default=default.silence_s_max, help="how long silence lasts at most")
    add("--retry-after-s", type=int, default=default.retry_after_s, help="what 429 asks for")
    add("--address-ttl-s", type=int, default=default.address_ttl_s, help="how long an output's address works")
    add("--image-price-micros", type=int, default=default.image_price_micros, help="of one picture")
    add("--video-price-micros", type=int, default=default.video_price_micros, help="of one second")
    add("--tiny", action="store_true", help="pictures and clips of 64 pixels, for tests")
    add("--state", type=Path, dest="folder", metavar="FOLDER", help="keep tasks and files there over restarts")
    return parser


def fault_rate(text: str) -> tuple[str, float]:
    """A fault's name and its rate; argparse shows this function's name when it fails."""
    name, _, rate = text.partition("=")
    return name, float(rate)


def seconds(text: str) -> Span:
    """A range of seconds."""
    return Span.parse(text)


def _fault_help() -> str:
    lines = "\n".join(f"  {fault.name:<22}{fault.doc}" for fault in FAULTS.values())
    return f"faults, for --fault NAME=RATE and POST /_faults:\n{lines}"


if __name__ == "__main__":
    try:
        asyncio.run(serve(parse(), functools.partial(print, flush=True)))
    except OSError as problem:
        sys.exit(f"the sandbox can't start: {problem}")
