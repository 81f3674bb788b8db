"""``helmdeck run``: run an installed pack with checked input."""

from __future__ import annotations

import argparse
from typing import Any

from helmdeck_core.cli import exits, options, printing


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("pack", metavar="PACK", help="the pack's name; a name that does not exist lists those that do")
    parser.add_argument(
        "--input",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one input, JSON if it parses; may be repeated, and outranks --input-file",
    )
    parser.add_argument("--input-file", metavar="FILE", help="a JSON object with inputs; - is standard input")
    parser.add_argument(
        "--model", metavar="PROVIDER/MODEL", help="who is asked where the pack asks; else the configured model"
    )
    options.add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the pack and print its output as JSON, with and without ``--json``."""
    given = {**_from_file(arguments.input_file), **options.pairs(arguments.input, "--input")}
    from helmdeck_core.cli.progress import wait_for

    deck = options.make_deck(arguments)
    output = wait_for(
        deck,
        f"running {arguments.pack}",
        lambda progress: deck.arun(arguments.pack, given, model=arguments.model, progress=progress),
    )
    printing.show_json(dict(output))
    return exits.OK


def _from_file(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        data = options.read_json(options.read_input(path))
    except (ValueError, RecursionError) as exc:
        raise exits.UsageError(f"{path}: not valid JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise exits.UsageError(f"{path}: the input is a JSON object, found {type(data).__name__}")
    return data


ACTIONS: options.Actions = {"": (configure, run)}
