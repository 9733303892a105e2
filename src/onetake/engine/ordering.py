"""What is asked before an order is taken: can this recipe run here, and is its model offered to our key?"""

from onetake.domain.errors import BadValueError, MediaError
from onetake.domain.recipe import Recipe
from onetake.domain.recipe_contracts import check_contracts
from onetake.engine import models
from onetake.engine.parts import Parts
from onetake.media.decoder import VIDEO_HINT, can_decode


async def check_orderable(parts: Parts, recipe: Recipe) -> None:
    """Return if jobs may be made from the recipe.

    Where nobody can be asked which models are offered, the job is taken and the question is asked again before
    the first POST.

    Raises:
        BadValueError: a model isn't offered to our key.
        RecipeError: there is no such provider or operation, or a request lacks what its contract wants.
        MediaError: an output can't be checked here, with the way to install what is missing.
        ProviderError: there is no key, or the provider refuses it.
    """
    check_contracts(recipe, {name: adapter.contract for name, adapter in parts.adapters.items()}, recipe.name)
    for step in recipe.steps:
        if step.kind != "generate":
            continue
        if not all(can_decode(str(output.spec["kind"])) for output in step.outputs):
            raise MediaError(VIDEO_HINT)
        offered = await models.offered(parts, step.provider)
        if offered is not None and step.model not in offered:
            raise BadValueError(
                f"{step.provider} doesn't offer our key the model {step.model} (step {step.name} of {recipe.name});"
                f" it offers: {', '.join(offered)[:200]}."
            )
