"""What was measured on: the machine, its noise, and the versions of everything that counts."""

import os
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import peers_environment
from benchmarks.harness.sampler import calibrate_ms
from onetake import __version__
from onetake.store.driver import sqlite


def describe(server_url: str | None) -> dict[str, Any]:
    """The facts, by name."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "load": round(os.getloadavg()[0], 1),
        "calibration_ms": calibrate_ms(),
        "onetake": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite.sqlite_version,
        "sqlite of the baseline": sqlite3.sqlite_version,
        "postgresql": _server(server_url),
        "aiohttp": version("aiohttp"),
        "dbos": peers_environment.version_of("dbos"),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
    ]
    return names[0] if names else platform.processor()


def _server(server_url: str | None) -> str:
    if server_url is None:
        return "not measured"
    with psycopg.connect(server_url) as connection:
        row = connection.execute("SHOW server_version").fetchone()
        return str(row[0]) if row else "unknown"
