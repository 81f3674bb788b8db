"""What a deck lacks to run a pipeline: mistakes of its definition, and packs that cannot run here, with what to configure."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import Entry, Helmdeck, Pack
from helmdeck_runs.pipelines.validation import checked_definition


@attrs.frozen(kw_only=True)
class PipelineNeeds:
    """Why a pipeline cannot run; it can if all are empty.

    :ivar mistakes: of its definition.
    :ivar packs: ids of steps that no installed pack and no server runs.
    :ivar options: what to configure, by id of an installed pack.
    """

    mistakes: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def lines(self) -> Sequence[str]:
        """Return one line for each."""
        missing = (f"no installed pack or server runs {pack}" for pack in self.packs)
        return [*self.mistakes, *missing, *(f"{pack} is not configured: {how}" for pack, how in self.options)]


def needs_of(entry: Entry, deck: Helmdeck) -> PipelineNeeds:
    """Return what a deck lacks to run a pipeline."""
    definition, mistakes = checked_definition(entry, deck.catalog)
    installed = deck.runtime.contributed(Pack)
    lacking = [pack for pack in dict.fromkeys(step.pack for step in definition.steps) if not deck.can_run(pack)]
    known = [pack for pack in lacking if pack in installed or deck.catalog.get(pack) is not None]
    return PipelineNeeds(
        mistakes=tuple(str(mistake).removeprefix(f"pipeline {entry.id}: ") for mistake in mistakes),
        packs=tuple(pack for pack in known if pack not in installed),
        options=tuple((pack, _how(installed[pack].value)) for pack in known if pack in installed),
    )


def _how(pack: Pack) -> str:
    return f"set {' and '.join(pack.requires)} in [packs.options.{pack.options_table}]"
