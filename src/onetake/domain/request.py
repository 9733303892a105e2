"""What is asked for, frozen and hashed: the job's request, and each step's, whose meaning no address changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from onetake.domain.canonical import digest, digest_of, encode
from onetake.domain.jsonvalue import Json
from onetake.domain.recipe import Recipe, Step
from onetake.domain.references import InputRef, ModelRef, OutputRef, Ref, replace_refs


def job_request_hash(recipe: Recipe, inputs: Mapping[str, Json]) -> str:
    """The digest of recipe and inputs: equal for equal orders, however they were written."""
    named: Json = {"name": recipe.name, "version": recipe.version, "hash": recipe.hash}
    return digest({"recipe": named, "inputs": dict(inputs)})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputHandoff:
    """What an earlier step delivered.

    Attributes:
        digest: SHA-256 of the bytes, 64 hexadecimal digits.
        address: what this step's provider gets for them, by the step's handoff.
    """

    digest: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRequest:
    """A request that never changes again.

    Attributes:
        body: what is sent (`canonical.to_wire_json`), addresses included.
        meaning: provider, operation and the body with digests instead of addresses.
        canonical: the meaning in its canonical form, as it is kept.
        hash: the digest of the meaning.
    """

    body: Json
    meaning: Json
    canonical: str
    hash: str


def freeze_request(
    step: Step, inputs: Mapping[str, Json], outputs: Mapping[tuple[str, str], OutputHandoff]
) -> FrozenRequest:
    """The step's request for one job.

    Args:
        step: whose references are replaced.
        inputs: from `resolve_inputs`.
        outputs: by step and output name, at least those that `step.handoffs` lists.

    Raises:
        KeyError: an output isn't there, so the step's gate should still be shut.
    """
    body = _filled(step, inputs, lambda ref: outputs[ref.step, ref.output].address)
    said = _filled(step, inputs, lambda ref: {"sha256": outputs[ref.step, ref.output].digest})
    meaning: Json = {"provider": step.provider, "operation": step.operation, "body": said}
    canonical = encode(meaning)
    return FrozenRequest(body=body, meaning=meaning, canonical=canonical.decode(), hash=digest_of(canonical))


def _filled(step: Step, inputs: Mapping[str, Json], hand_over: Callable[[OutputRef], Json]) -> Json:
    def look_up(ref: Ref) -> Json:
        match ref:
            case InputRef():
                return inputs[ref.name]
            case ModelRef():
                return step.model
            case OutputRef():
                return hand_over(ref)
            case _:
                assert_never(ref)

    return replace_refs(step.request, look_up)
