"""Engines that are broken on purpose, each in one way, to see that the simulator notices.

A plant is a change of the source text, as in a diff: the modules are loaded a second time with the change made, and
the real ones stay untouched. A text that is no longer there exactly once fails at once, so plants can't rot.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.simulation.engines import Engine

RELOADED = ("onetake.engine", "onetake.store", "onetake.domain.answers")
"""What a planted engine has of its own; all else it shares with the real one."""


class Change(NamedTuple):
    """In this file, this text becomes that one."""

    module: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Plant:
    """One way to be broken."""

    name: str
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        """Its name, for the test's."""
        return self.name


class _Planting(MetaPathFinder, Loader):
    """Finds modules where they always are, and loads them changed."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if not fullname.startswith(RELOADED):
            return None
        with _without(self):
            real = find_spec(fullname)
        if real is None or real.origin is None:
            return None
        spec = spec_from_loader(fullname, self, origin=real.origin, is_package=real.submodule_search_locations is not None)
        if spec is not None and real.submodule_search_locations is not None:
            spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is None or spec.origin is None:
            raise ImportError(module.__name__)
        exec(compile(self._changed(module.__name__, spec.origin), spec.origin, "exec"), module.__dict__)

    def _changed(self, name: str, file: str) -> str:
        text = Path(file).read_text("utf-8")
        for change in self._plant.changes:
            if f"onetake.{change.module}" == name:
                if text.count(change.old) != 1:
                    raise AssertionError(f"{self._plant}: {change.module} has {text.count(change.old)} times:\n{change.old}")
                text = text.replace(change.old, change.new)
        return text


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
