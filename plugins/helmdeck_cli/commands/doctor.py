"""``helmdeck doctor``: checks the installation, the configuration and the providers, with a remedy for each problem."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helmdeck_cli.execution import wait_for
from helmdeck_cli.inputs import whole_number
from helmdeck_cli.printing.wording import counted
from helmdeck_cli.shared_options import add_model
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    error_message,
    labelled,
    read_config,
    show,
    show_json,
    show_traceback,
    table,
    with_default_history,
)

if TYPE_CHECKING:
    from helmdeck_cli.checks.findings import Finding
    from helmdeck_core import Helmdeck, LoadedConfig, PluginInventory


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--offline", action="store_true", help="call no provider, and start no server of the catalog")
    purpose = (
        "send a few requests to this model or alias, and show what it can do and the configuration rows that follow"
    )
    add_model(parser, purpose, default="")
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=whole_number,
        default=60,
        help="with --model: seconds after which no further request is sent; default: 60",
    )
    parser.add_argument(
        "--write",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=Path(),
        help="with --model: add the rows to this file, or to the helmdeck.toml in use; settings that it has stay",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one row per finding."""
    if arguments.model is not None:
        from helmdeck_cli.model_checks.command import run_examination

        return run_examination(arguments)
    if arguments.write is not None:
        raise UsageError("--write needs --model; without it, doctor proposes no rows")
    from helmdeck_cli.checks.findings import State

    findings = list(_findings(arguments))
    counts = {state: sum(finding.state is state for finding in findings) for state in State}
    code = ExitCode.CHECK_FAILED if counts[State.FAIL] else ExitCode.OK
    if arguments.json:
        import attrs

        data = [attrs.asdict(finding) for finding in findings]
        show_json({"ok": not counts[State.FAIL], "counts": counts, "findings": data})
        return code
    rows = [
        (finding.state.value, finding.area, finding.subject, "\n".join(filter(None, (finding.text, _remedy(finding)))))
        for finding in findings
    ]
    show(table(rows, ("state", "check", "subject", "finding")))
    show()
    show(labelled("result", ", ".join(f"{count} {state.value}" for state, count in counts.items())))
    return code


def _remedy(finding: Finding) -> str:
    return f"remedy: {finding.remedy}" if finding.remedy else ""


def _findings(arguments: argparse.Namespace) -> Iterable[Finding]:
    """All findings; a check that raises becomes a finding, and the others continue."""
    from helmdeck_cli.checks import local, stores
    from helmdeck_cli.checks.configured_providers import configured_providers
    from helmdeck_cli.checks.findings import fail, warn
    from helmdeck_core import EventSink, list_plugins

    def checked(area: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
        try:
            return list(check())
        except (Exception, SystemExit) as exc:
            show_traceback(exc)
            return [
                fail(area, "check", error_message(exc), "report this as a bug of Helmdeck or of the plugin it names")
            ]

    loaded = read_config(arguments)
    inventory = list_plugins(loaded)
    for error in inventory.errors:
        show_traceback(error)
    yield from checked("version", local.check_installation)
    yield from checked("plugins", lambda: local.check_plugins(inventory))
    yield from checked("configuration", lambda: local.check_configuration(loaded))
    sinks = {each.value.name: each.value for each in inventory.contributions.get("helmdeck_event_sinks", ())}
    assert all(isinstance(sink, EventSink) for sink in sinks.values())
    yield from checked("store", lambda: stores.check_stores(with_default_history(loaded).config, sinks))
    deck = _usable_deck(loaded, inventory)
    if deck is None:
        yield warn("provider", "all", "not checked", "correct the configuration and the plugins first")
        return
    providers = configured_providers(deck)
    yield from checked("key", lambda: local.check_keys(providers))
    yield from local.check_default_model(loaded.config.model)
    if arguments.offline:
        deck.close()
        return
    from helmdeck_cli.checks.network import check_descriptions, check_providers, check_servers

    async def check_all(update: Callable[[str], None]) -> list[Finding]:
        servers = await check_servers(deck)
        descriptions = checked("catalog", lambda: check_descriptions(deck)) if servers else []
        return [*servers, *descriptions, *await check_providers(deck, providers, update)]

    text = f"checking {counted(len(providers), 'provider')}"
    yield from checked("provider", lambda: wait_for(deck, text, check_all, notes_problems=False))


def _usable_deck(loaded: LoadedConfig, inventory: PluginInventory) -> Helmdeck | None:
    """A deck with the valid part of the configuration and of the plugins, without event sinks; ``None`` if that is too little."""
    import attrs

    from helmdeck_core import Config, Helmdeck, HelmdeckError, LoadedConfig

    config = loaded.config
    plugins = attrs.evolve(
        config.plugins, disable=(*config.plugins.disable, *dict.fromkeys(error.plugin for error in inventory.errors))
    )
    whole = attrs.evolve(config, plugins=plugins, events=attrs.evolve(config.events, sinks=()))
    least = Config(model=config.model, plugins=plugins, http=config.http, providers=config.providers)
    for each in (whole, least):
        try:
            return Helmdeck(LoadedConfig(each, loaded.origins))
        except HelmdeckError:
            continue
    return None


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``doctor``."""
    summary = "check the deployment, or with --model what a model can do"
    return (Command(name="doctor", summary=summary, configure=configure, run=run, order=85),)
