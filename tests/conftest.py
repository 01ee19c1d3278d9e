"""What every test shares: the event loop is asyncio's."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
