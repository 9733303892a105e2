"""The project's own files, for the house rules to read."""

import ast
import fnmatch
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "onetake"


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that a commit would hold: all but git's folder and what .gitignore names."""
    ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines())]
    return tuple(_walk(ROOT, ignored))


def _walk(folder: Path, ignored: list[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _walk(path, ignored)
        else:
            yield path


def sources(*folders: str) -> list[Path]:
    """The Python files of the product, or of some folders of the project."""
    roots = [ROOT / folder for folder in folders] or [SRC]
    return [path for path in project_files() if path.suffix == ".py" and any(path.is_relative_to(r) for r in roots)]


def outside(paths: Iterable[Path], *rooms: str) -> list[Path]:
    """Those that lie in none of these files or folders of the product."""
    return [path for path in paths if not any(path.is_relative_to(SRC / room) for room in rooms)]


@cache
def tree_of(path: Path) -> ast.Module:
    """The file, parsed once."""
    return ast.parse(path.read_text())


def docstring_nodes(tree: ast.Module) -> set[ast.AST]:
    """The constants that are docstrings, so that a rule about strings can pass over them."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            found.add(body[0].value)
    return found


def strings(path: Path) -> Iterator[ast.Constant]:
    """Every string constant of the file but its docstrings."""
    docs = docstring_nodes(tree_of(path))
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
            yield node


def place(path: Path, node: ast.AST) -> str:
    """`src/onetake/x.py:12`, as an editor takes it."""
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def find(pattern: str, paths: Iterable[Path], flags: int = 0) -> list[str]:
    """Where the pattern stands in these files; files that aren't text hold nothing."""
    wanted = re.compile(pattern, flags)
    found = []
    for path in paths:
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{number} {match[0]}"
            for number, line in enumerate(lines, 1)
            if (match := wanted.search(line))
        ]
    return found


def listed(found: Iterable[str]) -> str:
    """The offending places, one a line, for a failing test to show."""
    return "\n".join(["", *found])
