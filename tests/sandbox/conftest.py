"""A tiny sandbox for each test, with its client."""

from collections.abc import AsyncIterator

import pytest

from tests.sandbox.client import Client, sandboxed


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with sandboxed() as client:
        yield client
