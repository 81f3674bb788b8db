"""``helmdeck catalog check``: finds everything that is wrong in a catalog file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from helmdeck_cli.inputs import read_input
from helmdeck_cli.printing.wording import counted
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, hanging, read_config, show, show_json

_ONE_LINE = 100_000
"""Columns; a finding is one line, for editors and grep."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("file", metavar="FILE", help="a catalog, .json or .toml; - is standard input, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print every finding with its line number. Warnings alone are a success."""
    from helmdeck_cli.checks.catalog import check_catalog
    from helmdeck_core import InstructionPattern, list_plugins

    name: str = arguments.file
    patterns = [
        each.value for each in list_plugins(read_config(arguments)).contributions["helmdeck_instruction_patterns"]
    ]
    assert all(isinstance(each, InstructionPattern) for each in patterns)
    report = check_catalog(read_input(name), is_toml=name.lower().endswith(".toml"), instructions=patterns)
    code = ExitCode.USAGE if report.errors else ExitCode.OK
    if arguments.json:
        import attrs

        findings = [attrs.asdict(each) for each in report.findings]
        show_json({"file": name, "ok": not report.errors, "entries": report.entries, "findings": findings})
        return code
    for each in report.findings:
        text = f"{each.level}: {each.where}: {each.problem}"
        show(hanging(f"{name}:{each.line}: ", text, width=_ONE_LINE))
    warnings = len(report.findings) - report.errors
    state = "not valid" if report.errors else "ok"
    show(
        f"{state}: {name}; {counted(report.entries, 'entry', 'entries')}, {counted(report.errors, 'error')}, {counted(warnings, 'warning')}"
    )
    return code


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``catalog check``."""
    summary = "find every mistake in a catalog file, with line numbers"
    return (Command(name="catalog check", summary=summary, configure=configure, run=run, order=63),)
