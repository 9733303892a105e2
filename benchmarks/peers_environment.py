"""The peers' own environment, from a lock with hashes: what they need must never reach the product's."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LOCK = HERE / "peers.lock"
FOLDER = HERE / ".peers-venv"
PYTHON = FOLDER / "bin" / "python"
UV = Path(sys.executable).with_name("uv")


def install() -> None:
    """Make the environment, or bring it to the lock; nothing happens if it is there.

    Raises:
        SystemExit: it can't be installed; the installer said why.
    """
    done = FOLDER / "installed.lock"
    if done.exists() and done.read_bytes() == LOCK.read_bytes():
        return
    print("installing the peers into benchmarks/.peers-venv, once", file=sys.stderr)
    commands: list[list[str | Path]] = [
        [UV, "venv", "--quiet", "--clear", "--python", sys.executable, FOLDER],
        [UV, "pip", "install", "--quiet", "--python", PYTHON, "--require-hashes", "-r", LOCK],
    ]
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            raise SystemExit("the peers can't be installed; see above")
    done.write_bytes(LOCK.read_bytes())


def version_of(package: str) -> str:
    """The version that the lock pins."""
    lines = LOCK.read_text().splitlines()
    return next(line.split("==")[1].split()[0] for line in lines if line.startswith(f"{package}=="))
