"""``helmdeck mcp``: serves a deck to MCP clients, and writes the entry into their configuration."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helmdeck_cli import add_catalog, port_number, whole_number
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, make_deck, note, read_config, show, show_json

if TYPE_CHECKING:
    from helmdeck_mcp.install import client_files
    from helmdeck_mcp.server import transports

MISSING = "the MCP server needs the package mcp; pip install 'helmdeck[mcp]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the server."""
    parser.epilog = (
        "`helmdeck mcp install CLIENT` and `helmdeck mcp uninstall CLIENT` change the configuration of a client."
    )
    parser.add_argument(
        "--facade",
        action="store_true",
        help="offer clients only the tools search, describe, call and plan, which reach the whole catalog",
    )
    add_catalog(parser)
    group = parser.add_argument_group("HTTP")
    group.add_argument("--http", action="store_true", help="serve streamable HTTP instead of standard input and output")
    group.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="the interface to listen on; default: 127.0.0.1; others need --token",
    )
    group.add_argument(
        "--port", metavar="N", type=port_number, default=8931, help="the port; default: 8931; 0: any free port"
    )
    group.add_argument(
        "--token",
        metavar="NAME=REFERENCE",
        action="append",
        default=[],
        help="the bearer token of a caller: env:VARIABLE, file:PATH or sha256:HEX; may be repeated",
    )
    group.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a host name that the Host header may contain; may be repeated",
    )
    group.add_argument(
        "--allow-origin",
        metavar="URL",
        action="append",
        default=[],
        help="an origin of web pages that may send requests; may be repeated",
    )
    group.add_argument(
        "--timeout", metavar="SECONDS", type=whole_number, default=300, help="time limit of one call; default: 300"
    )
    group.add_argument(
        "--rate", metavar="N", type=whole_number, default=50, help="maximum requests per second and caller; default: 50"
    )
    group.add_argument(
        "--max-calls",
        metavar="N",
        type=whole_number,
        default=256,
        help="maximum number of concurrent requests; default: 256",
    )
    group.add_argument(
        "--max-body",
        metavar="BYTES",
        type=whole_number,
        default=1_048_576,
        help="maximum size of a request body; default: 1048576",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client or the operator ends it."""
    try:
        import mcp.server.lowlevel  # noqa: F401 (only to see whether the extra is installed)
    except ImportError as exc:
        raise UsageError(MISSING) from exc
    import asyncio

    from helmdeck_mcp.server import transports

    if not arguments.http:
        if sys.stdin is not None and sys.stdin.isatty():
            note("serving MCP on standard input and output; an MCP client starts this command by itself")
        asyncio.run(transports.serve_stdio(make_deck(arguments), is_facade=arguments.facade))
        return ExitCode.OK
    endpoint = _endpoint(arguments)
    endpoint.check()
    with contextlib.suppress(KeyboardInterrupt):  # calls under way have ended
        asyncio.run(transports.serve_http(make_deck(arguments), endpoint, is_facade=arguments.facade))
    return ExitCode.OK


def _endpoint(arguments: argparse.Namespace) -> transports.HttpEndpoint:
    from helmdeck_mcp.server.limits import HttpLimits
    from helmdeck_mcp.server.tokens import Tokens
    from helmdeck_mcp.server.transports import HttpEndpoint

    for name in ("timeout", "rate", "max_calls", "max_body"):
        if getattr(arguments, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1")
    return HttpEndpoint(
        host=arguments.host,
        port=arguments.port,
        tokens=Tokens.read(arguments.token),
        hosts=frozenset(arguments.allow_host),
        origins=frozenset(origin.lower().rstrip("/") for origin in arguments.allow_origin),
        limits=HttpLimits(
            call_s=arguments.timeout,
            rate=arguments.rate,
            max_calls=arguments.max_calls,
            max_body_bytes=arguments.max_body,
        ),
    )


def configure_install(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    _add_client(parser)
    parser.add_argument("--facade", action="store_true", help="start the server with --facade")


def configure_uninstall(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    _add_client(parser)


def _add_client(parser: argparse.ArgumentParser) -> None:
    from helmdeck_mcp.install.known_clients import CLIENTS

    parser.add_argument("client", metavar="CLIENT", choices=list(CLIENTS), help=", ".join(CLIENTS))
    parser.add_argument("--yes", action="store_true", help="write without asking")


def install(arguments: argparse.Namespace) -> int:
    """Show the change of the client's configuration, ask, and write it."""
    from helmdeck_mcp.install.client_files import added
    from helmdeck_mcp.install.known_clients import CLIENTS

    return _apply(arguments, added(CLIENTS[arguments.client], command_line(arguments)))


def uninstall(arguments: argparse.Namespace) -> int:
    """Remove the entry again."""
    from helmdeck_mcp.install.client_files import removed
    from helmdeck_mcp.install.known_clients import CLIENTS

    return _apply(arguments, removed(CLIENTS[arguments.client]), is_removal=True)


def command_line(arguments: argparse.Namespace) -> list[str]:
    """The command that a client starts: absolute paths, because clients start it in any folder and without a shell."""
    own = Path(sys.executable).with_name("helmdeck.exe" if sys.platform == "win32" else "helmdeck")
    program = str(own) if own.is_file() else shutil.which("helmdeck")
    words = [program] if program else [sys.executable, "-m", "helmdeck_core.cli"]
    words += ["mcp", *(["--facade"] if arguments.facade else [])]
    file = read_config(arguments).file
    return [*words, "--config", str(Path(file).absolute())] if file else words


def _apply(arguments: argparse.Namespace, change: client_files.Change, *, is_removal: bool = False) -> int:
    from helmdeck_mcp.install.known_clients import CLIENTS

    client = CLIENTS[arguments.client]
    facts = {"client": client.name, "file": str(change.path), "is_changed": change.is_needed}
    if not change.is_needed:
        if arguments.json:
            show_json({**facts, "backup": None})
        else:
            show(f"{client.title} is already as requested: {change.path}")
        return ExitCode.OK
    note(change.diff())
    if not arguments.yes and not _is_confirmed(change.path):
        note("nothing was written")
        return ExitCode.OK
    try:
        backup = change.write()
    except OSError as exc:
        raise UsageError(f"{change.path} cannot be written ({exc.strerror or exc}); nothing was changed") from exc
    if arguments.json:
        show_json({**facts, "backup": str(backup) if backup else None})
    else:
        show(f"written: {change.path}" + (f"; the former file is {backup}" if backup else ""))
        if not is_removal:
            show(f"{client.title}: {client.restart}")
    return ExitCode.OK


def _is_confirmed(path: Path) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nothing was written, because there is no terminal to confirm it; --yes writes without asking")
    note(f"Write {path}? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands ``mcp``, ``mcp install`` and ``mcp uninstall``."""
    group = "serve MCP clients"
    return (
        Command(
            name="mcp",
            summary="serve MCP clients over standard input and output or HTTP",
            configure=configure,
            run=run,
            order=95,
        ),
        Command(
            name="mcp install",
            summary="add the server to the configuration of an MCP client",
            group_summary=group,
            configure=configure_install,
            run=install,
            order=96,
        ),
        Command(
            name="mcp uninstall",
            summary="remove the server from the configuration of an MCP client",
            configure=configure_uninstall,
            run=uninstall,
            order=97,
        ),
    )
