"""Every error that onetake raises on purpose: one tree, each with its code, its money and its repeat.

    OnetakeError
    ├── InputError            the caller's request can't be taken as it is          exit 2
    │   ├── BadValueError     a value is missing, mistyped, too large, unwritable
    │   ├── RecipeError       a recipe or contract file is wrong; file, key, reason
    │   ├── KeyConflictError  this key stands for another request
    │   ├── ConsentError      what was agreed to is missing or old
    │   ├── NotAllowedError   the state of the thing doesn't permit this
    │   │   ├── AlreadyCapturedError, AlreadyReleasedError, ExceedsHoldError, ForeignHoldError
    │   │   └── QuoteExpiredError, QuoteUsedError
    │   ├── RoleError         this person may not do this in this account
    │   └── LimitError        it costs more than there is, or than was agreed to                exit 11
    │       ├── NotEnoughCreditsError
    │       ├── PriceError    dearer than the caller accepted
    │       └── QuoteMovedError  price, recipe or inputs moved since the quote; names a new one
    ├── NotFoundError         nothing of that name that you may see                 exit 4
    ├── SurroundingsError     database, storage, key or provider fail               exit 1
    │   ├── DatabaseError     unreachable, full, read-only, locked, too new
    │   │   └── CommitUnknownError  the answer to a commit was lost: it stands whole, or not at all
    │   ├── StorageError      the blob store is full, read-only or broken
    │   ├── ProviderError     the provider refuses our key or doesn't answer
    │   └── MediaError        a decoder is missing or died
    ├── JobEndedError         a job that was waited for ended without its outputs    exit 1
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


class ConsentError(InputError):
    """What has to be agreed to wasn't, or in another wording; nothing is held."""

    code = "consent"


class RoleError(InputError):
    """The person's roles don't permit this."""

    code = "role"


class AlreadyCapturedError(NotAllowedError):
    """The hold was captured before; its credits are spent."""

    code = "already_captured"


class AlreadyReleasedError(NotAllowedError):
    """The hold was released before; its credits are back."""

    code = "already_released"


class ExceedsHoldError(NotAllowedError):
    """More was to be captured than is held."""

    code = "exceeds_hold"


class ForeignHoldError(NotAllowedError):
    """The hold is another account's, or another job's."""

    code = "foreign_hold"


class QuoteExpiredError(NotAllowedError):
    """The quote was made too long ago; the sentence names a new one."""

    code = "quote_expired"


class QuoteUsedError(NotAllowedError):
    """The quote was accepted before, for another job."""

    code = "quote_used"


class LimitError(InputError):
    """It costs more than there is, or more than was agreed to; nothing is held and nothing was sent."""

    code = "limit"
    exit_code = 11


class NotEnoughCreditsError(LimitError):
    """The account has too few credits available."""

    code = "not_enough_credits"


class PriceError(LimitError):
    """The order may cost more credits than the caller accepted."""

    code = "price"


class QuoteMovedError(LimitError):
    """What the quote was made for moved; `fields` names the differences, the sentence the new quote."""

    code = "quote_moved"


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


class JobEndedError(OnetakeError):
    """The job that was waited for ended without what was ordered; ordering it again under its key buys nothing."""

    code = "job_ended"


class OutcomeUnknownError(OnetakeError):
    """The provider may have accepted and may bill; the money stays held until evidence or a person settles it."""

    code = "outcome_unknown"
    exit_code = 10
    money = "unknown"
    repeat_safe = False
