"""Small recipes for the engine's tests: one still; two in one request; two apart; one from the other."""

STILL = """
[recipe]
name = "still"
version = 1
title = "One still"
key = ["prompt"]

[inputs.prompt]
type = "text"
label = "What it shows"
chars_max = 1000

[[steps]]
name = "draw"
provider = "reapi"
operation = "image"
model = "gemini-3.1-flash-image-preview"
EXTRAS

[steps.request]
model = { ref = "step.model" }
prompt = { ref = "inputs.prompt" }
size = "16:9"
n = 1

[[steps.outputs]]
name = "still"
kind = "image"
width_px = 64
"""

ONE_REPLACEMENT = '[steps.replacement]\nreasons = ["provider_failed"]\ncount_max = 1'
"""A table for `still`: what fails may be bought once more."""


def still(extras: str = "", *, name: str = "still", deadline_s: int | None = None) -> str:
    """A recipe for one still; `extras` are further tables of its step, such as `[steps.repeats]`."""
    deadline = "" if deadline_s is None else f"deadline_s = {deadline_s}"
    written = STILL.replace("EXTRAS", deadline).replace('name = "still"\nversion', f'name = "{name}"\nversion')
    return written.replace("[[steps.outputs]]", f"{extras}\n[[steps.outputs]]")


def stills(*, asked: int, expected: int, partial: str = "failed", then: str = "") -> str:
    """One request for several stills; `asked` of the provider, `expected` by the recipe; `then` adds steps."""
    outputs = "".join(f'[[steps.outputs]]\nname = "still{n}"\nkind = "image"\nwidth_px = 64\n' for n in range(expected))
    head, _, _ = STILL.replace("EXTRAS", "").partition("[[steps.outputs]]")
    head = head.replace("n = 1", f"n = {asked}").replace('key = ["prompt"]', f'key = ["prompt"]\npartial = "{partial}"')
    return head.replace('name = "still"', 'name = "stills"', 1) + outputs + then


def clip_of(output: str) -> str:
    """A further step that moves an output of the step before."""
    return f"""
[[steps]]
name = "move"
provider = "reapi"
operation = "video"
model = "wan3.0-video"
needs = ["draw"]

[steps.request]
model = {{ ref = "step.model" }}
prompt = "slow push-in"
image_with_roles = [{{ url = {{ ref = "steps.draw.outputs.{output}" }}, role = "first_frame" }}]
size = "16:9"
resolution = "720p"
duration = 1

[[steps.outputs]]
name = "clip"
kind = "video"
duration_s = 1
"""


def apart(*, partial: str = "failed") -> str:
    """Two steps that need nothing of each other: a still in day, a still in night."""
    head, _, rest = STILL.replace("EXTRAS", "").partition("[[steps]]")
    steps = [
        "[[steps]]"
        + rest.replace('name = "draw"', f'name = "{name}"').replace('ref = "inputs.prompt"', f'ref = "inputs.{name}"')
        for name in ("day", "night")
    ]
    inputs = "".join(
        f'[inputs.{name}]\ntype = "text"\nlabel = "The scene by {name}"\nchars_max = 1000\n'
        for name in ("day", "night")
    )
    named = head.partition("[inputs.prompt]")[0].replace(
        'key = ["prompt"]', f'key = ["day", "night"]\npartial = "{partial}"'
    )
    return named.replace('name = "still"', 'name = "apart"', 1) + inputs + "".join(steps)
