"""Transports that are the real one, with somebody looking on."""

from collections.abc import Callable

from onetake.domain.wire import WireRequest, WireResult
from onetake.providers.transport import Credential, Transport


class NoticedTransport:
    """A transport that says when something is about to be asked; POSTs pass as they are."""

    def __init__(self, inner: Transport, notice: Callable[[], None]) -> None:
        """Wrap a transport; `notice` is called before each GET."""
        self.post_once, self.aclose = inner.post_once, inner.aclose
        self._get, self._notice = inner.get, notice

    async def get(self, request: WireRequest, *, credential: Credential | None, timeout_s: float) -> WireResult:
        """What came of the GET."""
        self._notice()
        return await self._get(request, credential=credential, timeout_s=timeout_s)
