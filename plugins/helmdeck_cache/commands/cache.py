"""``helmdeck cache``: shows and deletes stored answers."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import Command, ConfigError, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, make_deck, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_cache.caches import ResponseCaches
    from helmdeck_core import Mistake, Runtime

MEMORY_NOTE = "answers in memory belong to the process that serves; set [cache] store to sqlite:PATH or redis://HOST"


def configure_stats(_: argparse.ArgumentParser) -> None:
    """Add the options: there are none."""


def configure_clear(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--caller", metavar="NAME", help="only the answers of this caller")
    parser.add_argument("--team", metavar="NAME", help='only the answers of this team, with [cache] tenant = "team"')


def stats(arguments: argparse.Namespace) -> int:
    """Show the figures of each cache."""
    found = _with_caches(arguments, lambda caches: caches.stats())
    found.pop("calls")
    if arguments.json:
        show_json(found)
        return ExitCode.OK
    names = ("answers", "bytes", "tenants")
    rows = [
        (name, *(f"{figures[each]:,}" if each in figures else "" for each in names)) for name, figures in found.items()
    ]
    show(table(rows, ("cache", *names), right={1, 2, 3}))
    return ExitCode.OK


def clear(arguments: argparse.Namespace) -> int:
    """Delete answers."""
    if arguments.caller is not None and arguments.team is not None:
        raise UsageError("--caller and --team exclude one another")
    tenant = None
    if arguments.caller is not None:
        tenant = f"caller:{arguments.caller}"
    elif arguments.team is not None:
        tenant = f"team:{arguments.team}"
    count = _with_caches(arguments, lambda caches: caches.clear(tenant))
    if arguments.json:
        show_json({"deleted": count})
    else:
        show(f"{count:,} answer{'' if count == 1 else 's'} deleted")
    return ExitCode.OK


def _with_caches(arguments: argparse.Namespace, action: Callable[[ResponseCaches], Awaitable[Any]]) -> Any:
    """Run an action on the configured caches."""
    from helmdeck_cache.caches import ResponseCaches
    from helmdeck_storage import StorageError

    with make_deck(arguments) as deck:
        caches = ResponseCaches(deck.runtime)
        if caches.settings.store_url().startswith("memory:"):
            note(MEMORY_NOTE)

        import asyncio  # as the modules of all commands are imported for each of them

        async def run() -> Any:
            try:
                return await action(caches)
            finally:
                await caches.aclose()

        try:
            return asyncio.run(run())
        except StorageError as exc:
            raise UsageError(f"{exc}; [cache] store names the store") from exc


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands."""
    group = "stored answers of earlier calls"
    return (
        Command(
            name="cache stats",
            summary="show how many answers the response caches have",
            group_summary=group,
            configure=configure_stats,
            run=stats,
            check=check,
            order=96,
        ),
        Command(
            name="cache clear",
            summary="delete the answers of response caches",
            group_summary=group,
            configure=configure_clear,
            run=clear,
            order=96,
        ),
    )


def check(runtime: Runtime) -> Sequence[Mistake]:
    """Return the mistakes of ``[cache]``."""
    from helmdeck_cache.settings import CacheSettings
    from helmdeck_storage import driver_mistakes

    try:
        settings = CacheSettings.read(runtime)
    except ConfigError as exc:
        return exc.mistakes
    try:
        return driver_mistakes("cache.store", settings.store_url())
    except ConfigError:  # the variable or file of its reference may exist only where the gateway runs
        return ()
