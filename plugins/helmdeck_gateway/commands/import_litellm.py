"""``helmdeck import litellm``: turns the configuration of a LiteLLM proxy into a helmdeck.toml."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli import replace_text
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_gateway.imports.findings import Finding


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the files."""
    parser.epilog = (
        "No secret is copied or printed. The settings that were not carried over as they were are listed on standard error, and "
        "stand as comments at the end of the file."
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the config.yaml of the proxy")
    parser.add_argument("--out", metavar="FILE", type=Path, help="the file to write; default: standard output")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(arguments: argparse.Namespace) -> int:
    """Import a file."""
    from helmdeck_gateway.imports.document import SHOWN, render, summary
    from helmdeck_gateway.imports.litellm import import_litellm

    target: Path | None = arguments.out
    if target is not None and target.exists() and not arguments.force:
        raise UsageError(f"{target} exists already; --force replaces it")
    imported = import_litellm(arguments.file)
    try:
        text = render(imported, arguments.file.name)
    except ValueError as exc:
        raise UsageError(f"{arguments.file}: a name in it cannot be written in TOML: {exc}") from exc
    if target is not None:
        try:
            replace_text(target, text)
        except OSError as exc:
            raise UsageError(f"{target} cannot be written: {exc}") from exc
    mistakes = _mistakes(target) if target is not None else []
    unpriced = _unpriced(target) if target is not None and not mistakes else []
    if arguments.json:
        show_json(
            {
                "file": None if target is None else str(target),
                "config": text,
                "outcomes": summary(imported.findings),
                "missing": list(imported.missing),
                "settings": [each.data() for each in imported.findings],
                "mistakes": mistakes,
                "unpriced": unpriced,
            }
        )
        return ExitCode.OK
    if target is None:
        show(text.rstrip())
    rows = [_row(each) for each in imported.findings if each.outcome in SHOWN]
    if rows:
        note(table(rows, ("line", "setting", "outcome", "why, and what to do"), right={0}))
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in summary(imported.findings).items())
    note(f"{arguments.file}: {counts or 'no settings'}")
    if imported.missing:
        note(f"set these variables before the start: {', '.join(imported.missing)}")
    if unpriced:
        prices = (
            "their calls count as 0 until [budgets] has input_cost_usd_per_mtok and output_cost_usd_per_mtok of them"
        )
        note(f"models without a known price: {', '.join(unpriced)}; {prices}")
    for each in mistakes:
        note(f"to be corrected in {target}: {each}")
    return ExitCode.OK


def _row(finding: Finding) -> tuple[str, ...]:
    return str(finding.line), finding.setting, finding.outcome, finding.note


def _mistakes(path: Path) -> list[str]:
    """What ``helmdeck config check`` finds in the new file."""
    import os

    from helmdeck_cli import check_config
    from helmdeck_core import load_config

    report = check_config(load_config(file=path, environ=os.environ))
    return [str(each) for each in report.mistakes]


def _unpriced(path: Path) -> list[str]:
    """The models of the new file whose prices are unknown."""
    import os

    from helmdeck_core import Helmdeck, load_config
    from helmdeck_gateway.accounts.request_costs import Pricing
    from helmdeck_gateway.settings import GatewaySettings

    with Helmdeck(load_config(file=path, environ=os.environ)) as deck:
        aliases = GatewaySettings.read(deck.runtime.config.gateway).aliases
        models = dict.fromkeys(model for alias in aliases.values() for model in alias.models)
        pricing = Pricing(deck)
        return [model for model in models if not pricing.has_prices(model, ())]


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command."""
    options: dict[str, Any] = {"group_summary": "configurations of other gateways", "order": 95}
    return (
        Command(
            name="import litellm",
            summary="turn the configuration of a LiteLLM proxy into a helmdeck.toml",
            configure=configure,
            run=run,
            **options,
        ),
    )
