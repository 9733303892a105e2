"""The engine's log while it is simulated: nothing is printed, and a bug that it caught and logged is kept."""

import contextlib
import sys
from collections.abc import Iterator, MutableMapping
from typing import Any

import structlog

from onetake.domain.errors import OnetakeError


@contextlib.contextmanager
def watched(bugs: list[BaseException]) -> Iterator[None]:
    """Collect what is logged with an exception that is nobody's weather; the configuration is put back afterwards."""

    def keep(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if event.get("exc_info") and (trouble := sys.exception()) and not isinstance(trouble, OnetakeError):
            bugs.append(trouble)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[keep], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
