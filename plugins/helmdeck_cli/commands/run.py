"""``helmdeck run``: runs an installed pack, or an entry that its source runs, with validated input."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_cli.execution import wait_for
from helmdeck_cli.inputs import add_catalog, add_inputs, add_out, input_values
from helmdeck_cli.printing.files import note_file
from helmdeck_cli.shared_options import add_model
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, clean, inline_json, labelled, make_deck, note, show_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "pack",
        metavar="PACK",
        help="the name of a pack, or the id of a tool of an MCP server; `helmdeck catalog show` lists what can run",
    )
    add_inputs(parser)
    add_model(parser, "the model that the pack calls")
    add_out(parser, "the pack")
    add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the pack and print its output as JSON, with and without ``--json``; findings and files go to standard error.

    A pack that fails may have an output nevertheless, which is printed before the error.
    """
    from helmdeck_core import PackError, PackErrorCode, schema_problems

    inputs = input_values(arguments)
    deck = make_deck(arguments)
    try:
        # Standard output is for the result alone: what packs print goes to standard error.
        with contextlib.redirect_stdout(sys.stderr):
            output = wait_for(
                deck,
                f"running {arguments.pack}",
                lambda progress: deck.arun(
                    arguments.pack, inputs, model=arguments.model, progress=lambda text: progress(progress_text(text))
                ),
            )
    except PackError as exc:
        if exc.output and not arguments.json:  # with --json, the error itself holds it
            show_json(dict(exc.output))
            _note_facts(exc.output)
        schema = (entry.input_schema or {}) if (entry := deck.catalog.get(arguments.pack)) else {}
        if not arguments.json and exc.code is PackErrorCode.INVALID_INPUT and schema_problems(schema, inputs):
            note(labelled("inputs", clean(_inputs_text(schema))))
        raise
    show_json(dict(output))
    _note_facts(output)
    return ExitCode.OK


def _inputs_text(schema: Mapping[str, Any]) -> str:
    """The inputs of a pack with their types."""
    required = schema.get("required", ())
    return ", ".join(
        f"{name} ({_type_text(each)}{', required' if name in required else ''})"
        for name, each in schema.get("properties", {}).items()
    )


def _type_text(schema: Mapping[str, Any]) -> str:
    return " or ".join(map(inline_json, schema["enum"])) if "enum" in schema else str(schema.get("type", "any"))


def progress_text(text: str) -> str:
    """The text of a progress line, with the finished share where the pack reports one."""
    fraction = getattr(text, "fraction", None)
    return text if fraction is None else f"{text} ({fraction:.0%})"


def _note_facts(output: Mapping[str, Any]) -> None:
    """Print the findings and the files of an output, in the fields that packs have by convention."""
    for finding in _items(output, "findings"):
        note(labelled("finding", finding if isinstance(finding, str) else inline_json(finding)))
    for artifact in _items(output, "artifacts"):
        if isinstance(artifact, Mapping):
            note_file(artifact)


def _items(output: Mapping[str, Any], field: str) -> Sequence[Any]:
    found = output.get(field)
    return found if isinstance(found, (list, tuple)) else ()


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
