"""Small recipes for the engine's tests: one still; several in one request; two apart; a clip of one of them."""

ONE_REPLACEMENT = '[steps.replacement]\nreasons = ["provider_failed"]\ncount_max = 1'
"""A table for `still`: what fails may be bought once more."""


def still(extras: str = "", *, deadline_s: int = 900) -> str:
    """A recipe for one still, step `draw`; `extras` are further tables of its step, such as `[steps.repeats]`."""
    return _head("still", "prompt") + _draw("draw", "prompt", deadline_s=deadline_s, extras=extras)


def stills(*, asked: int, expected: int, partial: str = "failed", then: str = "") -> str:
    """One request for several stills: `asked` of the provider, `expected` by the recipe; `then` adds steps."""
    outputs = tuple(f"still{number}" for number in range(expected))
    return _head("stills", "prompt", partial=partial) + _draw("draw", "prompt", asked=asked, outputs=outputs) + then


def apart(*, partial: str = "failed") -> str:
    """Two steps that need nothing of each other."""
    return _head("apart", "day", "night", partial=partial) + _draw("day", "day") + _draw("night", "night")


def clip_beside() -> str:
    """Two stills that need nothing of each other, `day` and `night`, and a clip, `move`, of the first."""
    return apart() + clip_of("still", step="day")


def clip_of(output: str, *, step: str = "draw") -> str:
    """A further step, `move`, that is handed an output of `draw`, or of another step."""
    return f"""
[[steps]]
name = "move"
provider = "reapi"
operation = "video"
model = "wan3.0-video"
needs = ["{step}"]

[steps.request]
model = {{ ref = "step.model" }}
prompt = "slow push-in"
image_with_roles = [{{ url = {{ ref = "steps.{step}.outputs.{output}" }}, role = "first_frame" }}]
size = "16:9"
resolution = "720p"
duration = 1

[[steps.outputs]]
name = "clip"
kind = "video"
duration_s = 1
"""


def _head(name: str, *inputs: str, partial: str = "failed") -> str:
    head = f'[recipe]\nname = "{name}"\nversion = 1\ntitle = "A test"\npartial = "{partial}"\nkey = {list(inputs)}\n'
    return head + "".join(
        f'[inputs.{each}]\ntype = "text"\nlabel = "What it shows"\nchars_max = 1000\n' for each in inputs
    )


def _draw(
    step: str,
    prompt: str,
    *,
    asked: int = 1,
    outputs: tuple[str, ...] = ("still",),
    deadline_s: int = 900,
    extras: str = "",
) -> str:
    return f"""
[[steps]]
name = "{step}"
provider = "reapi"
operation = "image"
model = "gemini-3.1-flash-image-preview"
deadline_s = {deadline_s}

[steps.request]
model = {{ ref = "step.model" }}
prompt = {{ ref = "inputs.{prompt}" }}
size = "16:9"
n = {asked}

{extras}
""" + "".join(f'[[steps.outputs]]\nname = "{each}"\nkind = "image"\nwidth_px = 64\n' for each in outputs)
