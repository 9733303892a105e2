"""A recipe that says everything a recipe can say, and the shipped one."""

from importlib.resources import files

from onetake.domain.recipe import Recipe
from onetake.domain.recipe_toml import parse_recipe

FULL = """
[recipe]
name = "two-halves"
version = 3
title = "Two halves"
summary = "Draws, cuts and joins."
key = ["order", "cut_s"]
partial = "incomplete"

[inputs.order]
type = "integer"
label = "Order number"
min = 1
max = 9999

[inputs.words]
type = "text"
chars_min = 2
chars_max = 100
bytes_max = 300

[inputs.strength]
type = "number"
min = 0.0
max = 1
default = 0.25

[inputs.loud]
type = "boolean"
default = false

[inputs.cut_s]
type = "choice"
choices = [5, 12, 23]

[inputs.ratio]
type = "choice"
choices = ["16:9", "1:1"]
default = "1:1"

[[steps]]
name = "draw"
kind = "generate"
provider = "reapi"
operation = "image"
model = "painter-2"
deadline_s = 60

[steps.request]
model = { ref = "step.model" }
text = { ref = "inputs.words" }
nested = [[{ strength = { ref = "inputs.strength" } }], "as it is", 2.50]

[steps.repeats]
count_max = 3
elapsed_s_max = 100

[steps.replacement]
reasons = ["provider_failed"]
count_max = 2

[steps.price]
credits = 4
spend_micros_max = 40000
currency = "USD"

[[steps.outputs]]
name = "left"
kind = "image"
media_types = ["image/png"]
width_px = { ref = "inputs.order" }
height_px = 100

[[steps.outputs]]
name = "right"
kind = "image"
ratio = { ref = "inputs.ratio" }

[[steps]]
name = "join"
kind = "process"
operation = "join"
needs = ["draw"]

[[steps.outputs]]
name = "sound"
kind = "audio"
duration_s = { ref = "inputs.cut_s" }

[[steps]]
name = "move"
provider = "reapi"
operation = "video"
model = "mover-1"
needs = ["draw", "join"]

[steps.request]
first = { url = { ref = "steps.draw.outputs.left" }, again = { ref = "steps.draw.outputs.left" } }
last = { ref = "steps.draw.outputs.right" }
loud = { ref = "inputs.loud" }

[steps.handoff]
draw.left = "upload"

[[steps.outputs]]
name = "clip"
kind = "video"
duration_ms = 5000
fps = 24
ratio_tolerance = 0.05
video_codecs = ["h264"]
audio_codecs = ["aac"]
audio = "required"
"""


def full() -> Recipe:
    """The recipe of `FULL`."""
    return parse_recipe(FULL, "full.toml")


def shipped(name: str) -> Recipe:
    """A recipe that comes with the package."""
    return parse_recipe((files("onetake") / "recipes" / f"{name}.toml").read_bytes(), f"{name}.toml")
