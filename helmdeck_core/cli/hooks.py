"""``helmdeck hooks``: the hooks that a plugin can implement, as Markdown."""

from __future__ import annotations

import argparse
from pathlib import Path

from helmdeck_core.cli import printing
from helmdeck_core.cli.exits import OK, UsageError
from helmdeck_core.cli.options import Actions


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the text to a file instead of printing it")


def run(arguments: argparse.Namespace) -> int:
    """Print or write the page."""
    from helmdeck_core.hooks.docs import hooks, render

    if arguments.json and arguments.write is None:
        printing.show_json({"hooks": [hook.to_dict() for hook in hooks()]})
        return OK
    text = render()  # before the file is opened: a failure must not leave an empty page behind
    if arguments.write is None:
        printing.show(text.rstrip())
        return OK
    try:
        arguments.write.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise UsageError(f"{arguments.write}: the file cannot be written ({exc.strerror or exc})") from exc
    printing.note(f"wrote {arguments.write}")
    return OK


ACTIONS: Actions = {"": (configure, run)}
