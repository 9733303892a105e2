"""A recipe: the versioned, hashed description of inputs, steps and expected outputs.

Made by `recipe_toml` alone, which refuses whatever doesn't fit together; frozen from then on. `Recipe.content` has
the shape of the file with every default filled in, so a stored recipe reads back without its file.
"""

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from onetake.domain.canonical import digest_of, encode
from onetake.domain.jsonvalue import Json, normal

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

StepKind = Literal["generate", "process"]
Partial = Literal["failed", "incomplete"]
Billing = Literal["charged", "bill", "return"]
HandoffWay = Literal["provider_address", "upload", "own_address", "inline"]
BILLINGS: tuple[str, ...] = get_args(Billing)
HANDOFF_WAYS: tuple[str, ...] = get_args(HandoffWay)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextInput:
    """A text, taken as it is: never cut, trimmed or normalised.

    Attributes:
        chars_min, chars_max: length in Unicode code points.
        bytes_max: length in UTF-8.
        default: what stands when the job gives none; None: the job must.
    """

    type: ClassVar[str] = "text"
    name: str
    label: str
    chars_min: int
    chars_max: int
    bytes_max: int | None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberInput:
    """An exact number, whole if its type is integer; both bounds included."""

    name: str
    label: str
    type: Literal["integer", "number"]
    min: int | Decimal | None = None
    max: int | Decimal | None = None
    default: int | Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanInput:
    """True or false."""

    type: ClassVar[str] = "boolean"
    name: str
    label: str
    default: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceInput:
    """One of a list: texts of one line, or numbers."""

    type: ClassVar[str] = "choice"
    name: str
    label: str
    choices: tuple[str | int | Decimal, ...]
    default: str | int | Decimal | None = None


Input: TypeAlias = TextInput | NumberInput | BooleanInput | ChoiceInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often and how long a step is sent again after a send that never left, or a 429; then a person is asked."""

    count_max: int = 20
    elapsed_s_max: int = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What may be bought again by rule: after which final failures, and how often."""

    reasons: tuple[str, ...]
    count_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a step costs: credits for the customer, and at most so much for us at the provider.

    Attributes:
        credits, credits_per_s: per output, and for each of its `seconds`.
        percent: mark-up, over 100; None is 100.
        seconds: a number, or a reference to an input that is one.
        spend_micros_max, spend_micros_per_s: per request, in millionths of `currency`.
    """

    credits: int
    spend_micros_max: int
    currency: str
    credits_per_s: int | None = None
    spend_micros_per_s: int | None = None
    seconds: Json = None
    percent: int | Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a customer agrees to before money is held, and which wording that is."""

    version: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """How an earlier step's output reaches this step's provider."""

    step: str
    output: str
    way: HandoffWay = "provider_address"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One expected output.

    Attributes:
        spec: the file's keys for `OutputSpec`, `kind` included; a value may be a reference to an input.
    """

    name: str
    spec: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One node: `generate` is a paid order, `process` is local and may be run again.

    Attributes:
        provider, model: empty for `process`.
        needs: the steps that must be complete before.
        deadline_s: raises an alarm, never fails anything.
        request: the body, with references.
        handoffs: one for each earlier output that the request refers to, in its order.
        replacement: None: a failure is never bought again.
        price: None: the recipe doesn't say.
    """

    name: str
    kind: StepKind
    provider: str
    operation: str
    model: str
    needs: tuple[str, ...]
    deadline_s: int
    request: dict[str, Json]
    handoffs: tuple[Handoff, ...]
    repeats: Repeats
    replacement: Replacement | None
    price: Price | None
    outputs: tuple[Output, ...]

    @property
    def buys_max(self) -> int:
        """How often it may be bought at most, replacements included."""
        return 1 + (self.replacement.count_max if self.replacement else 0)

    def content(self) -> dict[str, object]:
        """The step in the shape of the file."""
        local = ("provider", "model", "repeats") if self.kind == "process" else ()
        parts = {name: value for name, value in given(self, "handoffs", "outputs").items() if name not in local}
        ways: dict[str, dict[str, str]] = {}
        for each in self.handoffs:
            ways.setdefault(each.step, {})[each.output] = each.way
        return {**parts, "handoff": ways, "outputs": [{"name": each.name, **each.spec} for each in self.outputs]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A whole recipe.

    Attributes:
        key: the inputs that a job's key is derived from when the caller gives none.
        partial: what a job is called when some outputs stand and some never will.
        billing: what becomes of held credits when a task failed after it was accepted: `bill` captures, `return`
            releases, `charged` goes by what the provider charged.
        consent: what a customer must have agreed to; None: nothing.
        canonical: `content()` in its canonical form, as it is kept with a job.
        hash: the digest of `content()`.
    """

    name: str
    version: int
    title: str
    summary: str
    key: tuple[str, ...]
    partial: Partial
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    billing: Billing = "charged"
    consent: Consent | None = None
    canonical: str = field(init=False, repr=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        canonical = encode(self.content())
        object.__setattr__(self, "canonical", canonical.decode())
        object.__setattr__(self, "hash", digest_of(canonical))

    def content(self) -> dict[str, Json]:
        """All of it as JSON in the shape of the file, defaults filled in, keys in the file's order."""
        usual = ("billing",) if self.billing == "charged" else ()
        consent = {} if self.consent is None else {"consent": normal(given(self.consent))}
        return {
            "recipe": normal(given(self, "inputs", "steps", "consent", "canonical", "hash", *usual)),
            **consent,
            "inputs": {each.name: normal({"type": each.type, **given(each, "name")}) for each in self.inputs},
            "steps": [normal(each.content()) for each in self.steps],
        }

    def step(self, name: str) -> Step:
        """The step of that name.

        Raises:
            KeyError: there is none.
        """
        for each in self.steps:
            if each.name == name:
                return each
        raise KeyError(name)


def given(thing: "DataclassInstance", *without: str) -> dict[str, object]:
    """The fields that say something, by name."""
    values = {each.name: getattr(thing, each.name) for each in fields(thing) if each.name not in without}
    return {
        name: given(value) if isinstance(value, Repeats | Replacement | Price) else value
        for name, value in values.items()
        if value is not None
    }
