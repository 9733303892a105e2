"""Engines that are broken on purpose, each in one way, to see that the simulator notices.

A plant is a diff: its modules are loaded a second time with the diff applied, and the real ones stay untouched. What a
diff takes out or stands beside must be there exactly once, so a plant that no longer fits fails at once.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from types import ModuleType

from tests.simulation.engines import Engine

RELOADED = ("onetake.engine", "onetake.store", "onetake.domain.answers")
"""What a planted engine has of its own; all else it shares with the real one."""


@dataclass(frozen=True, slots=True)
class Plant:
    """One way to be broken.

    Attributes:
        diff: in hunks under the names of files, parted by `...`.
        theme: of the schedules that bring it out soonest; empty where all do.
    """

    name: str
    diff: str
    theme: str = ""

    def hunks(self) -> Iterator[tuple[str, str, str]]:
        """Module, old lines and new lines of each hunk."""
        module, lines = "", list[str]()
        for line in [*dedent(self.diff).strip("\n").splitlines(), "..."]:
            if line[:1] in ("", " ", "+", "-"):
                lines.append(line or " ")
                continue
            if lines:
                yield module, _side(lines, " -"), _side(lines, " +")
                lines = []
            if line != "...":
                module = f"onetake.{line.removesuffix('.py').replace('/', '.')}"

    def applied_to(self, module: str, text: str) -> str:
        """The module's text with the diff in it."""
        text = f"\n{text}"
        for where, old, new in self.hunks():
            if where == module:
                if text.count(old) != 1:
                    raise AssertionError(f"{self.name}: {module} has {text.count(old)} times:{old}")
                text = text.replace(old, new)
        return text.removeprefix("\n")


def _side(lines: list[str], marks: str) -> str:
    return "".join(f"\n{line[1:]}" for line in lines if line[0] in marks)


class _Planting(MetaPathFinder, Loader):
    """Finds modules where they always are, and loads them with the diff applied."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002 - the finders' protocol
        if not fullname.startswith(RELOADED):
            return None
        with _without(self):
            real = find_spec(fullname)
        if real is None or real.origin is None:
            return None
        spec = ModuleSpec(fullname, self, origin=real.origin, is_package=real.submodule_search_locations is not None)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is None or spec.origin is None:
            raise ImportError(module.__name__)
        text = self._plant.applied_to(module.__name__, Path(spec.origin).read_text("utf-8"))
        exec(compile(text, spec.origin, "exec"), module.__dict__)  # noqa: S102 - our own source, as an import would


@contextmanager
def _without(finder: MetaPathFinder) -> Iterator[None]:
    sys.meta_path.remove(finder)
    try:
        yield
    finally:
        sys.meta_path.insert(0, finder)


@cache
def planted(plant: Plant) -> Engine:
    """The engine with this fault in it."""
    real = {name: module for name, module in sys.modules.items() if name.startswith(RELOADED)}
    finder = _Planting(plant)
    for name in real:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        return Engine.of(import_module)
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(RELOADED)]:
            del sys.modules[name]
        sys.modules.update(real)
