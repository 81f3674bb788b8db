"""Which configured rules apply to a model: rules of the model override those of its tier, which override the global ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from helmdeck_core.config.structure import dotted
from helmdeck_core.config.types import CompactionConfig, Config, LadderConfig, SelectionConfig, SelectionRule
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.models import Tier, TierDefaults


def matching_prefixes(prefixes: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the prefixes of a model id, the longest last; case and surrounding whitespace are ignored.

    :param names: the ids of the model in rising precedence; a provider that wraps another one gives it a second id.
    """
    every = tuple(prefixes)
    matches: dict[str, None] = {}
    for name in names:
        key = name.strip().casefold()
        for prefix in sorted((p for p in every if key.startswith(p.strip().casefold())), key=lambda p: len(p.strip())):
            matches.pop(prefix, None)
            matches[prefix] = None
    return tuple(matches)


def ladder_rule(rules: CompactionConfig, tier: Tier, names: Iterable[str]) -> tuple[tuple[str, ...], LadderConfig]:
    """Return the trim rule that applies, and its key; rules are not merged."""
    if matching := matching_prefixes(rules.models, names):
        return ("compaction", "models", matching[-1]), rules.models[matching[-1]]
    if tier in rules.tiers:
        return ("compaction", "tiers", tier.value), rules.tiers[tier]
    return ("compaction",), rules


@attrs.frozen(kw_only=True)
class SelectionRules:
    """The selection rules that apply to one model; the fields are those of ``SelectionRule``.

    :ivar filter: whether a filter call reduces an unsure selection; ``None`` is as the model's budget says.
    :ivar options: the configured options of the ranker.
    :ivar rankers: those of all rankers, by name.
    :ivar sources: the key that set each field; fields with their default value are not included.
    """

    ranker: str
    max_entries: int
    bare_names: int
    confidence: float
    shortlist: int
    filter: bool | None
    prefix_index: bool
    options: Mapping[str, Any] = EMPTY
    rankers: Mapping[str, Mapping[str, Any]] = EMPTY
    sources: Mapping[str, str] = EMPTY


def with_tier_defaults(config: Config, defaults: Iterable[TierDefaults]) -> Config:
    """Return the configuration with ``max_entries`` of every tier."""
    entries = {each.tier: each.max_entries for each in defaults} | dict(config.selection.max_entries)
    return attrs.evolve(config, selection=attrs.evolve(config.selection, max_entries=entries))


def selection_rules(
    config: SelectionConfig, defaults: TierDefaults, names: Iterable[str], origins: Mapping[tuple[str, ...], str]
) -> SelectionRules:
    """Return the selection rules for a model: each field by its longest prefix, its tier, the global rule, or the default."""
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
        for name, configured in layer.rankers.items():
            options.setdefault(name, {}).update(configured)
        for field in attrs.fields(SelectionRule):
            key = (*path, field.name)
            value = getattr(layer, field.name)
            if isinstance(layer, SelectionConfig) and field.name == "max_entries":
                key, value = (*key, tier.value), layer.max_entries[tier]
            if field.name != "rankers" and value is not None:
                values[field.name] = value
                if key in origins:
                    sources[field.name] = f"{origins[key]}: {dotted(key)}"
    chosen = options.get(values["ranker"], {})
    return SelectionRules(**values, options=chosen, rankers=options, sources=sources)
