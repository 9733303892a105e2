"""Reading a settings file's tables key by key, so that whatever is wrong is refused by file, key and reason."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import cast

from onetake.domain.canonical import decoded
from onetake.domain.errors import BadValueError, RecipeError
from onetake.domain.jsonvalue import Json, Path, Refuse, normal, number_from, pointer, shown

NAME = r"[a-z][a-z0-9_]{0,39}"  # stands in states, SQL rows and settings' names, so it stays short and plain
_NAME_WHAT = "a name: a-z, 0-9 and _, a letter first, at most 40"
WHOLE_MAX = 2**53 - 1  # the largest whole number that every JSON reader keeps (RFC 8259, section 6)


def parse_toml(text: str | bytes, file: str) -> dict[str, object]:
    """What a file in TOML says; its numbers are exact.

    Args:
        text: the file's text; bytes are read as UTF-8.
        file: its name, for messages.

    Raises:
        RecipeError: the text can't be read; names the line.
    """
    try:
        return tomllib.loads(decoded(text), parse_float=number_from)
    except BadValueError as error:
        raise bad_file(file, (), error.fields[""]) from None
    except tomllib.TOMLDecodeError as error:  # names line and column
        raise bad_file(file, (), f"isn't TOML: {error}") from None
    except ValueError:  # Python's own bound on the digits of an integer
        raise bad_file(file, (), "holds a whole number of thousands of digits") from None
    except RecursionError:
        raise bad_file(file, (), "is nested too deep") from None


def root_table(content: Mapping[str, object], file: str) -> "Table":
    """A file's content as a table to read from.

    Raises:
        RecipeError: a value that JSON hasn't, such as a date or NaN, stands in it.
    """
    refuse = partial(bad_file, file)
    return Table(cast("dict[str, Json]", normal(content, refuse=refuse)), refuse)


def bad_file(file: str, path: Path, reason: str) -> RecipeError:
    """The error for one key of a file, with the key's path as people write it: `steps[1].request.prompt`."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    subject = f"`{shown(place)}` {reason}" if place else reason
    return RecipeError(f"{file}: {subject}.", fields={pointer(path): reason})


def hint(word: str, known: Iterable[str]) -> str:
    """A guess at what was meant, to end a reason with; empty without one."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean `{close[0]}`?)" if close else ""


class Table:
    """One table of a file. Reads that find nothing fitting raise; `end` refuses the keys that nobody read.

    Args:
        values: the table.
        refuse: makes the error from a place and a reason.
        path: where the table stands.
    """

    def __init__(self, values: Mapping[str, Json], refuse: Refuse, path: Path = ()) -> None:
        self._values, self._refuse, self.path = values, refuse, path
        self._asked: set[str] = set()

    def refuse(self, reason: str, *place: str | int) -> Exception:
        """The error for a place below this table."""
        return self._refuse((*self.path, *place), reason)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        self._asked.add(key)
        return key in self._values

    def value(self, key: str) -> Json:
        """Whatever stands at the key, which must be there."""
        if not self.has(key):
            slips = difflib.get_close_matches(key, self._values.keys() - self._asked, n=1)
            raise self.refuse(f"is missing; `{slips[0]}` isn't a key here" if slips else "is missing", key)
        return self._values[key]

    def text(self, key: str, default: str | None = None, *, pattern: str = r"(?s).+", what: str = "text") -> str:
        """A text that matches the pattern whole."""
        if default is not None and not self.has(key):
            return default
        value = self.value(key)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise self.refuse(f"must be {what}", key)
        return value

    def name(self, key: str) -> str:
        """A name: a small letter, then small letters, digits and underscores."""
        return self.text(key, pattern=NAME, what=_NAME_WHAT)

    def one_of(self, key: str, options: tuple[str, ...], default: str | None = None) -> str:
        """One of the words."""
        word = self.text(key, default, what="one of: " + ", ".join(options))
        if word not in options:
            raise self.refuse(f"must be one of: {', '.join(options)}{hint(word, options)}", key)
        return word

    def whole(self, key: str, default: int | None = None, *, at_least: int = 0, at_most: int = WHOLE_MAX) -> int:
        """A whole number within bounds."""
        if default is not None and not self.has(key):
            return default
        value = self.value(key)
        if type(value) is not int or not at_least <= value <= at_most:
            raise self.refuse(f"must be a whole number from {at_least} to {at_most}", key)
        return value

    def yes(self, key: str) -> bool:
        """A truth; false where nothing stands."""
        value = self.value(key) if self.has(key) else False
        if not isinstance(value, bool):
            raise self.refuse("must be true or false", key)
        return value

    def entries(self, key: str, default: list[Json] | None = None) -> list[Json]:
        """The entries of a list."""
        if default is not None and not self.has(key):
            return default
        value = self.value(key)
        if not isinstance(value, list):
            raise self.refuse("must be a list", key)
        return value

    def names(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Different texts, in their order; whether they name something is the caller's to check."""
        values = self.entries(key, None if default is None else list(default))
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise self.refuse("must be text", key, index)
            if value in values[:index]:
                raise self.refuse("is there twice", key, index)
        return tuple(value for value in values if isinstance(value, str))

    def table(self, key: str) -> "Table":
        """The table below this one; an empty one where there is none."""
        value = self._values[key] if self.has(key) else {}
        if not isinstance(value, dict):
            raise self.refuse("must be a table", key)
        return Table(value, self._refuse, (*self.path, key))

    def tables(self, key: str) -> list["Table"]:
        """The tables of a list, at least one."""
        values = self.entries(key)
        if not values:
            raise self.refuse("must have at least one entry", key)
        found = []
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.refuse("must be a table", key, index)
            found.append(Table(value, self._refuse, (*self.path, key, index)))
        return found

    def tables_by_name(self) -> dict[str, "Table"]:
        """The tables below this one by their names, in the file's order."""
        for key in self._values:
            if not re.fullmatch(NAME, key):
                raise self.refuse(f"must be {_NAME_WHAT}", key)
        return {key: self.table(key) for key in self._values}

    def __iter__(self) -> Iterator[str]:
        """The keys that stand here, in the file's order."""
        return iter(self._values)

    def end(self, *later: str) -> None:
        """Refuse what nobody asked for, nor will: a misspelt key must not look as if it counted."""
        known = self._asked.union(later)
        for key in self._values:
            if key not in known:
                raise self.refuse(f"isn't a key here{hint(key, known)}", key)
