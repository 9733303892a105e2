"""Signed, expiring addresses for outputs, like those of an object store.

The signature is Base64, so its `+`, `/` and `=` travel percent-encoded: a client that rewrites an address on the way
spoils it, as it would with the real ones.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode


class AddressError(Exception):
    """The address opens nothing; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Makes and checks addresses.

    Attributes:
        secret: what signs them.
        ttl_s: how long one works.
    """

    secret: bytes
    ttl_s: int

    @classmethod
    def of(cls, seed: str, ttl_s: int) -> "Addresses":
        """Addresses that stay good when a sandbox is started again with its seed."""
        return cls(secret=hashlib.blake2b(f"addresses {seed}".encode()).digest(), ttl_s=ttl_s)

    def sign(self, name: str, number: int, now_s: float) -> str:
        """The path and query under which a file can be had from now on."""
        expires = int(now_s) + self.ttl_s
        query = {"expires": expires, "number": number, "signature": self._signature(name, str(expires), str(number))}
        return f"/files/{name}?{urlencode(query)}"

    def check(self, name: str, query: Mapping[str, str], now_s: float) -> int:
        """The number that was signed into the address.

        Raises:
            AddressError: forged, spoiled or expired.
        """
        expires, number = query.get("expires", ""), query.get("number", "")
        given = query.get("signature", "").encode()
        if not hmac.compare_digest(self._signature(name, expires, number).encode(), given):
            raise AddressError("the signature does not match")
        if int(expires) <= now_s:
            raise AddressError("the address has expired")
        return int(number)

    def _signature(self, name: str, expires: str, number: str) -> str:
        message = f"{name}\n{expires}\n{number}".encode()
        return base64.b64encode(hmac.digest(self.secret, message, "sha256")).decode()
