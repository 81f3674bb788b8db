"""``helmdeck console``: shows recorded requests in a browser, without a gateway; ``--demo`` shows an example day."""

from __future__ import annotations

import argparse
import contextlib
import gc
import secrets
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from helmdeck_cli import listen, port_number, shown_host
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, make_deck, note, read_config

if TYPE_CHECKING:
    from helmdeck_console.application import Console

PORT = 8931
HOST = "127.0.0.1"
MISSING = "the console needs starlette, uvicorn and jinja2; pip install 'helmdeck[serve]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        'Requests are recorded by the event sink "requests": [events] sinks = ["requests"] in helmdeck.toml. The gateway serves '
        "its own console at /console. The console of this command is for this machine alone, and the link signs in."
    )
    parser.add_argument("--demo", action="store_true", help="show an example day, without sign-in")
    parser.add_argument(
        "--port", metavar="N", type=port_number, default=PORT, help="the port; default: 8931; 0: any free one"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until the operator ends it."""
    try:
        import jinja2
        import starlette  # noqa: F401 (only to see whether the extra is installed)
        import uvicorn
    except ImportError as exc:
        raise UsageError(MISSING) from exc
    del jinja2, uvicorn
    import asyncio  # as the modules of all commands are imported for each of them

    with listen(HOST, arguments.port) as listener:
        url = f"http://{shown_host(HOST)}:{listener.getsockname()[1]}/console/"
        if arguments.demo:
            from helmdeck_console.demo.console import example_console

            console = example_console()
        else:
            token = secrets.token_urlsafe(24)
            console = _recorded(arguments, token)
            url = f"{url}sign-in/link?token={token}"
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(console, listener, lambda: note(f"the console is at {url}; Ctrl-C stops it")))
        console.sources.deck.close()
    return ExitCode.OK


def _recorded(arguments: argparse.Namespace, token: str) -> Console:
    """The console over the request log of the configuration, or else over the stored traces."""
    from helmdeck_console.application import Console
    from helmdeck_console.sources import recorded_sources
    from helmdeck_console.web.access import Access

    return Console(
        recorded_sources(make_deck(arguments), read_config(arguments)), Access(lambda: None, link_token=token)
    )


async def _serve(console: Console, listener: socket.socket, on_started: Callable[[], None]) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = Starlette(routes=[Mount("/console", app=console)])
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", server_header=False)
    )
    gc.freeze()  # a collection that looks at all modules takes longer than a page
    on_started()  # the socket listens already, so that a connection waits for the server
    await server.serve(sockets=[listener])


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``console``."""
    summary = "show recorded requests in a browser, or an example day"
    return (Command(name="console", summary=summary, configure=configure, run=run, order=95),)
