"""Looks up budgets: the plugins' answer, then the configuration, with the source of every field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from helmdeck_core.config.precedence import matching_prefixes
from helmdeck_core.config.structure import dotted
from helmdeck_core.config.types import BudgetConfig
from helmdeck_core.domain.models import Budget, BudgetLookup, BudgetTable, Tier, TierDefaults
from helmdeck_core.domain.price_sources import ModelFigures, PriceSource
from helmdeck_core.hooks import calls as hook_calls
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.manager import Plugins

FALLBACK = "fallback"
"""The key under ``[budgets]`` for models without a row."""

MOST_WRAPPERS = 8
"""Maximum number of nested wrapping providers; an id comes from the caller and could be circular."""

PRICES = INPUT_PRICE, _, CACHED_PRICE = (
    "input_cost_usd_per_mtok",
    "output_cost_usd_per_mtok",
    "cached_input_cost_usd_per_mtok",
)

REMEMBERED = 4_096
"""Cached lookups; model ids come from callers, so the cache is bounded."""


class BudgetResolver:
    """Budgets by model id; each is looked up once and cached."""

    def __init__(
        self,
        plugins: Plugins,
        table: BudgetTable,
        owners: Mapping[str, str],
        overrides: Mapping[str, BudgetConfig],
        origins: Mapping[tuple[str, ...], str],
        wrappers: Mapping[str, Callable[[str], str]],
        tiers: Iterable[TierDefaults],
        price_sources: Iterable[Contribution[PriceSource]] = (),
    ) -> None:
        self.table = table
        self._rows = {row.prefix: row for row in table.rows}
        self._plugins = plugins
        self._owners = owners
        self._overrides = overrides
        self._origins = origins
        self._wrappers = wrappers
        self.tiers: Mapping[Tier, TierDefaults] = {
            **{tier: TierDefaults(tier=tier) for tier in Tier},
            **{each.tier: each for each in tiers},
        }
        self._figures = [
            (each.value.name, hook_calls.attributed(each, _checked(each.value.figures), tuple))
            for each in price_sources
            if each.value.figures is not None
        ]
        self._known: dict[tuple[str, bool], BudgetLookup] = {}
        self._answers: dict[str, BudgetLookup] = {}

    def find(self, model: str, *, lists_prices: bool = False) -> BudgetLookup:
        """Return the budget of a model; any string has one.

        :param lists_prices: include prices that only a price source lists; calls are priced by the source itself, which
            knows all conditions of a price, and may take a second to load.
        :raises PluginError: the lookup of a plugin raised.
        """
        known = self._known.get((model, lists_prices))
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
                self._answers.clear()
            name, wrapped = model.strip(), self.wrapped(model)
            found = self._overridden(self._filled(self._look_up(wrapped), wrapped, lists_prices), wrapped)
            if wrapped != name:
                found = attrs.evolve(found, budget=attrs.evolve(found.budget, model=name))
                found = self._overridden(found, name)
            found = _consistent(found)
            known = self._known[model, lists_prices] = attrs.evolve(
                found,
                prompt_variant=self.prompt_variant(found.budget),
                asks_for_json=self.asks_for_json(found.budget),
                notice=_notice(found) if name and found.is_fallback else "",
            )
        return known

    def prompt_variant(self, budget: Budget) -> str:
        """The name of the prompt variant: the budget's own, else the default of its tier."""
        return budget.prompt_variant or self.tiers[budget.tier].prompt_variant

    def asks_for_json(self, budget: Budget) -> bool:
        """Whether constrained decoding to JSON is requested."""
        return budget.enforces_schema or (budget.wants_strict_json and self.tiers[budget.tier].allows_json_mode)

    def continues_typed(self, budget: Budget) -> bool:
        """Whether a truncated typed answer of a model is continued."""
        return self.tiers[budget.tier].continues_typed or not budget.enforces_schema

    def names(self, model: str) -> tuple[str, ...]:
        """The ids of a model for rules: that of the wrapped model, if its provider wraps another one, then its own."""
        return tuple(dict.fromkeys((self.wrapped(model), model.strip())))

    def wrapped(self, model: str) -> str:
        """The model whose budget applies: the model itself, or the wrapped one."""
        model = model.strip()
        for _ in range(MOST_WRAPPERS):
            provider, _, name = model.partition("/")
            if provider not in self._wrappers or not name:
                break
            model = self._wrappers[provider](name)
        return model

    def rows(self) -> list[BudgetLookup]:
        """The lookup of every row of the table and of every configured prefix, the fallback last."""
        names = [row.prefix for row in self.table.rows if row.prefix]
        names += [prefix for prefix in self._overrides if prefix != FALLBACK and prefix not in names]
        return [self.find(name, lists_prices=True) for name in (*names, "")]

    def _look_up(self, model: str) -> BudgetLookup:
        if (known := self._answers.get(model)) is None:
            known = self._answers[model] = self._answer(model)
        return known

    def _answer(self, model: str) -> BudgetLookup:
        answer = hook_calls.look_up(self._plugins, "helmdeck_model_budget", Budget, model_id=model, table=self.table)
        if answer is None:
            row = self.table.find(model)
            answer = (row.budget, "") if row else (Budget(model=""), "")
        budget, plugin = answer
        return BudgetLookup(attrs.evolve(budget, model=model), budget.model, self._sources(budget, plugin))

    def _sources(self, budget: Budget, plugin: str) -> dict[str, str]:
        """Return the source of each field: the table row, or the plugin where its answer differs from the row."""
        row = self._rows.get(budget.model)
        answered = f"lookup of plugin {plugin!r}" if plugin else "the core's defaults"
        names = [field.name for field in attrs.fields(Budget)]
        if row is None:
            return dict.fromkeys(names, answered)
        owner = self._owners.get(row.prefix, "?")
        source = f"row {row.prefix!r} of plugin {owner!r}" if row.prefix else f"fallback row of plugin {owner!r}"
        return {name: source if getattr(budget, name) == getattr(row.budget, name) else answered for name in names}

    def _filled(self, found: BudgetLookup, model: str, lists_prices: bool) -> BudgetLookup:
        """Fill in what no row sets from the first price source that lists the model.

        Prices are replaced together, since those of two sources may contradict each other.
        """
        budget = found.budget
        wanted = ["input_tokens"] if found.is_fallback else []
        if lists_prices and (budget.input_cost_usd_per_mtok is None or budget.output_cost_usd_per_mtok is None):
            wanted += PRICES
        if not wanted or not model:
            return found
        for source, figures_of in self._figures:
            for figures in figures_of(model):
                values = {name: value for name in wanted if (value := getattr(figures, name)) is not None}
                sources = dict.fromkeys(values, f"price source {source!r}: {figures.listed_as}")
                return attrs.evolve(found, budget=attrs.evolve(budget, **values), sources={**found.sources, **sources})
        return found

    def _overridden(self, looked_up: BudgetLookup, model: str) -> BudgetLookup:
        matching = matching_prefixes((prefix for prefix in self._overrides if prefix != FALLBACK), (model,))
        if looked_up.is_fallback and not matching and FALLBACK in self._overrides:
            matching = (FALLBACK,)
        for prefix in matching:
            looked_up = self._apply(looked_up, prefix, self._overrides[prefix])
        return looked_up

    def _apply(self, below: BudgetLookup, prefix: str, override: BudgetConfig) -> BudgetLookup:
        configured: dict[str, Any] = attrs.asdict(override, filter=lambda _, value: value is not None)
        sources = dict(below.sources)
        for name in configured:
            origin = self._origins.get(("budgets", prefix, name), "the configuration")
            sources[name] = f'{origin}: budgets."{prefix}"'
        if "tier" in configured and configured["tier"] is not below.budget.tier:
            # Another tier brings its own catalog limit and prompt variant, unless they are configured.
            derived = {"max_catalog_bytes": self.tiers[configured["tier"]].max_catalog_bytes, "prompt_variant": None}
            for name, value in derived.items():
                if name not in configured:
                    configured[name] = value
                    sources[name] = f"default of tier {configured['tier'].value}"
        row = below.row if prefix == FALLBACK else prefix
        return BudgetLookup(attrs.evolve(below.budget, **configured), row, sources)


