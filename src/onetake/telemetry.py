"""Logs: named events with ids, to standard error; never prompts, addresses or credentials."""

import os
import sys

import structlog


def log_to_stderr(*, is_json: bool) -> None:
    """Send the events of this process to standard error, as JSON lines or as words."""
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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
