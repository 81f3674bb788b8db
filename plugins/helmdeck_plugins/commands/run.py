"""``helmdeck run``: runs an installed pack, or an entry that its source runs, with validated input."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from helmdeck_command_kit import add_catalog, pairs, read_input, read_json, wait_for
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, make_deck, show_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "pack",
        metavar="PACK",
        help="the name of the pack, or the id of an entry such as a tool of an MCP server; an unknown name lists the packs",
    )
    parser.add_argument(
        "--input",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one input, JSON if it parses; may be repeated; overrides --input-file",
    )
    parser.add_argument("--input-file", metavar="FILE", help="a JSON object with inputs; - is standard input")
    parser.add_argument(
        "--model", metavar="PROVIDER/MODEL", help="the model for calls of the pack; default: the configured model"
    )
    add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the pack and print its output as JSON, with and without ``--json``."""
    inputs = {**_read_object(arguments.input_file), **pairs(arguments.input, "--input")}
    deck = make_deck(arguments)
    output = wait_for(
        deck,
        f"running {arguments.pack}",
        lambda progress: deck.arun(arguments.pack, inputs, model=arguments.model, progress=progress),
    )
    show_json(dict(output))
    return ExitCode.OK


def _read_object(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        data = read_json(read_input(path))
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"{path}: not valid JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise UsageError(f"{path}: the input must be a JSON object, found {type(data).__name__}")
    return data


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``run``."""
    return (
        Command(
            name="run",
            summary="run an installed pack, or a tool of an MCP server",
            configure=configure,
            run=run,
            order=30,
        ),
    )
