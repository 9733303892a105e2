"""The regression fixture: one approved still and the chain that it starts, frozen in one file.

The file is JSON and holds whatever the same order needs again: the recipe as it was written, its hash and models,
every input, the still's bytes with their digest and the checksum of its pixels, and who approved it. `seal` is the
digest of everything else in it, by the rules of canonical JSON, so that a change by hand is noticed. A seal is no
signature: whoever changes a file on purpose can seal it again.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onetake.domain.canonical import digest, parse
from onetake.domain.errors import BadValueError, InputError
from onetake.domain.jsonvalue import Json, shown
from onetake.domain.output_fields import expected_outputs
from onetake.domain.outputs import OutputSpec
from onetake.domain.recipe import Recipe, Step
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.references import InputRef, list_refs
from onetake.domain.request import job_request_hash

FORMAT = 1
"""Of the file; another one would have another number and be read beside this one."""

NAME_CHARS_MAX = 100
"""As for the person in the settings: a name, not a letter."""

_LINE_CHARS = 96  # of base64: lines that an editor shows whole, and a difference tool compares


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a step contributes to the chain.

    Attributes:
        output: the name of its picture or clip.
        input: the text input that its request refers to, which is its prompt.
    """

    step: str
    output: str
    input: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The two paid steps of a recipe that a fixture is about: the one that draws, and the one that moves it."""

    still: Part
    clip: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFrame:
    """The picture that the clip starts on, as pixels (see `onetake.media.findings.Pixels`)."""

    width_px: int
    height_px: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """Everything in the file.

    Attributes:
        approved_by, approved_at: the person, and when, in ISO 8601.
        job_id, request_hash: the complete job that it was frozen from.
        recipe, source: the recipe, and its TOML.
        inputs: all of the job's, prompts included.
        still: the approved picture's bytes; `still_digest` is their SHA-256.
        duration_ms, ratio: of the clip, as ordered; None where the recipe doesn't say.
    """

    approved_by: str
    approved_at: str
    job_id: str
    request_hash: str
    recipe: Recipe
    source: str
    inputs: dict[str, Json]
    still: bytes
    still_digest: str
    media_type: str
    first_frame: FirstFrame
    duration_ms: int | None
    ratio: str | None

    @property
    def chain(self) -> Chain:
        """Which steps of the recipe it is about."""
        return chain_of(self.recipe)

    def prompt_of(self, part: Part) -> str:
        """The text that the step is ordered with."""
        return str(self.inputs[part.input])

    @property
    def seal(self) -> str:
        """The digest of everything that the file says."""
        return digest(_content(self))


def chain_of(recipe: Recipe) -> Chain:
    """The recipe's first paid step that makes a picture, and its last one that makes a clip out of it.

    Raises:
        BadValueError: the recipe has no such pair, or their prompts can't be told from other texts.
    """
    still = _part(recipe, "image", recipe.steps)
    clip = _part(recipe, "video", recipe.steps[::-1])
    handed_over = {(each.step, each.output) for each in recipe.step(clip.step).handoffs}
    if (still.step, still.output) not in handed_over:
        raise _unfit(recipe, f"its step {clip.step!r} isn't given the still of step {still.step!r}")
    return Chain(still=still, clip=clip)


def _part(recipe: Recipe, kind: str, steps: tuple[Step, ...]) -> Part:
    for step in steps:
        outputs = [output.name for output in step.outputs if output.spec["kind"] == kind]
        if step.kind == "generate" and outputs:
            return Part(step=step.name, output=outputs[0], input=_prompt_input(recipe, step))
    raise _unfit(recipe, f"no paid step of it makes a file of kind {kind}")


def _prompt_input(recipe: Recipe, step: Step) -> str:
    texts = {each.name for each in recipe.inputs if each.type == "text"}
    named = {ref.name for _, ref in list_refs(step.request) if isinstance(ref, InputRef)} & texts
    if len(named) != 1:
        raise _unfit(
            recipe, f"the request of its step {step.name!r} refers to {len(named)} texts, so none is the prompt"
        )
    return named.pop()


def _unfit(recipe: Recipe, why: str) -> BadValueError:
    return BadValueError(f"Recipe {recipe.name} can't be frozen as a still and its clip: {why}.")


def approver(name: str) -> str:
    """The approving person's name.

    Raises:
        BadValueError: it is empty, too long, or more than one line.
    """
    if not name.strip() or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise BadValueError(f"--approved-by must name a person, in one line of at most {NAME_CHARS_MAX} characters.")
    return name.strip()


def ordered_clip(recipe: Recipe, inputs: Mapping[str, Json]) -> OutputSpec:
    """What the chain's clip must measure."""
    clip = chain_of(recipe).clip
    wanted = {(each.step, each.name): each.spec for each in expected_outputs(recipe, inputs)}
    return wanted[clip.step, clip.output]


