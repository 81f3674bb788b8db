"""``helmdeck serve``: the gateway on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import attrs

from helmdeck_command_kit import whole_number
from helmdeck_core import Command, EventSink, Helmdeck, LoadedConfig, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, read_config
from helmdeck_gateway.call_record import SINK, RecordSink

MISSING = "the gateway needs starlette and uvicorn; pip install 'helmdeck[serve]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the server."""
    parser.epilog = (
        "Clients use http://HOST:PORT/v1 as the base URL of OpenAI's API, and http://HOST:PORT for Anthropic's."
    )
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="default: 127.0.0.1; others need a key")
    parser.add_argument("--port", metavar="N", type=whole_number, default=8930, help="default: 8930; 0: any free port")
    parser.add_argument("--no-traces", action="store_true", help="store no call traces for helmdeck explain --call")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the operator ends it."""
    try:
        import starlette
        import uvicorn  # noqa: F401 (only to see whether the extra is installed)
    except ImportError as exc:
        raise UsageError(MISSING) from exc
    del starlette
    import asyncio

    from helmdeck_gateway.server import Address, serve
    from helmdeck_gateway.settings import GatewaySettings

    loaded = with_sinks(read_config(arguments), has_traces=not arguments.no_traces)
    settings = GatewaySettings.read(loaded.config.gateway)
    address = Address(host=arguments.host, port=arguments.port)
    address.check(settings)
    asyncio.run(serve(Helmdeck(loaded), settings, address))
    return ExitCode.OK


def with_sinks(loaded: LoadedConfig, *, has_traces: bool) -> LoadedConfig:
    """Return a configuration with the event sinks of the gateway, for its headers and for call traces."""
    events = loaded.config.events
    wanted = (SINK, "traces") if has_traces else (SINK,)
    sinks = tuple(
        dict.fromkeys((*events.sinks, *(each for each in wanted if each not in loaded.config.plugins.disable)))
    )
    return attrs.evolve(loaded, config=attrs.evolve(loaded.config, events=attrs.evolve(events, sinks=sinks)))


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink for the requests of the gateway."""
    return (EventSink(name=SINK, open=RecordSink, summary="call ids and models for the headers of the gateway"),)


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``serve``."""
    return (
        Command(
            name="serve",
            summary="serve the APIs of OpenAI and Anthropic to existing clients",
            configure=configure,
            run=run,
            order=94,
        ),
    )