def _checked(figures_of: Callable[[str], ModelFigures | None]) -> Callable[[str], tuple[ModelFigures, ...]]:
    """The figures of a source with their type checked: those of one model or none."""

    def figures(model: str) -> tuple[ModelFigures, ...]:
        found = figures_of(model)
        if not isinstance(found, (ModelFigures, type(None))):
            raise TypeError(f"not ModelFigures: returned {type(found).__name__}")
        return () if found is None else (found,)

    return figures


def _consistent(found: BudgetLookup) -> BudgetLookup:
    """Cached input never costs more than other input, whatever their sources are."""
    by_input, by_cached = found.budget.input_cost_usd_per_mtok, found.budget.cached_input_cost_usd_per_mtok
    if by_input is None or by_cached is None or by_cached <= by_input:
        return found
    budget = attrs.evolve(found.budget, cached_input_cost_usd_per_mtok=by_input)
    return attrs.evolve(found, budget=budget, sources={**found.sources, CACHED_PRICE: found.sources[INPUT_PRICE]})


def _notice(found: BudgetLookup) -> str:
    budget = found.budget
    return (
        f"no budget row applies to {budget.model!r}, so it has the limits of unknown models (tier {budget.tier.value}, "
        f'{budget.input_tokens:,} tokens in); set others under [{dotted(("budgets", budget.model))}], such as tier = "B"'
    )