def to_text(fixture: Fixture) -> str:
    """The file's text; one fixture has one spelling."""
    sealed = {**_content(fixture), "seal": fixture.seal}
    return json.dumps(sealed, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _content(fixture: Fixture) -> dict[str, Any]:
    chain, recipe = fixture.chain, fixture.recipe
    prompts = {chain.still.input, chain.clip.input}
    return {
        "onetake_fixture": FORMAT,
        "approved": {"by": fixture.approved_by, "at": fixture.approved_at},
        "job": {"id": fixture.job_id, "request_hash": fixture.request_hash},
        "still": {
            "prompt": fixture.prompt_of(chain.still),
            "sha256": fixture.still_digest,
            "media_type": fixture.media_type,
        },
        "clip": {
            "prompt": fixture.prompt_of(chain.clip),
            "duration_ms": fixture.duration_ms,
            "ratio": fixture.ratio,
            "first_frame": {
                "width_px": fixture.first_frame.width_px,
                "height_px": fixture.first_frame.height_px,
                "sha256": fixture.first_frame.sha256,
            },
        },
        "inputs": {name: value for name, value in fixture.inputs.items() if name not in prompts},
        "models": {step.name: step.model for step in recipe.steps if step.kind == "generate"},
        "recipe": {
            "name": recipe.name,
            "version": recipe.version,
            "hash": recipe.hash,
            "source": fixture.source.splitlines(keepends=True),
        },
        "still_base64": _lines_of(fixture.still),
    }


def _lines_of(data: bytes) -> list[str]:
    text = base64.b64encode(data).decode()
    return [text[start : start + _LINE_CHARS] for start in range(0, len(text), _LINE_CHARS)]


def from_text(text: str | bytes) -> Fixture:
    """The fixture in a file, every promise of it checked but the pixels, which only a decoder can.

    Raises:
        BadValueError: it isn't a fixture, or not as it was approved; says what differs.
    """
    content = _parsed(text)
    fixture = _guarded(lambda: _fixture(content))
    found = hashlib.sha256(fixture.still).hexdigest()
    if found != fixture.still_digest:
        raise _tampered(f"the still's bytes hash to {found[:16]}…, approved were {fixture.still_digest[:16]}…")
    recipe = content["recipe"]
    if fixture.recipe.hash != recipe["hash"]:
        raise _tampered(
            f"its recipe hashes to {fixture.recipe.hash[:16]}…, frozen was {shown(str(recipe['hash']), 17)}"
        )
    request_hash = job_request_hash(fixture.recipe, fixture.inputs)
    if request_hash != fixture.request_hash:
        raise _tampered("its prompts or inputs are not those of the job that was approved")
    said = {name: value for name, value in content.items() if name != "seal"}
    if not digest(said) == fixture.seal == content.get("seal"):  # what the file says, and what follows from it
        raise _tampered("its seal doesn't fit what it says")
    return fixture


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        content = parse(text)
    except InputError as error:
        raise _no_fixture(error.sentence.removesuffix(".")) from None
    if not isinstance(content, dict) or content.get("onetake_fixture") != FORMAT:
        raise _no_fixture(f"it doesn't say onetake_fixture {FORMAT}")
    return content


def _fixture(content: Mapping[str, Any]) -> Fixture:
    source = "".join(content["recipe"]["source"])
    recipe = parse_recipe(source, "the fixture's recipe")
    chain, still, clip = chain_of(recipe), content["still"], content["clip"]
    prompts = {chain.still.input: still["prompt"], chain.clip.input: clip["prompt"]}
    given = {**content["inputs"], **prompts}
    return Fixture(
        approved_by=approver(content["approved"]["by"]),
        approved_at=content["approved"]["at"],
        job_id=content["job"]["id"],
        request_hash=content["job"]["request_hash"],
        recipe=recipe,
        source=source,
        inputs={each.name: given[each.name] for each in recipe.inputs},
        still=base64.b64decode("".join(content["still_base64"]), validate=True),
        still_digest=still["sha256"],
        media_type=still["media_type"],
        first_frame=FirstFrame(**clip["first_frame"]),
        duration_ms=clip["duration_ms"],
        ratio=clip["ratio"],
    )


def _guarded(read: Callable[[], Fixture]) -> Fixture:
    """What the function reads; whatever a file of another shape leads it to is one sentence."""
    try:
        return read()
    except InputError as error:
        raise _no_fixture(error.sentence.removesuffix(".")) from None
    except KeyError as error:
        raise _no_fixture(f"it has no {shown(str(error.args[0]))!r}") from None
    except (TypeError, AttributeError, binascii.Error):
        raise _no_fixture("something in it has another form") from None


def _no_fixture(why: str) -> BadValueError:
    return BadValueError(f"This is no regression fixture that can be read: {why}.")


def _tampered(why: str) -> BadValueError:
    return BadValueError(f"This fixture is not as it was approved: {why}.")
