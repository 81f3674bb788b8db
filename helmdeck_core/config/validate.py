"""Finds the mistakes of a configuration that only show when the plugins are known."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from helmdeck_core.config.load import LoadedConfig, dotted, option_problem
from helmdeck_core.config.types import Config, EventsConfig, SelectionConfig, SelectionRule, is_catalog_file, is_hidden
from helmdeck_core.domain.event_sinks import EventSink
from helmdeck_core.domain.ranking import Ranker
from helmdeck_core.errors import FailureClass, Mistake
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.redaction import NOT_SHOWN, secret_in, shown_url

LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL")


def mistakes_of(
    loaded: LoadedConfig, plugins: Callable[[], Sequence[str]], found: Mapping[str, Sequence[Contribution[Any]]]
) -> list[Mistake]:
    """Every mistake that can be found.

    :param plugins: gives the names of all plugins.
    :param found: what the plugins contribute, by hook.
    """
    config = loaded.config
    known = {hook: [getattr(owned.value, "name") for owned in values] for hook, values in found.items()}
    check = _Checker(loaded.origins)
    _check_selection(check, config.selection, {owned.value.name: owned.value for owned in found["helmdeck_rankers"]})
    _check_events(check, config.events, {owned.value.name: owned.value for owned in found["helmdeck_event_sinks"]})
    if config.plugins.disable or config.plugins.first:
        names = plugins()
        check.each(("plugins", "disable"), config.plugins.disable, names, "no plugin has this name")
        check.each(("plugins", "first"), config.plugins.first, names, "no plugin has this name")
    steps = known["helmdeck_trim_steps"]
    rules: list[tuple[tuple[str, ...], Any]] = [(("compaction",), config.compaction)]
    rules += [(("compaction", "tiers", tier.value), rule) for tier, rule in config.compaction.tiers.items()]
    rules += [(("compaction", "models", prefix), rule) for prefix, rule in config.compaction.models.items()]
    for path, rule in rules:
        check.each((*path, "order"), rule.order or (), steps, "there is no trim step of this name")
        check.each((*path, "drop"), rule.drop, steps, "there is no trim step of this name")
    sources = [name for name in config.catalog.sources if not is_catalog_file(name)]
    allowed = [*known["helmdeck_catalog_sources"], "packs", "a path that ends in .json or .toml"]
    check.each(("catalog", "sources"), sources, allowed, "there is no catalog source of this name")
    transports, unknown = known["helmdeck_transports"], "there is no transport of this name"
    if config.http.transport is not None:
        check.one(("http", "transport"), config.http.transport, transports, unknown)
    for name, provider in config.providers.items():
        if provider.transport is not None:
            check.one(("providers", name, "transport"), provider.transport, transports, unknown)
        if provider.kind is None and name not in known["helmdeck_providers"]:
            problem = "no plugin has a provider of this name, so that kind has to say which one serves it"
            check.one(("providers", name, "kind"), name, known["helmdeck_providers"], problem)
        elif provider.kind is not None:
            path = ("providers", name, "kind")
            check.one(path, provider.kind, known["helmdeck_providers"], "there is no provider of this kind")
        if provider.base_url and (problem := secret_in(provider.base_url)):
            shown = shown_url(provider.base_url)
            check.add(
                ("providers", name, "base_url"), problem, shown, "an address alone, with api_key or headers beside it"
            )
        for limit in ("timeout_s", "connect_timeout_s", "idle_timeout_s", "max_response_bytes"):
            if (value := getattr(provider, limit)) is not None and not value > 0:
                problem = "0 would never let anything through" if value == 0 else "not a number above 0"
                check.add(("providers", name, limit), problem, value, "more than 0")
    if config.history.url is not None:
        scheme, colon, _ = config.history.url.partition(":")
        stores = [f"{name}:..." for name in known["helmdeck_history_stores"]]
        check.one(("history", "url"), f"{scheme}:..." if colon else scheme, stores, "there is no store of this kind")
    providers = sorted({*known["helmdeck_providers"], *config.providers})
    variants = {owned.value.variant for owned in found["helmdeck_prompt_variants"]}
    for prefix, budget in config.budgets.items():
        if budget.prompt_variant is not None:
            path = ("budgets", prefix, "prompt_variant")
            check.one(path, budget.prompt_variant, sorted(variants), "there is no prompt variant of this name")
        if budget.filter_model is not None:
            _check_model(check, ("budgets", prefix, "filter_model"), budget.filter_model, providers)
    _check_recovery(config, check, providers)
    if config.log_level is not None:
        check.one(("log_level",), config.log_level.upper(), LOG_LEVELS, "there is no such level")
    if "/" not in config.model.strip().strip("/"):
        check.add(("model",), "not of the form provider/model", config.model, "provider/model, such as local/lexical")
    return check.mistakes


def _check_selection(check: _Checker, config: SelectionConfig, rankers: Mapping[str, Ranker]) -> None:
    rules: list[tuple[tuple[str, ...], SelectionConfig | SelectionRule]] = [(("selection",), config)]
    rules += [(("selection", "tiers", tier.value), rule) for tier, rule in config.tiers.items()]
    rules += [(("selection", "models", prefix), rule) for prefix, rule in config.models.items()]
    unknown = "there is no ranker of this name"
    for path, rule in rules:
        if rule.ranker is not None:
            check.one((*path, "ranker"), rule.ranker, list(rankers), unknown)
        if rule.confidence is not None and not 0 <= rule.confidence <= 1:
            check.add((*path, "confidence"), "not between 0 and 1", rule.confidence, "0 to 1")
        for name, options in rule.rankers.items():
            check.one((*path, "rankers", name), name, list(rankers), unknown)
            if name in rankers:
                _check_options(check, (*path, "rankers", name), options, rankers[name].options, "ranker")


def _check_events(check: _Checker, config: EventsConfig, sinks: Mapping[str, EventSink]) -> None:
    opened = [name for name, sink in sinks.items() if sink.open is not None]
    unknown = "no sink of this name can be switched on"
    check.each(("events", "sinks"), config.sinks, opened, unknown)
    for name, options in config.options.items():
        check.one(("events", "options", name), name, opened, unknown)
        if name in opened:
            _check_options(check, ("events", "options", name), options, sinks[name].options, "sink")


def _check_options(
    check: _Checker, path: tuple[str, ...], given: Mapping[str, Any], known: Mapping[str, Any], whose: str
) -> None:
    for name, value in given.items():
        if name not in known:
            check.one((*path, name), name, list(known), f"the {whose} has no such option")
        elif problem := option_problem(value, known[name]):
            check.add((*path, name), problem[0], value, problem[1])


def _check_model(check: _Checker, path: tuple[str, ...], model: str, providers: Sequence[str]) -> None:
    provider, slash, name = (part.strip() for part in model.partition("/"))
    if provider and slash and name:
        check.one(path, provider, providers, f"there is no provider for {model!r}")
    else:
        check.add(path, "not of the form provider/model", model, "provider/model, such as local/lexical")


def _check_recovery(config: Config, check: _Checker, providers: Sequence[str]) -> None:
    rules = config.recovery
    check.each(("recovery", "fallback_on"), rules.fallback_on or (), tuple(FailureClass), "there is no such cause")
    if not rules.max_attempts:
        check.add(("recovery", "max_attempts"), "0 would never ask anyone", 0, "at least 1")
    for name in ("deadline_s", "max_cost_usd", "backoff_s", "max_wait_s", "cool_down_s"):
        if (value := getattr(rules, name)) is not None and not value >= 0:  # from code; files are checked before
            check.add(("recovery", name), "not a number of at least 0", value, "a number of at least 0")
    for name in ("attempt_share", "think_share"):
        if not 0 < (share := getattr(rules, name)) <= 1:
            check.add(("recovery", name), "not a part of a whole", share, "above 0, to 1")
    for prefix, models in config.fallback.items():
        path = ("fallback", prefix)
        beginning, slash, _ = (part.strip().casefold() for part in prefix.partition("/"))
        if beginning not in providers if slash else not any(each.startswith(beginning) for each in providers):
            check.one(path, beginning, providers, "the id of no model begins like this")
        for model in models:
            _check_model(check, path, model, providers)
        if len({model.strip() for model in models}) < len(models):
            check.add(path, "a model stands in it twice", list(models), "each model once")
        if prefix.strip().casefold() in {model.strip().casefold() for model in models}:
            check.add(path, "the model falls back to itself", prefix, "other models")


class _Checker:
    def __init__(self, origins: Mapping[tuple[str, ...], str]) -> None:
        self.origins = origins
        self.mistakes: list[Mistake] = []

    def one(self, path: tuple[str, ...], value: str, allowed: Sequence[str], problem: str) -> None:
        if value not in allowed:
            close = difflib.get_close_matches(value, allowed, n=1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            self.add(path, problem + meant, value, ", ".join(allowed) or "none: no plugin contributes one")

    def each(self, path: tuple[str, ...], values: Iterable[str], allowed: Sequence[str], problem: str) -> None:
        for value in values:
            self.one(path, value, allowed, problem)

    def add(self, path: tuple[str, ...], problem: str, value: object, allowed: str) -> None:
        origin = self.origins.get(path) or next(
            (text for key, text in self.origins.items() if key[: len(path) - 1] == path[:-1] and len(path) > 1), ""
        )
        where = f"{origin}: {dotted(path)}" if origin else dotted(path)
        self.mistakes.append(Mistake(where, problem, NOT_SHOWN if is_hidden(path) else repr(value), allowed))
