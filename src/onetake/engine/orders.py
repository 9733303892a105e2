"""What is ordered and on which terms: the values that quoting and intake work with, made from what a caller gave."""

from collections.abc import Mapping
from dataclasses import dataclass

from onetake.domain.errors import BadValueError, QuoteExpiredError, QuoteMovedError
from onetake.domain.inputs import derive_key, resolve_inputs, validate_key
from onetake.domain.jsonvalue import Json
from onetake.domain.moments import utc
from onetake.domain.pricing import QuoteLine
from onetake.domain.recipe import Recipe
from onetake.domain.request import job_request_hash

CAMPAIGN_CHARS_MAX = 100
"""Longest name of a campaign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request that has been checked and can be written.

    Attributes:
        source: the recipe's TOML, kept with the job.
        inputs: declared defaults included.
        key: stands for this request in its account, for ever.
        campaign: what it belongs to, for budgets and lists; may be empty.
    """

    recipe: Recipe
    source: str
    inputs: dict[str, Json]
    key: str
    request_hash: str
    campaign: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the caller agrees to.

    Attributes:
        accept_up_to: most credits that may be held; None: none.
        consent: the wording that the customer agreed to; None: none.
    """

    accept_up_to: int | None = None
    consent: str | None = None


OPEN = Terms()
"""Nothing in particular: enough where nothing is charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The job that stands for an order.

    Attributes:
        is_new: False when it stood before.
        held: credits that are held for it since now.
    """

    job_id: str
    key: str
    is_new: bool
    held: int


def prepare(
    recipe: Recipe, source: str, *, inputs: Mapping[str, object], key: object = None, campaign: object = None
) -> Order:
    """The order that these inputs make.

    Args:
        recipe: what is ordered.
        source: the recipe's TOML.
        inputs: as the caller gave them.
        key: the caller's own key; None derives it from the recipe's key fields.
        campaign: what it belongs to; None: nothing.

    Raises:
        BadValueError: an input, the key or the campaign can't be taken, or the recipe has a step that this version
            can't run.
    """
    for step in recipe.steps:
        if step.kind != "generate":
            raise BadValueError(f"Recipe {recipe.name} has the local step {step.name!r}, which this version can't run.")
        for handoff in step.handoffs:
            if handoff.way != "provider_address":
                raise BadValueError(
                    f"Recipe {recipe.name} hands {handoff.output!r} over by {handoff.way}, which this version can't do:"
                    " use provider_address."
                )
    resolved = resolve_inputs(recipe, inputs)
    return Order(
        recipe=recipe,
        source=source,
        inputs=resolved,
        key=derive_key(recipe, resolved) if key is None else validate_key(key),
        request_hash=job_request_hash(recipe, resolved),
        campaign="" if campaign is None else _campaign(campaign),
    )


def _campaign(name: object) -> str:
    try:
        return check_campaign(name, what="/campaign")
    except BadValueError as error:
        what = f"must be one line of at most {CAMPAIGN_CHARS_MAX} characters"
        raise BadValueError(error.sentence, fields={"/campaign": what}) from error


def check_campaign(name: object, *, what: str) -> str:
    """The name of a campaign, if it can be one.

    Raises:
        BadValueError: it can't; `what` is named.
    """
    if not isinstance(name, str) or not name.strip() or len(name) > CAMPAIGN_CHARS_MAX or not name.isprintable():
        raise BadValueError(f"{what} must be one line of text, at most {CAMPAIGN_CHARS_MAX} characters.")
    if name == "*":
        raise BadValueError(f"{what} can't be `*`, which stands for each campaign in budgets.")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What an order costs at most, until when that stands.

    Attributes:
        lines: one per expected output.
        consent_version: the wording that has to be agreed to; empty where there is none.
        expires_at: microseconds since 1970 UTC.
    """

    id: str
    recipe: str
    recipe_hash: str
    price_version: str
    consent_version: str
    consent_text: str
    lines: tuple[QuoteLine, ...]
    expires_at: int

    @property
    def credits_max(self) -> int:
        """Of all lines."""
        return sum(line.credits_max for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requoted:
    """The quote that was to be accepted doesn't hold any more: why, and a new one to look at. Nothing is held.

    Attributes:
        old_id: of the quote that doesn't hold.
        quote: the new one, which waits.
        fields: what moved since, by JSON Pointer, with what it is and was.
        expired_at: when the old one's time was over, in microseconds since 1970 UTC; None while it stands.
    """

    old_id: str
    quote: Quote
    fields: Mapping[str, str]
    expired_at: int | None

    def error(self) -> QuoteExpiredError | QuoteMovedError:
        """The same for a caller who can only be refused."""
        new = self.quote
        rest = (
            f"look at {new.id}, up to {new.credits_max} credits, and accept that one;"
            " nothing was ordered, nothing is held."
        )
        moved = f" ({', '.join(self.fields)})" if self.fields else ""
        if self.expired_at is not None:
            sentence = f"Quote {self.old_id} stood until {utc(self.expired_at)}{moved}: {rest}"
            return QuoteExpiredError(sentence, fields=dict(self.fields))
        return QuoteMovedError(f"Quote {self.old_id} doesn't fit any more{moved}: {rest}", fields=dict(self.fields))
