"""``helmdeck serve``: the gateway on the command line."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_cli import port_number, whole_number
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, note, read_config

if TYPE_CHECKING:
    from helmdeck_core import EventSink, LoadedConfig, Mistake, Runtime
    from helmdeck_gateway.settings import GatewaySettings

REQUESTS = "requests"
"""The sink of the request log, which the console shows."""

MISSING = "the gateway needs starlette and uvicorn; pip install 'helmdeck[serve]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the server."""
    parser.epilog = (
        "Clients use http://HOST:PORT/v1 as the base URL of OpenAI's API, and http://HOST:PORT for Anthropic's. "
        "Options override [gateway] in helmdeck.toml. SIGHUP reloads the configuration, SIGTERM completes the requests "
        "under way and stops."
    )
    parser.add_argument(
        "--host", metavar="ADDRESS", help="the interface to listen on; default: 127.0.0.1; others need keys"
    )
    parser.add_argument("--port", metavar="N", type=port_number, help="the port; default: 8930; 0: any free port")
    parser.add_argument("--workers", metavar="N", type=whole_number, help="processes that serve requests; default: 1")
    parser.add_argument("--no-traces", action="store_true", help="store no call traces for helmdeck explain --run")
    parser.add_argument("--worker", metavar="PIPES", default="", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the operator ends it."""
    try:
        import starlette
        import uvicorn  # noqa: F401 (only to see whether the extra is installed)
    except ImportError as exc:
        raise UsageError(MISSING) from exc
    del starlette
    import asyncio
    import signal

    from helmdeck_gateway.http_server.config_source import ConfigSource
    from helmdeck_gateway.http_server.server import Address

    if hasattr(signal, "SIGHUP"):  # it would end the process before the server handles it
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    has_traces = not arguments.no_traces
    source = ConfigSource(
        lambda: with_sinks(read_config(arguments), has_traces=has_traces),
        lambda settings: with_options(settings, arguments),
    )
    if arguments.worker:
        asyncio.run(_work(source, arguments.worker))
        return ExitCode.OK
    deck, settings = source.open()
    address = Address(host=settings.host, port=settings.port)
    address.check(settings)
    clients = clients_of(settings)
    listener = address.listen()
    announcement = f"serving {clients} on {address.url(listener)}"
    console = f"\nthe console is at {address.url(listener)}/console" if _has_console(source.loaded) else ""
    if settings.workers == 1:
        from helmdeck_gateway.app import Gateway
        from helmdeck_gateway.http_server.live_gateway import LiveGateway
        from helmdeck_gateway.http_server.server import serve

        live = LiveGateway(Gateway(deck, settings), source)
        with contextlib.suppress(KeyboardInterrupt):  # requests under way have been completed
            asyncio.run(serve(live, listener, lambda: note(f"{announcement}; Ctrl-C stops it{console}")))
        return ExitCode.OK
    deck.close()
    return _supervise(
        arguments, settings, listener, f"{announcement} with {settings.workers} workers; Ctrl-C stops them{console}"
    )


async def _work(source: Any, option: str) -> None:
    """Serve as one of several workers."""
    import socket

    from helmdeck_gateway.app import Gateway
    from helmdeck_gateway.http_server.live_gateway import LiveGateway
    from helmdeck_gateway.http_server.server import serve
    from helmdeck_gateway.http_server.shared_metrics import SharedMetrics
    from helmdeck_gateway.http_server.workers import WorkerPipes

    pipes = WorkerPipes.read(option)
    deck, settings = source.open()
    gateway = Gateway(deck, settings)
    gateway.counters.shared = SharedMetrics(Path(pipes.folder))
    live = LiveGateway(gateway, source, pipes.report)
    await serve(live, socket.socket(fileno=pipes.listener), pipes.report_start, pipes.on_end_of_parent)


def _supervise(arguments: argparse.Namespace, settings: GatewaySettings, listener: Any, announcement: str) -> int:
    import asyncio

    try:
        from helmdeck_gateway.http_server.workers import Supervisor
    except ImportError as exc:
        raise UsageError("several workers need a POSIX system; start several processes behind a proxy instead") from exc

    async def supervise() -> int:
        supervisor = Supervisor(
            worker_command(arguments),
            listener.fileno(),
            settings.workers,
            drain_s=settings.drain_s,
            on_started=lambda: note(announcement),
        )
        return await supervisor.run()

    with listener:
        return asyncio.run(supervise())


def worker_command(arguments: argparse.Namespace) -> list[str]:
    """Return the command line of a worker: that of the parent, as far as it concerns the configuration."""
    words = [sys.executable, "-m", "helmdeck_core.cli", "serve"]
    if arguments.config is not None:
        words += ["--config", str(arguments.config)]
    for name in arguments.disable_plugin:
        words += ["--disable-plugin", name]
    words += ["--no-plugins"] if arguments.no_plugins else []
    words += ["--log-level", arguments.log_level] if arguments.log_level else []
    words += ["--traceback"] if arguments.traceback else []
    return [*words, *(["--no-traces"] if arguments.no_traces else [])]


def with_options(settings: GatewaySettings, arguments: argparse.Namespace) -> GatewaySettings:
    """Return settings with the options of the command line, and with the store that several workers need.

    :raises UsageError: an option is out of range.
    """
    from helmdeck_gateway.settings import AT_MOST
    from helmdeck_gateway.stores import default_path

    if arguments.workers is not None and not 1 <= arguments.workers <= AT_MOST["workers"]:
        raise UsageError(f"--workers must be from 1 to {AT_MOST['workers']}, found {arguments.workers}")
    options = {name: getattr(arguments, name) for name in ("host", "port", "workers")}
    settings = attrs.evolve(settings, **{name: value for name, value in options.items() if value is not None})
    if settings.store is None and (settings.workers > 1 or arguments.worker):
        settings = attrs.evolve(settings, store=f"sqlite:{default_path()}")
    return settings


def clients_of(settings: GatewaySettings) -> str:
    """Return which clients a gateway serves, for the line that it prints at its start."""
    from helmdeck_storage import StorageError

    if settings.sign_in:
        return "clients with a token or key"
    try:
        has_keys = settings.requires_keys or _has_keys(settings)
    except StorageError as exc:
        return f"clients once the store of keys answers ({exc})"
    if has_keys:
        return "clients with a key"
    return "clients with the key" if settings.key is not None else "every local client"


def _has_keys(settings: GatewaySettings) -> bool:
    """Whether the store has a key, which closes the gateway to clients without one."""
    import asyncio

    from helmdeck_gateway.stores import default_path, open_store

    url = settings.store_url() or (f"sqlite:{default_path()}" if default_path().exists() else "memory:")

    async def read() -> bool:
        store = open_store(url)
        try:
            return bool(await store.list_keys())
        finally:
            await store.aclose()

    return asyncio.run(read())


def with_sinks(loaded: LoadedConfig, *, has_traces: bool) -> LoadedConfig:
    """Return a configuration with the event sinks of the gateway, for its headers and for call traces."""
    from helmdeck_gateway.calls.call_record import SINK

    events = loaded.config.events
    # The request log of the console holds traces as well, and more of them.
    traces = REQUESTS if _has_console(loaded) else "traces"
    wanted = (SINK, traces) if has_traces else (SINK,)
    added = (each for each in wanted if each not in loaded.config.plugins.disable)
    sinks = tuple(dict.fromkeys((*events.sinks, *added)))
    options = events.options
    store = loaded.config.gateway.get("store")
    if REQUESTS in sinks and _is_postgres(store) and not options.get(REQUESTS, {}).get("url"):
        # Several hosts that share a database also share the log of their requests.
        options = {**options, REQUESTS: {**options.get(REQUESTS, {}), "url": store}}
    return attrs.evolve(
        loaded, config=attrs.evolve(loaded.config, events=attrs.evolve(events, sinks=sinks, options=options))
    )


def _has_console(loaded: LoadedConfig) -> bool:
    from importlib.util import find_spec

    is_wanted = (
        loaded.config.gateway.get("console", True) is not False and "console" not in loaded.config.plugins.disable
    )
    return is_wanted and find_spec("jinja2") is not None


def _is_postgres(store: Any) -> bool:
    from helmdeck_core import SecretRef

    kind, _, target = store.partition(":") if isinstance(store, str) else ("", "", "")
    url = SecretRef(kind, target).read() if kind in ("env", "file") else store
    return isinstance(url, str) and url.startswith(("postgresql:", "postgres:"))


def check(runtime: Runtime) -> Sequence[Mistake]:
    """Return the mistakes of ``[gateway]`` and ``[guards]``."""
    from helmdeck_gateway.http_server.config_source import gateway_mistakes
    from helmdeck_guards import guard_mistakes

    return (*gateway_mistakes(runtime), *guard_mistakes(runtime))


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink for the requests of the gateway."""
    from helmdeck_core import EventSink
    from helmdeck_gateway.calls.call_record import SINK, RecordSink

    return (EventSink(name=SINK, open=RecordSink, summary="call ids and models for the headers of the gateway"),)


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``serve``."""
    return (
        Command(
            name="serve",
            summary="serve the APIs of OpenAI, Anthropic and Gemini to existing clients",
            configure=configure,
            run=run,
            check=check,
            order=94,
        ),
    )
