"""Shared by the tests of the MCP server: packs of every behaviour, decks with them, and an HTTP server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import attrs
import pytest

from helmdeck_cli import listen
from helmdeck_core import CatalogSource, Helmdeck, Pack
from helmdeck_testing import make_deck, plugin_with

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_mcp.client.source import McpSource
from helmdeck_mcp.server.server import make_server
from helmdeck_mcp.server.transports import HttpEndpoint, http_app, http_server

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
"""Both eras of the protocol, as modes of the client."""

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


class Probe:
    """Packs that report what happened to them.

    :ivar callers: the callers of ``probe.who``, in order.
    :ivar started: set when ``probe.wait`` runs.
    :ivar cancelled: set when it was cancelled.
    """

    def __init__(self) -> None:
        self.callers: list[str] = []
        self.started = threading.Event()
        self.cancelled = threading.Event()

    async def double(self, context: Any, value: Mapping[str, Any]) -> Mapping[str, Any]:
        context.progress("doubling")
        return {"n": 2 * value["n"]}

    async def who(self, context: Any, value: Mapping[str, Any]) -> Mapping[str, Any]:
        self.callers.append(context.caller)
        return {"caller": context.caller}

    async def wait(self, context: Any, value: Mapping[str, Any]) -> Mapping[str, Any]:
        self.started.set()
        try:
            await asyncio.sleep(value.get("seconds", 3_600))
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return {"is_done": True}

    async def fail(self, context: Any, value: Mapping[str, Any]) -> Mapping[str, Any]:
        raise ZeroDivisionError("a fault of the pack")

    async def large(self, context: Any, value: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"text": "x" * value["n"]}

    def packs(self) -> list[Pack]:
        """The packs."""
        schema = {"input_schema": COUNT, "output_schema": COUNT}
        reads = {"annotations": {"readOnlyHint": True, "destructiveHint": False}}
        return [
            Pack(
                name="probe.double",
                version="1",
                description="Double a number.",
                run=self.double,
                metadata=reads,
                **schema,
            ),
            Pack(name="probe.who", version="1", description="Return the caller.", run=self.who),
            Pack(name="probe.wait", version="1", description="Wait a long time.", run=self.wait),
            Pack(name="probe.fail", version="1", description="Fail always.", run=self.fail),
            Pack(
                name="probe.large", version="1", description="Return a long text.", run=self.large, input_schema=COUNT
            ),
        ]

    def deck(self, **config: Any) -> Helmdeck:
        """A deck with these packs only."""
        return make_deck(plugin_with(helmdeck_packs=self.packs()), config={"catalog": {"sources": ["packs"]}, **config})


def changes_of() -> tuple[object, queue.Queue[list[str]]]:
    """A plugin whose source ``mcp`` also puts the ids of every changed catalog into a queue."""
    changes: queue.Queue[list[str]] = queue.Queue()

    def open_source(settings: Any) -> McpSource:
        def change(catalog: Any) -> None:
            settings.change(catalog)
            changes.put([entry.id for entry in catalog.entries])

        return McpSource(attrs.evolve(settings, change=change))

    return plugin_with(helmdeck_catalog_sources=[CatalogSource(name="mcp", open=open_source)]), changes


@contextlib.contextmanager
def serving(deck: Helmdeck, endpoint: HttpEndpoint, *, is_facade: bool = False) -> Iterator[str]:
    """Serve a deck over HTTP in a thread; yields the base URL, and closes the deck."""
    listener = listen(endpoint.host, endpoint.port)
    server = http_server(http_app(deck, endpoint, is_facade=is_facade), endpoint.limits)

    async def run() -> None:
        async with deck:
            await server.serve(sockets=[listener])

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
        assert not thread.is_alive()


@contextlib.asynccontextmanager
async def client_of(target: Any, mode: str = "auto", **options: Any) -> AsyncIterator[Any]:
    """A client of the official SDK."""
    from mcp.client import Client

    async with Client(target, mode=mode, **options) as client:
        yield client


def on_client(use: Any, deck: Helmdeck | None = None, era: str = "auto", **options: Any) -> Any:
    """Run ``use`` with a client of a server in this process; the deck is closed."""

    async def main() -> Any:
        async with deck or Probe().deck() as open_deck, client_of(make_server(open_deck, **options), era) as client:
            return await use(client)

    return asyncio.run(main())
