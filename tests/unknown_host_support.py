"""A host that no name server knows, without asking one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.faults.cases import UNKNOWN_HOST


@pytest.fixture
def unknown_host() -> Iterator[None]:
    """Let ``UNKNOWN_HOST`` have no address."""
    real = asyncio.BaseEventLoop.getaddrinfo

    async def getaddrinfo(self: asyncio.BaseEventLoop, host: Any, port: Any, **options: Any) -> Any:
        if host == UNKNOWN_HOST:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return await real(self, host, port, **options)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
        yield
