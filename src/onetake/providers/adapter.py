"""A provider as the engine uses it: a contract, an account, and the requests that follow from both.

The wire of a provider that is described by its contract alone needs no code of its own; reAPI is one.
"""

from dataclasses import dataclass

from onetake.config import ProviderSettings
from onetake.domain import answers
from onetake.domain.canonical import to_wire_json
from onetake.domain.contract import Contract
from onetake.domain.errors import ProviderError
from onetake.domain.jsonvalue import Json
from onetake.domain.lookups import lookup_path
from onetake.domain.recognition import Sent
from onetake.domain.wire import WireRequest
from onetake.providers.catalogue import contract_of, list_contracts, load_contract
from onetake.providers.transport import Credential

__all__ = ["DEFAULT_ORIGINS", "Adapter", "list_contracts", "load_contract"]

_JSON = (("Content-Type", "application/json"), ("Accept", "application/json"))
_ASK = (("Accept", "application/json"),)

DEFAULT_ORIGINS = {"reapi": "https://reapi.ai"}
"""Where each provider answers unless the settings say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One provider account. Its key is in `settings` and leaves only as a `Credential`."""

    name: str
    contract: Contract
    settings: ProviderSettings

    @classmethod
    def of(cls, name: str, settings: ProviderSettings) -> "Adapter":
        """The adapter for a provider that has a contract.

        Raises:
            RecipeError: it has none, or the file that the settings name is wrong.
        """
        return cls(name=name, contract=contract_of(name, settings.contract), settings=settings)

    @property
    def origin(self) -> str:
        """Where the provider answers."""
        return self.settings.base_url or DEFAULT_ORIGINS[self.name]

    def has_key(self) -> bool:
        """Whether a key was set."""
        return bool(self.settings.api_key.get_secret_value())

    def credential(self) -> Credential:
        """Our key as a header.

        Raises:
            ProviderError: no key was set.
        """
        if not self.has_key():
            raise ProviderError(f"No key for {self.name}: set ONETAKE_PROVIDERS__{self.name.upper()}__API_KEY.")
        value = self.contract.auth_format.replace("{key}", self.settings.api_key.get_secret_value())
        return Credential(header=self.contract.auth_header, value=value)

    @property
    def takes_key(self) -> bool:
        """Whether an order carries a key of ours, to be sent again under it or to be found by it."""
        return bool(self._key_places)

    @property
    def _key_places(self) -> tuple[tuple[str, str], ...]:
        """Where our key goes: header and field, one of them empty."""
        promises = (self.contract.idempotency, self.contract.lookup)
        return tuple(dict.fromkeys((each.header, each.field) for each in promises if each.header or each.field))

    def submit_request(self, operation: str, body: Json, *, key: str | None = None) -> WireRequest:
        """The paid POST of a frozen body, as bytes; `key` is ours, where the provider takes one."""
        whole = dict(body) if isinstance(body, dict) else body
        headers: tuple[tuple[str, str], ...] = _JSON
        for header, field in self._key_places if key else ():
            if header:
                headers += ((header, str(key)),)
            elif isinstance(whole, dict):
                whole[field] = str(key)
        path = self.contract.operation(operation).path
        return WireRequest(method="POST", url=self.origin + path, headers=headers, body=to_wire_json(whole))

    def lookup_request(self, *, reference: str, sent: Sent) -> WireRequest:
        """The free GET that asks for a lost request's task."""
        path = lookup_path(self.contract.lookup, reference=reference, sent=sent)
        return WireRequest(method="GET", url=self.origin + path, headers=_ASK)

    def locator(self, accepted: answers.Accepted) -> str:
        """The address to poll, to be saved with the ref: what the answer named, else the contract's path.

        An address elsewhere than at the provider's own origin is not taken: our key goes there with each poll.
        """
        if accepted.locator.startswith(f"{self.origin}/"):
            return accepted.locator
        return self.usual_locator(accepted.ref)

    def usual_locator(self, ref: str) -> str:
        """The address to poll where no answer named another."""
        return self.origin + answers.poll_path(self.contract, ref)

    def poll_request(self, locator: str) -> WireRequest:
        """The free GET that asks about a saved ref.

        Raises:
            ProviderError: the address was saved while the account was elsewhere; our key of today isn't sent there.
        """
        if not locator.startswith(f"{self.origin}/"):
            raise ProviderError(
                f"This task was ordered at another address than {self.origin}, and our key isn't sent there:"
                f" set ONETAKE_PROVIDERS__{self.name.upper()}__BASE_URL back to where it was ordered."
            )
        return WireRequest(method="GET", url=locator, headers=_ASK)

    def models_request(self) -> WireRequest:
        """The free GET that asks which models our key is offered."""
        return WireRequest(method="GET", url=self.origin + self.contract.models_path, headers=_ASK)
