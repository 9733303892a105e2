"""Logs: named events with ids, to standard error; never prompts, addresses or credentials."""

import logging
import os
import sys
from typing import TextIO

import structlog


def log_to_stderr(*, is_json: bool, is_quiet: bool = False, stream: TextIO | None = None) -> None:
    """Send the events of this process to standard error, as JSON lines or as words.

    Args:
        is_json: an object a line.
        is_quiet: trouble only.
        stream: what writes to standard error, if something stands before it.
    """
    plain = structlog.dev.plain_traceback  # the richer one prints local variables, prompts among them
    is_coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    words = structlog.dev.ConsoleRenderer(colors=is_coloured, exception_formatter=plain)
    last = structlog.processors.JSONRenderer() if is_json else words
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            *([structlog.processors.format_exc_info] if is_json else []),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING if is_quiet else logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(stream or sys.stderr),  # a line in one write
        cache_logger_on_first_use=False,
    )
