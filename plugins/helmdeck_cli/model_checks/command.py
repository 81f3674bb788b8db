"""The part of ``helmdeck doctor`` with ``--model``: runs an examination, prints it, and writes the configuration rows."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_cli.config_file import SettingsTable, add_to_file
from helmdeck_cli.execution import wait_for
from helmdeck_cli.model_checks.chooser import LOGPROBS
from helmdeck_cli.model_checks.examine import examine, rank_config, ranked_by, single_attempts
from helmdeck_cli.model_checks.proposal import proposed
from helmdeck_cli.model_checks.results import Examination
from helmdeck_cli.printing.wording import counted
from helmdeck_core import CHOSEN_BY_MODEL, BudgetConfig, Helmdeck, LoadedConfig, ModelId, ProviderPool
from helmdeck_core.cli import ExitCode, UsageError, hanging, labelled, note, read_config, show, show_json, table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MEASURED_INPUT_TOKENS = 10_000_000
"""An input limit that limits nothing, since the limit is what is looked for."""

CONFIGURATION = Path("helmdeck.toml")


def run_examination(arguments: argparse.Namespace) -> int:
    """Examine a model and print the results; the exit code is 24 if nothing that it returned can be used."""
    if arguments.offline:
        raise UsageError("--offline sends nothing, and --model needs requests to the model; leave one of them out")
    loaded = read_config(arguments)
    model = resolved(arguments.model, loaded)
    own = loaded.config.budgets.get(model, BudgetConfig())
    budget = attrs.evolve(own, input_tokens=MEASURED_INPUT_TOKENS)
    deck = Helmdeck(attrs.evolve(loaded, config=single_attempts(loaded.config, model, budget)))
    found = Helmdeck(loaded)
    ranking = Helmdeck(attrs.evolve(loaded, config=rank_config(loaded.config)))
    with found, ranking:
        lookup = found.budget(model)
        registry = ProviderPool(found.runtime).registry
        registry.check(model)
        settings = registry.first_settings(ModelId.provider_of(model))

        def work(update: Callable[[str], None]) -> Awaitable[Examination]:
            return examine(deck, model, ranked_by(ranking), limit_s=arguments.seconds, update=update)

        examination = wait_for(deck, f"examining {model}", work)
    day = datetime.datetime.now(datetime.UTC).date()
    rows = proposed(examination, lookup, settings, day)
    if arguments.json:
        show_json(as_data(examination, rows))
    else:
        _show(examination, rows)
    if arguments.write is not None and rows:
        _write(arguments.write if arguments.write != Path() else loaded.file or CONFIGURATION, rows)
    return ExitCode.OK if examination.is_usable else ExitCode.CHECK_FAILED


def resolved(name: str, loaded: LoadedConfig) -> str:
    """Return the model id of an alias of the gateway, or of a model that is named without its provider."""
    aliases: Any = loaded.config.gateway.get("models", {})
    target = aliases.get(name, name) if isinstance(aliases, Mapping) else name
    first = target if isinstance(target, str) else next(iter(target), name)
    with Helmdeck(loaded) as deck:
        return ProviderPool(deck.runtime).registry.full_id(str(first))


def as_data(examination: Examination, rows: Sequence[SettingsTable]) -> dict[str, Any]:
    """Return an examination as plain data."""
    return {
        "model": examination.model,
        "ok": examination.is_usable,
        "summary": summary(examination),
        "seconds": examination.seconds,
        "calls": examination.calls,
        "output_tokens": examination.output_tokens,
        "results": [
            {"name": each.name, "verdict": each.verdict.value, "text": each.text, "facts": dict(each.facts)}
            for each in examination.results
        ],
        "settings": [{"table": list(each.table), "values": dict(each.values)} for each in rows],
        "toml": "\n".join(each.toml for each in rows),
    }


def summary(examination: Examination) -> str:
    """Return what the model is good for, in one sentence."""
    if not examination.is_usable:
        return "nothing that the model returned can be used"
    good = ["text"] if examination.is_able("text") else []
    if examination.is_able("json schema"):
        good.append("typed answers, whose form the server guarantees")
    elif examination.is_able("json mode", "json in words"):
        good.append("typed answers, which are checked and asked for again")
    chooser = examination.fact("chooser")
    if chooser is None:
        return f"worth its time for {', '.join(good)}; the choice of tools was not measured"
    if chooser == CHOSEN_BY_MODEL:
        return f"worth its time for {', '.join((*good, 'the choice of tools'))}"
    if chooser == LOGPROBS:
        return f"worth its time for {', '.join(good)}; it chooses worse than the ranker, whose choice its likelihoods can improve"
    return f"worth its time for {', '.join(good)}; not for the choice of tools, where the ranker alone is better"


def _show(examination: Examination, rows: Sequence[SettingsTable]) -> None:
    cells = [(each.name, each.verdict.value, each.text) for each in examination.results]
    show(table(cells, (examination.model, "verdict", "what was seen")))
    show()
    used = f"{counted(examination.calls, 'request')}, {examination.output_tokens:,} output tokens, {examination.seconds:.0f} s"
    show(labelled("used", used))
    show(labelled("result", summary(examination)))
    if not rows:
        return
    show()
    show(
        hanging(
            "",
            f"Rows for helmdeck.toml; --write adds them. `helmdeck calibrate {examination.model}` measures the catalog size.",
        )
    )
    for each in rows:
        show()
        show(each.toml.rstrip("\n"))


def _write(path: Path, rows: Sequence[SettingsTable]) -> None:
    kept = add_to_file(path, rows)
    note(f"helmdeck: added the rows to {path}")
    if kept:
        note(hanging("helmdeck: ", f"left as they are, since {path.name} has them already: {', '.join(kept)}"))
