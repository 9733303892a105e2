"""The engine under test, as the names that a simulation uses of it: the real one, or one with a planted fault."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine with its store. All names come from one import, so that they belong together."""

    InlineDatabase: Any
    Pace: Any
    Parts: Any
    RecipeBook: Any
    Worker: Any
    accept: Any
    attach: Any
    cancel: Any
    lift: Any
    resume: Any

    @classmethod
    def of(cls, load: Callable[[str], ModuleType]) -> "Engine":
        """The engine whose modules `load` gives."""
        people, worker = load("onetake.engine.people"), load("onetake.engine.worker")
        return cls(
            InlineDatabase=load("onetake.store.sqlite").InlineDatabase,
            Pace=worker.Pace,
            Parts=load("onetake.engine.parts").Parts,
            RecipeBook=load("onetake.engine.turn").RecipeBook,
            Worker=worker.Worker,
            accept=load("onetake.engine.intake").accept,
            attach=people.attach,
            cancel=people.cancel,
            lift=load("onetake.engine.stopping").lift,
            resume=people.resume,
        )


REAL = Engine.of(import_module)
