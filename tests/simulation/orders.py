"""The recipes and orders of the simulation: small chains of a still and a clip."""

from collections.abc import Sequence
from functools import cache

from onetake.domain.recipe import Recipe
from onetake.domain.recipe_toml import parse_recipe
from onetake.engine.orders import Order, Terms, prepare

_CHAIN = """
[recipe]
name = "NAME"
version = 1
key = ["prompt"]
partial = "PARTIAL"

[inputs.prompt]
type = "text"
chars_max = 100

[[steps]]
name = "image"
provider = "reapi"
operation = "image"
model = "model-image"
deadline_s = 120

[steps.request]
model = { ref = "step.model" }
prompt = { ref = "inputs.prompt" }
n = COUNT

[steps.repeats]
count_max = 3
elapsed_s_max = 600
REPLACEMENT
OUTPUTS
[[steps]]
name = "video"
provider = "reapi"
operation = "video"
model = "model-video"
needs = ["image"]
deadline_s = 120

[steps.request]
model = { ref = "step.model" }
prompt = { ref = "inputs.prompt" }
image_with_roles = [{ url = { ref = "steps.image.outputs.still" }, role = "first_frame" }]

[steps.repeats]
count_max = 3
elapsed_s_max = 600
REPLACEMENT
[[steps.outputs]]
name = "clip"
kind = "video"
ratio = "16:9"
duration_ms = 1000
"""

_OUTPUT = '\n[[steps.outputs]]\nname = "NAME"\nkind = "image"\nratio = "16:9"\nshort_side_px_min = 16\n'
_PRICE = '\n[steps.price]\ncredits = 7\nspend_micros_max = 100\ncurrency = "USD"\n'
_VIDEO = '[[steps]]\nname = "video"'
_REPLACEMENT = '\n[steps.replacement]\nreasons = ["provider_failed"]\ncount_max = 1\n'


def _written(name: str, *, outputs: Sequence[str] = ("still",), replacement: str = "", partial: str = "failed") -> str:
    return (
        _CHAIN.replace("NAME", name)
        .replace("PARTIAL", partial)
        .replace("REPLACEMENT", replacement + _PRICE)
        .replace("COUNT", str(len(outputs)))
        .replace("OUTPUTS", "".join(_OUTPUT.replace("NAME", output) for output in outputs))
    )


RECIPES = {
    "still": _written("still").partition(_VIDEO)[0],
    "chain": _written("chain"),
    "replacing": _written("replacing", replacement=_REPLACEMENT).partition(_VIDEO)[0],
    "pair": _written("pair", outputs=("still", "spare"), partial="incomplete"),
}
"""One still; a still and its clip; a still that is bought again when it failed, once; two stills in one request and a
clip of the first, which may end incomplete."""

TERMS = Terms(accept_up_to=100)
"""More than any of them costs."""

REPLACEMENTS_MAX = {"still": 0, "chain": 0, "replacing": 1, "pair": 0}


@cache
def _recipe(name: str) -> Recipe:
    return parse_recipe(RECIPES[name], f"{name}.toml")


@cache
def order(recipe: str, number: int) -> Order:
    """The order of that number, prepared once: no two have the same prompt."""
    return prepare(_recipe(recipe), RECIPES[recipe], inputs={"prompt": f"order number {number}"})
