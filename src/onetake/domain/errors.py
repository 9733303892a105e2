"""Every error that onetake raises on purpose: one tree, each with its code, its money and its repeat.

    OnetakeError
    ├── InputError            the caller's request can't be taken as it is          exit 2
    │   ├── BadValueError     a value is missing, mistyped, too large, unwritable
    │   ├── RecipeError       a recipe or contract file is wrong; file, key, reason
    │   ├── KeyConflictError  this key stands for another request
    │   └── NotAllowedError   the state of the thing doesn't permit this
    ├── NotFoundError         nothing of that name that you may see                 exit 4
    ├── SurroundingsError     database, storage, key or provider fail               exit 1
    │   ├── DatabaseError     unreachable, full, read-only, locked, too new
    │   │   └── CommitUnknownError  the answer to a commit was lost: it stands whole, or not at all
    │   ├── StorageError      the blob store is full, read-only or broken
    │   ├── ProviderError     the provider refuses our key or doesn't answer
    │   └── MediaError        a decoder is missing or died
    └── OutcomeUnknownError   may have been billed; held until evidence or a person exit 10

Raised for surprises and refusals only: expected outcomes (of a POST, a poll, a download) are values.
"""

from typing import ClassVar, Literal

Money = Literal["none", "held", "spent", "unknown"]


class OnetakeError(Exception):
    """A sentence for a person, and what a program needs beside it.

    Attributes:
        code: stable name of the kind of error.
        exit_code: what the command line ends with.
        money: what this error means for the caller's money.
        repeat_safe: whether the same call may be made again without buying twice.
        fields: the inputs at fault, as JSON Pointers, with what is wrong with each.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    money: ClassVar[Money] = "none"
    repeat_safe: ClassVar[bool] = True

    def __init__(self, sentence: str, *, fields: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.fields = fields or {}


class InputError(OnetakeError):
    """The request can't be taken as it is; nothing was recorded."""

    code = "bad_input"
    exit_code = 2


class BadValueError(InputError):
    """A value is missing, mistyped, too large or can't be written down."""

    code = "bad_value"


class RecipeError(InputError):
    """A recipe or contract file is wrong; the sentence names file, line or key, and reason."""

    code = "bad_recipe"


class KeyConflictError(InputError):
    """The key already stands for another request; `fields` names what differs."""

    code = "key_conflict"


class NotAllowedError(InputError):
    """The thing exists, but its state doesn't permit this."""

    code = "not_allowed"


class NotFoundError(OnetakeError):
    """Nothing of that name that the caller may see."""

    code = "not_found"
    exit_code = 4


class SurroundingsError(OnetakeError):
    """Something around onetake fails; the job itself has lost nothing."""

    code = "surroundings"


class DatabaseError(SurroundingsError):
    """The database can't be reached, is full, read-only, locked or newer than this program."""

    code = "database"


class CommitUnknownError(DatabaseError):
    """The connection broke while a commit was under way: the change stands whole, or not at all; look before acting."""

    code = "commit_unknown"
    money = "unknown"


class StorageError(SurroundingsError):
    """The blob store can't be written or read."""

    code = "storage"


class ProviderError(SurroundingsError):
    """The provider refuses our key, doesn't offer the model, or doesn't answer a harmless question."""

    code = "provider"


class MediaError(SurroundingsError):
    """A decoder is missing or died; files are kept and can be checked again."""

    code = "media"


class OutcomeUnknownError(OnetakeError):
    """The provider may have accepted and may bill; the money stays held until evidence or a person settles it."""

    code = "outcome_unknown"
    exit_code = 10
    money = "unknown"
    repeat_safe = False
