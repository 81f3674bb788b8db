"""``helmdeck worker``: executes queued runs, and those of processes that ended."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence

from helmdeck_cli import wait_for
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, make_deck, note
from helmdeck_runs.commands.run_records import needing_a_queue


def configure(parser: argparse.ArgumentParser) -> None:
    """Add no options; ``[runs]`` has the limits."""
    parser.set_defaults(catalog_sources=None)


def run(arguments: argparse.Namespace) -> int:
    """Work until the process is stopped: Ctrl-C or SIGTERM leave unfinished runs to other workers."""
    import asyncio
    import signal

    from helmdeck_runs.deck_runs import runs_of

    deck = make_deck(arguments)

    async def work(_: Callable[[str], None]) -> None:
        task = asyncio.ensure_future(runs_of(deck).work())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, task.cancel)
        await asyncio.sleep(0)
        if not task.done():  # an engine without a queue fails at once
            note("waiting for runs; Ctrl-C stops the worker")
        with contextlib.suppress(asyncio.CancelledError):
            await task

    with needing_a_queue():
        wait_for(deck, "working", work)
    return ExitCode.OK


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``worker``."""
    summary = "execute queued runs of pipelines and agents, and those of ended processes"
    return (Command(name="worker", summary=summary, configure=configure, run=run, order=33),)
