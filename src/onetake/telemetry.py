"""Logs: named events with ids, to standard error; never prompts, addresses or credentials."""

import sys

import structlog


def log_to_stderr(*, is_json: bool) -> None:
    """Send the events of this process to standard error, as JSON lines or as words."""
    last = structlog.processors.JSONRenderer() if is_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            last,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
