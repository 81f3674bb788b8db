"""Finds the mistakes of a configuration that depend on the plugins: names, and options of contributed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from helmdeck_core.config.load import LoadedConfig
from helmdeck_core.config.pack_options import pack_options
from helmdeck_core.config.provider_settings import generic_kind, kind_of
from helmdeck_core.config.structure import dotted, value_problem
from helmdeck_core.config.types import (
    Config,
    EventsConfig,
    HistoryConfig,
    ProviderConfig,
    SelectionConfig,
    is_catalog_file,
    is_hidden,
)
from helmdeck_core.domain.catalog import CatalogSource, TrimStep
from helmdeck_core.domain.chain_policies import ChainPolicySpec
from helmdeck_core.domain.choosing import Chooser
from helmdeck_core.domain.event_sinks import EventSink
from helmdeck_core.domain.history import HistoryStoreSpec
from helmdeck_core.domain.models import CHOSEN_BY_MODEL, BudgetRow, BudgetTable
from helmdeck_core.domain.packs import Pack
from helmdeck_core.domain.providers import ProviderSpec
from helmdeck_core.domain.questions import PromptVariant
from helmdeck_core.domain.ranking import Ranker
from helmdeck_core.domain.routing import RouterSpec
from helmdeck_core.domain.runs import RunEngineSpec
from helmdeck_core.domain.transports import TransportSpec
from helmdeck_core.errors import ConfigError, FailureClass, Mistake
from helmdeck_core.hooks.contributions import Contributions
from helmdeck_core.redaction import NOT_SHOWN
from helmdeck_core.secret_places import secret_in, shown_url
from helmdeck_core.suggestions import did_you_mean, nearest_names

R = TypeVar("R")

LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL")

EXAMPLE_MODEL = "provider/model, such as local/lexical"


def mistakes_of(
    loaded: LoadedConfig, plugins: Callable[[], Sequence[str]], contributions: Contributions
) -> list[Mistake]:
    """Return every mistake.

    :param plugins: returns the names of all plugins.
    """
    config, check = loaded.config, _Checker(loaded.origins)
    specs = {each.name: each for each in contributions.values_of(ProviderSpec)}
    kinds = list(specs)
    providers = sorted({*kinds, *config.providers})
    _check_plugins(check, config, plugins)
    _check_catalog(check, config, contributions)
    _check_selection(check, config.selection, contributions.values_of(Ranker))
    _check_events(check, config.events, contributions.values_of(EventSink))
    _check_packs(check, config, contributions.values_of(Pack))
    _check_transports(check, config, contributions.values_of(TransportSpec))
    routers = list(contributions.by_name(RouterSpec))
    for name, provider in config.providers.items():
        _check_provider(check, name, provider, specs)
        uses = (provider.routing, *provider.routes, *provider.api_keys, provider.max_concurrent)
        if any(uses) and (provider.routing or not routers):
            check.name(("providers", name, "routing"), provider.routing or "", routers, "unknown routing")
    _check_history(check, config.history, contributions)
    if engines := list(contributions.by_name(RunEngineSpec)):
        check.name(("runs", "engine"), config.runs.engine, engines, "unknown run engine")
    _check_budgets(check, config, contributions, providers)
    _check_recovery(check, config)
    _check_fallback(check, config, providers)
    if config.chains.policy is not None:
        policies = list(contributions.by_name(ChainPolicySpec))
        check.name(("chains", "policy"), config.chains.policy, policies, "unknown chain policy")
    if config.log_level is not None:
        check.name(("log_level",), config.log_level.upper(), LOG_LEVELS, "unknown log level")
    model = config.model.strip()
    if "/" not in model.strip("/") and not BudgetTable(contributions.values_of(BudgetRow)).ids(model, providers):
        check.add(("model",), "not of the form provider/model", config.model, EXAMPLE_MODEL)
    return check.mistakes


def _check_plugins(check: _Checker, config: Config, plugins: Callable[[], Sequence[str]]) -> None:
    # The names include installed plugins that are not loaded, which takes a scan of all distributions.
    if config.plugins.disable or config.plugins.first:
        names = plugins()
        check.names(("plugins", "disable"), config.plugins.disable, names, "unknown plugin")
        check.names(("plugins", "first"), config.plugins.first, names, "unknown plugin")


def _check_catalog(check: _Checker, config: Config, contributions: Contributions) -> None:
    steps = list(contributions.by_name(TrimStep))
    for path, rule in _rules("compaction", config.compaction, config.compaction):
        check.names((*path, "order"), rule.order or (), steps, "unknown trim step")
        check.names((*path, "drop"), rule.drop, steps, "unknown trim step")
        for key, names in {"order": rule.order or (), "drop": rule.drop}.items():
            for name in [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                check.add((*path, key), "a trim step is listed twice", name, "each step once")
        for name in dict.fromkeys(name for name in rule.order or () if name in rule.drop):
            check.add((*path, "drop"), "the trim step is in order as well", name, "each step in one of the two")
    sources = [name for name in config.catalog.sources if not is_catalog_file(name)]
    named = [each.name for each in contributions.values_of(CatalogSource) if each.read is None]
    allowed = [*named, "packs", "a path that ends in .json or .toml"]
    check.names(("catalog", "sources"), sources, allowed, "unknown catalog source")
    if config.catalog.mcp:
        openable = [each.name for each in contributions.values_of(CatalogSource) if each.open is not None]
        check.name(("catalog", "mcp"), "mcp", openable, "no plugin opens this catalog source")


def _check_selection(check: _Checker, config: SelectionConfig, rankers: Iterable[Ranker]) -> None:
    by_name = {ranker.name: ranker for ranker in rankers}
    for path, rule in _rules("selection", config, config):
        if rule.ranker is not None:
            check.name((*path, "ranker"), rule.ranker, list(by_name), "unknown ranker")
        if rule.confidence is not None and not 0 <= rule.confidence <= 1:
            check.add((*path, "confidence"), "not between 0 and 1", rule.confidence, "0 to 1")
        for name, options in rule.rankers.items():
            check.name((*path, "rankers", name), name, list(by_name), "unknown ranker")
            if name in by_name:
                _check_options(check, (*path, "rankers", name), options, by_name[name].options, "ranker")


def _check_events(check: _Checker, config: EventsConfig, sinks: Iterable[EventSink]) -> None:
    optional = {sink.name: sink for sink in sinks if sink.open is not None}
    unknown = "not a sink that can be enabled"
    check.names(("events", "sinks"), config.sinks, list(optional), unknown)
    for name, options in config.options.items():
        check.name(("events", "options", name), name, list(optional), unknown)
        if name in optional:
            _check_options(check, ("events", "options", name), options, optional[name].options, "sink")


def _check_packs(check: _Checker, config: Config, packs: Sequence[Pack]) -> None:
    owners = {pack.options_table: pack for pack in packs if pack.options_type is not None}
    for name in config.packs.options:
        check.name(("packs", "options", name), name, list(owners), "no pack has options of this name")
        try:
            _ = pack_options(config, owners[name]) if name in owners else None
        except ConfigError as exc:
            check.mistakes += exc.mistakes


def _check_options(
    check: _Checker, path: tuple[str, ...], options: Mapping[str, Any], defaults: Mapping[str, Any], kind: str
) -> None:
    for name, value in options.items():
        if name not in defaults:
            check.name((*path, name), name, list(defaults), f"unknown option of the {kind}")
        elif invalid := value_problem(value, type(defaults[name])):
            check.add((*path, name), invalid.problem, value, invalid.allowed)


def _check_transports(check: _Checker, config: Config, specs: Iterable[TransportSpec]) -> None:
    needs = {spec.name: spec.needs for spec in specs}
    installed = [name for name, missing in needs.items() if not missing]
    names = [("http", config.http.transport)]
    names += [(f"providers.{name}", each.transport) for name, each in config.providers.items()]
    for table, transport in names:
        if transport is None or transport in installed:
            continue
        if missing := needs.get(transport):
            problem = f"not installed: pip install {missing}"
        else:
            problem = "unknown transport" + did_you_mean(transport, needs)
        allowed = nearest_names(transport, installed) or "none: no plugin contributes one"
        check.add((*table.split(".", 1), "transport"), problem, transport, allowed)


def _check_provider(check: _Checker, name: str, provider: ProviderConfig, specs: Mapping[str, ProviderSpec]) -> None:
    path, generic = ("providers", name), generic_kind(specs)
    kinds = sorted(specs, key=lambda each: each != generic)
    if provider.kind is not None:
        check.name((*path, "kind"), provider.kind, kinds, "unknown kind of provider")
    elif kind_of(name, provider, specs) not in specs:
        own = f", or a base_url for a server of kind {generic!r}" if generic else ""
        problem = f"no plugin contributes a provider of this name, so kind is required{own}"
        check.name((*path, "kind"), name, kinds, problem)
    if provider.api_keys and (provider.api_key or provider.routes):
        check.add(
            (*path, "api_keys"), "set besides api_key or routes", "", "api_keys alone, or an api_key in each route"
        )
    tables: dict[tuple[str, ...], Any] = {
        (*path, "routes", str(index)): each for index, each in enumerate(provider.routes)
    }
    limits = "timeout_s", "connect_timeout_s", "idle_timeout_s", "first_token_timeout_s", "max_response_bytes"
    for where, table in {path: provider, **tables}.items():
        if table.base_url and (problem := secret_in(table.base_url)):
            allowed = "a URL without credentials; use api_key or headers"
            check.add((*where, "base_url"), problem, shown_url(table.base_url), allowed)
        for limit in (*limits, "max_concurrent", "weight"):
            if (value := getattr(table, limit, None)) is not None and not value > 0:
                is_fatal = value == 0 and limit != "weight"
                problem = "every request would fail at 0" if is_fatal else "not a number above 0"
                check.add((*where, limit), problem, value, "more than 0")


def _check_history(check: _Checker, history: HistoryConfig, contributions: Contributions) -> None:
    if history.url and not history.is_off:
        scheme, colon, _ = history.url.partition(":")
        stores = [f"{name}:..." for name in contributions.by_name(HistoryStoreSpec)]
        check.name(("history", "url"), f"{scheme}:..." if colon else scheme, stores, "unknown kind of history store")


def _check_budgets(check: _Checker, config: Config, contributions: Contributions, providers: Sequence[str]) -> None:
    variants = sorted({each.variant for each in contributions.values_of(PromptVariant)})
    for prefix, budget in config.budgets.items():
        path = ("budgets", prefix)
        if (value := budget.first_token_timeout_s) is not None and not value > 0:
            check.add((*path, "first_token_timeout_s"), "every request would fail", value, "more than 0")
        if budget.prompt_variant is not None:
            check.name((*path, "prompt_variant"), budget.prompt_variant, variants, "unknown prompt variant")
        if budget.chooser is not None:
            choosers = (CHOSEN_BY_MODEL, *contributions.by_name(Chooser))
            check.name((*path, "chooser"), budget.chooser, choosers, "unknown chooser")
        if budget.filter_model is not None:
            _check_model(check, (*path, "filter_model"), budget.filter_model, providers)


def _check_model(check: _Checker, path: tuple[str, ...], model: str, providers: Sequence[str]) -> None:
    provider, slash, name = (part.strip() for part in model.partition("/"))
    if provider and slash and name:
        check.name(path, provider, providers, f"unknown provider in {model!r}")
    else:
        check.add(path, "not of the form provider/model", model, EXAMPLE_MODEL)


def _check_recovery(check: _Checker, config: Config) -> None:
    recovery = config.recovery
    check.names(("recovery", "fallback_on"), recovery.fallback_on or (), tuple(FailureClass), "unknown cause")
    if not recovery.max_attempts:
        check.add(("recovery", "max_attempts"), "no model would be called at 0", 0, "at least 1")
    for name in ("deadline_s", "max_cost_usd", "backoff_s", "max_wait_s", "patience_s", "cool_down_s"):
        # Files are checked when they are loaded; a configuration that was made in code is not.
        if (value := getattr(recovery, name)) is not None and not value >= 0:
            check.add(("recovery", name), "not a number of at least 0", value, "a number of at least 0")
    if not 0 <= recovery.retry_share <= 1:
        check.add(("recovery", "retry_share"), "not a share", recovery.retry_share, "0 to 1")
    for name in ("attempt_share", "think_share"):
        if not 0 < (share := getattr(recovery, name)) <= 1:
            check.add(("recovery", name), "not a share", share, "above 0, to 1")


def _check_fallback(check: _Checker, config: Config, providers: Sequence[str]) -> None:
    for prefix, models in config.fallback.items():
        path = ("fallback", prefix)
        provider, slash, _ = (part.strip().casefold() for part in prefix.partition("/"))
        if provider not in providers if slash else not any(each.startswith(provider) for each in providers):
            check.name(path, provider, providers, "no model id has this prefix", found=prefix)
        for model in models:
            _check_model(check, path, model, providers)
        if len({model.strip() for model in models}) < len(models):
            check.add(path, "a model is listed twice", list(models), "each model once")
        if prefix.strip().casefold() in {model.strip().casefold() for model in models}:
            check.add(path, "the model falls back to itself", prefix, "other models")


def _rules(key: str, config: Any, rule: R) -> Iterator[tuple[tuple[str, ...], R]]:
    """The global rule, those of tiers and those of models, each with its key."""
    yield (key,), rule
    for tier, each in config.tiers.items():
        yield (key, "tiers", tier.value), each
    for prefix, each in config.models.items():
        yield (key, "models", prefix), each


class _Checker:
    """Collects mistakes with the origin of the value."""

    def __init__(self, origins: Mapping[tuple[str, ...], str]) -> None:
        self.origins = origins
        self.mistakes: list[Mistake] = []

    def name(
        self, path: tuple[str, ...], value: str, allowed: Sequence[str], problem: str, *, found: str | None = None
    ) -> None:
        """Check a name; ``found`` is the configured value that it is a part of."""
        if value not in allowed:
            names = nearest_names(value, allowed) or "none: no plugin contributes one"
            self.add(path, problem + did_you_mean(value, allowed), value if found is None else found, names)

    def names(self, path: tuple[str, ...], values: Iterable[str], allowed: Sequence[str], problem: str) -> None:
        for value in values:
            self.name(path, value, allowed, problem)

    def add(self, path: tuple[str, ...], problem: str, value: object, allowed: str) -> None:
        siblings = (text for key, text in self.origins.items() if key[: len(path) - 1] == path[:-1] and len(path) > 1)
        origin = self.origins.get(path) or self.origins.get(path[:3]) or next(siblings, "")  # three: a list of tables
        where = f"{origin}: {dotted(path)}" if origin else dotted(path)
        self.mistakes.append(Mistake(where, problem, NOT_SHOWN if is_hidden(path) else repr(value), allowed))
