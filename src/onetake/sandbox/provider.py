"""The provider that the routes speak for: its options, its bill, its faults, its studio."""

import hmac
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from onetake.sandbox.addresses import Addresses
from onetake.sandbox.bill import Bill
from onetake.sandbox.faults import FaultPlan
from onetake.sandbox.options import SandboxOptions
from onetake.sandbox.orders import RefusedError
from onetake.sandbox.studio import Studio


@dataclass(slots=True, kw_only=True)
class Provider:
    """Everything that a route may touch.

    Attributes:
        options: as given at the start.
        bill: the truth.
        plan: which fault strikes when.
        studio: where tasks live.
        addresses: how files are reached.
        client: fetches first frames that lie elsewhere on this machine.
        base_url: the origin; known once the server listens.
        polls: how many were asked.
        downloads: how many were asked for.
    """

    options: SandboxOptions
    bill: Bill
    plan: FaultPlan
    studio: Studio
    addresses: Addresses
    client: aiohttp.ClientSession
    base_url: str = ""
    polls: int = 0
    downloads: int = 0


PROVIDER = web.AppKey("provider", Provider)


def check_key(request: web.Request) -> None:
    """Let holders of a key pass, and everybody when no keys are set.

    Raises:
        RefusedError: 401.
    """
    keys = request.app[PROVIDER].options.keys
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    is_known = scheme.lower() == "bearer" and any(hmac.compare_digest(key.encode(), given.encode()) for key in keys)
    if keys and not is_known:
        raise RefusedError(401, "invalid_api_key", "the API key is missing or wrong")
