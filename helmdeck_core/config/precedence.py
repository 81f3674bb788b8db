"""Which of a deployment's rules apply to one model: what is said of the model outranks its tier, which outranks the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from helmdeck_core.config.load import dotted
from helmdeck_core.config.types import CompactionConfig, Config, LadderConfig, SelectionConfig, SelectionRule
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.models import Tier, TierDefaults


def matching_prefixes(prefixes: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The prefixes that a model's id starts with, the longest last; letter case and outer blanks do not matter.

    :param names: the ids of the model, the one that outranks the others last: a provider that wraps another has its own.
    """
    every = tuple(prefixes)
    found: dict[str, None] = {}
    for name in names:
        key = name.strip().casefold()
        for prefix in sorted((p for p in every if key.startswith(p.strip().casefold())), key=lambda p: len(p.strip())):
            found.pop(prefix, None)
            found[prefix] = None
    return tuple(found)


def ladder_rule(rules: CompactionConfig, tier: Tier, names: Iterable[str]) -> tuple[tuple[str, ...], LadderConfig]:
    """The one rule of the ladder that applies, and its key; rules are not added up."""
    if matching := matching_prefixes(rules.models, names):
        return ("compaction", "models", matching[-1]), rules.models[matching[-1]]
    if tier in rules.tiers:
        return ("compaction", "tiers", tier.value), rules.tiers[tier]
    return ("compaction",), LadderConfig(order=rules.order, drop=rules.drop)


@attrs.frozen(kw_only=True)
class SelectionRules:
    """How entries are chosen for one model.

    :ivar ranker: who orders the entries.
    :ivar options: the ranker's options, as far as the deployment says something.
    :ivar max_entries: most entries that are kept when entries have to go; 0 is no limit.
    :ivar bare_names: most entries that follow behind those by their names alone; 0 is none.
    :ivar confidence: below this a ranking counts as unsure, 0 to 1.
    :ivar shortlist: how many likely entries stand behind a cached catalog.
    :ivar filter: whether an unsure ranking is settled by a second call; ``None`` is as the budget says.
    :ivar prefix_index: whether a cached prefix lists every entry when the catalog itself does not fit.
    :ivar sources: field name to the key that said so; fields that are not in it are defaults.
    """

    ranker: str
    max_entries: int
    bare_names: int
    confidence: float
    shortlist: int
    filter: bool | None
    prefix_index: bool
    options: Mapping[str, Any] = EMPTY
    sources: Mapping[str, str] = EMPTY


def with_tier_defaults(config: Config, defaults: Iterable[TierDefaults]) -> Config:
    """The configuration with the entries of every tier."""
    entries = {each.tier: each.max_entries for each in defaults} | dict(config.selection.max_entries)
    return attrs.evolve(config, selection=attrs.evolve(config.selection, max_entries=entries))


def selection_rules(
    config: SelectionConfig, defaults: TierDefaults, names: Iterable[str], origins: Mapping[tuple[str, ...], str]
) -> SelectionRules:
    """The selection rules for a model: field by field, the model's longest prefix, its tier, the global one, the defaults."""
    tier = defaults.tier
    layers: list[tuple[tuple[str, ...], SelectionConfig | SelectionRule]] = [(("selection",), config)]
    if tier in config.tiers:
        layers.append((("selection", "tiers", tier.value), config.tiers[tier]))
    for prefix in matching_prefixes(config.models, names):
        layers.append((("selection", "models", prefix), config.models[prefix]))
    values: dict[str, Any] = {"prefix_index": defaults.has_prefix_index, "filter": None}
    sources: dict[str, str] = {}
    options: dict[str, dict[str, Any]] = {}
    for path, layer in layers:
        for name, given in layer.rankers.items():
            options.setdefault(name, {}).update(given)
        for field in attrs.fields(SelectionRule):
            key = (*path, field.name)
            value = getattr(layer, field.name)
            if isinstance(layer, SelectionConfig) and field.name == "max_entries":
                key, value = (*key, tier.value), layer.max_entries[tier]
            if field.name != "rankers" and value is not None:
                values[field.name] = value
                if key in origins:
                    sources[field.name] = f"{origins[key]}: {dotted(key)}"
    return SelectionRules(**values, options=options.get(values["ranker"], {}), sources=sources)
