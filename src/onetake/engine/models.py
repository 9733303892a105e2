"""Which models a provider account is offered: asked once a day, before anything is bought with it."""

from onetake.domain.answers import models_of
from onetake.domain.errors import ProviderError
from onetake.domain.states import AlarmKind
from onetake.domain.wire import WireResult
from onetake.engine.parts import Parts
from onetake.providers.adapter import Adapter
from onetake.store import alarms, models
from onetake.store.database import Tx

AGE_S_MAX = 86_400.0
"""How long a list is believed: models come and go in days, not in minutes."""

ASK_TIMEOUT_S = 15.0


async def offered(parts: Parts, provider: str, *, is_fresh: bool = False) -> tuple[str, ...] | None:
    """The models offered to our key, from the list kept for a day; None when nobody could be asked.

    Args:
        parts: the engine.
        provider: whose account.
        is_fresh: ask now, whatever is kept.

    Raises:
        ProviderError: there is no key, or the provider refuses it.
    """
    adapter = parts.adapters[provider]
    credential = adapter.credential()
    if not is_fresh:
        kept = await parts.database.read(models.find, provider, age_us_max=round(AGE_S_MAX * 1e6))
        if kept is not None:
            return kept
    result = await parts.transport.get(adapter.models_request(), credential=credential, timeout_s=ASK_TIMEOUT_S)
    _refuse_bad_key(adapter, result)
    found = models_of(adapter.contract, result)
    if found is not None:
        await parts.database.write(_keep, provider, found)
    return found


def _refuse_bad_key(adapter: Adapter, result: WireResult) -> None:
    if result.answer is not None and result.answer.status in adapter.contract.poll.auth:
        raise ProviderError(
            f"{adapter.name} refuses our key (HTTP {result.answer.status}):"
            f" check ONETAKE_PROVIDERS__{adapter.name.upper()}__API_KEY; nothing was bought."
        )


def _keep(tx: Tx, provider: str, found: tuple[str, ...]) -> None:
    models.record(tx, provider, found)
    alarms.clear(tx, provider, AlarmKind.MODEL_LIST, AlarmKind.KEY_REFUSED)
