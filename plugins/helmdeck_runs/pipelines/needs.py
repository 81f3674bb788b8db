"""What a deck lacks to run a pipeline: mistakes of its definition, and packs that cannot run here, with what to do about them."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files

import attrs

from helmdeck_core import Entry, Helmdeck, Pack
from helmdeck_runs.pipelines.validation import checked_definition


@attrs.frozen(kw_only=True)
class PipelineNeeds:
    """Why a pipeline cannot run; it can if all are empty.

    :ivar mistakes: of its definition.
    :ivar packs: ids of steps that no installed pack, no server and no known distribution runs.
    :ivar options: what to configure, by id of an installed pack.
    :ivar commands: packs that a command makes run: the pack, what is missing, and the command.
    """

    mistakes: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    commands: tuple[tuple[str, str, str], ...] = ()

    def lines(self) -> Sequence[str]:
        """Return one line for each."""
        return [
            *self.mistakes,
            *(f"no installed pack or server runs {pack}" for pack in self.packs),
            *(f"{pack} is not configured: {how}" for pack, how in self.options),
            *(f"{pack} needs {missing}: {command}" for pack, missing, command in self.commands),
        ]

    def rank(self) -> int:
        """Return how much is missing: 0 for nothing, 1 for what commands and options provide, 2 for packs or corrections."""
        return 2 if self.packs or self.mistakes else int(bool(self.lines()))

    def names(self) -> Sequence[str]:
        """Return the names of what is missing, for a table."""
        programs = (missing for pack, missing, _ in self.commands if missing)
        return list(dict.fromkeys([*(pack for pack, _ in self.options), *self.packs, *programs]))


def needs_of(entry: Entry, deck: Helmdeck) -> PipelineNeeds:
    """Return what a deck lacks to run a pipeline."""
    definition, mistakes = checked_definition(entry, deck.catalog)
    installed = deck.runtime.contributed(Pack)
    lacking = [pack for pack in dict.fromkeys(step.pack for step in definition.steps) if not deck.can_run(pack)]
    known = [pack for pack in lacking if pack in installed or deck.catalog.get(pack) is not None]
    packs, options, commands = list[str](), list[tuple[str, str]](), list[tuple[str, str, str]]()
    for pack in known:
        if pack in installed:
            programs = deck.missing_programs(pack)
            commands += [(pack, program, command) for program, command in programs]
            if not programs:
                options.append((pack, _how(installed[pack].value)))
        elif distribution := _distributions().get(pack):
            commands.append((pack, distribution, _pip(distribution)))
        else:
            packs.append(pack)
    return PipelineNeeds(
        mistakes=tuple(str(mistake).removeprefix(f"pipeline {entry.id}: ") for mistake in mistakes),
        packs=tuple(packs),
        options=tuple(options),
        commands=tuple(commands),
    )


def _how(pack: Pack) -> str:
    return f"set {' and '.join(pack.requires)} in [packs.options.{pack.options_table}]"


def _pip(distribution: str) -> str:
    kind, _, folder = distribution.removeprefix("helmdeck-").partition("-")
    return f"pip install {distribution} (in a checkout: pip install ./contrib_{kind}s/{folder})"


@functools.cache
def _distributions() -> Mapping[str, str]:
    """The distributions that contribute packs which the example catalog has, by pack."""
    text = (files("helmdeck_runs.pipelines") / "distributions.toml").read_text(encoding="utf-8")
    packs: Mapping[str, str] = tomllib.loads(text)["packs"]
    return packs
