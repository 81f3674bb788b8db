"""Resolves plugins and configuration into immutable chains, once; nothing afterwards calls a hook except budget lookups."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import attrs

from helmdeck_core.config.load import LoadedConfig
from helmdeck_core.config.precedence import SelectionRules, ladder_rule, selection_rules, with_tier_defaults
from helmdeck_core.config.provider_settings import kind_of
from helmdeck_core.config.structure import dotted
from helmdeck_core.config.types import Config
from helmdeck_core.config.validate import mistakes_of
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.attempt_texts import AttemptTexts
from helmdeck_core.domain.catalog import TrimStep
from helmdeck_core.domain.chat import DISPOSITIONS, ChatResponse, Disposition, StopReason, StopReasonTable
from helmdeck_core.domain.continuation import ContinuationMerger
from helmdeck_core.domain.decode import Decoder
from helmdeck_core.domain.event_sinks import EventSink, EventSinkWarning
from helmdeck_core.domain.events import Event
from helmdeck_core.domain.models import Budget, BudgetRow, BudgetTable, ModelId, Tier, TierDefaults
from helmdeck_core.domain.price_sources import PriceSource
from helmdeck_core.domain.providers import ProviderSpec
from helmdeck_core.domain.questions import PromptVariant
from helmdeck_core.domain.secret_patterns import SecretPattern
from helmdeck_core.domain.texts import TEXTS, PromptText
from helmdeck_core.domain.tool_calls import ToolCallReader
from helmdeck_core.domain.transports import TransportSpec
from helmdeck_core.domain.weights import WEIGHTS, Weight
from helmdeck_core.errors import ConfigError, PluginError
from helmdeck_core.hooks.calls import Contribution, attributed
from helmdeck_core.hooks.contributions import Contributions, Named, collect_all
from helmdeck_core.hooks.foreign_code import describe_error
from helmdeck_core.hooks.manager import Plugins
from helmdeck_core.resolve.budgets import BudgetResolver
from helmdeck_core.resolve.call_costs import Pricer
from helmdeck_core.resolve.checks import checked
from helmdeck_core.resolve.event_sinks import ActiveSink, active_sinks
from helmdeck_core.resolve.readers import continuation_merger, open_decoder, tool_call_reader
from helmdeck_core.resolve.stop_reasons import StopReasons
from helmdeck_core.resolve.transports import TransportChooser, client_mistakes

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Runtime:
    """Plugins and configuration, resolved.

    :ivar origins: where each configured value comes from, by key.
    :ivar folder: the folder of the configuration file; ``None`` without one.
    :ivar texts: the wording of every text that the core adds to prompts and answers, by name.
    :ivar weights: the value of every weight, by name.
    :ivar secret_pattern: matches any contributed secret pattern; ``None`` without any.
    :ivar contributions: all contributed values by hook; ``contributed`` returns those of one type.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     deck.runtime.config.model
    'local/lexical'
    """

    config: Config
    origins: Mapping[tuple[str, ...], str]
    folder: Path | None
    plugins: Plugins
    contributions: Contributions
    budgets: BudgetResolver
    decoder: Decoder
    tool_calls: ToolCallReader
    merger: ContinuationMerger
    pricer: Pricer
    stop_reasons: StopReasons
    texts: Mapping[str, str]
    weights: Mapping[str, float]
    secret_pattern: re.Pattern[str] | None
    transports: TransportChooser
    sinks: tuple[Contribution[ActiveSink], ...]

    def contributed(self, value_type: type[T]) -> Named[T]:
        """Return the contributed values of a type by name, in their final order."""
        return self.contributions.by_name(value_type)

    def emit(self, event: Event) -> None:
        """Send an event to every active sink. Callers skip the construction of events when ``sinks`` is empty.

        A sink that raises is reported with ``EventSinkWarning``; it fails neither the call nor other sinks.
        """
        for sink in self.sinks:
            _deliver(sink, sink.value.handle, event)

    @property
    def records_texts(self) -> bool:
        """Whether any sink records texts of attempts."""
        return any(sink.value.handle_texts is not None for sink in self.sinks)

    def emit_texts(self, texts: AttemptTexts) -> None:
        """Send the texts of an attempt to the sinks that record them, as ``emit`` does."""
        for sink in self.sinks:
            if sink.value.handle_texts is not None:
                _deliver(sink, sink.value.handle_texts, texts)

    def ladder(self, tier: Tier, model: str) -> tuple[Contribution[TrimStep], ...]:
        """Return the trim steps for a model in order: by its own rule, its tier's, the global one, or all of them."""
        _, rule = ladder_rule(self.config.compaction, tier, self.budgets.names(model))
        steps = self.contributed(TrimStep)
        names = rule.order if rule.order is not None else tuple(steps)
        return tuple(steps[name] for name in names if name not in rule.drop)

    def ladder_source(self, tier: Tier, model: str) -> str:
        """Return where the rule of the trim steps is configured; empty when none is, and all of them run."""
        path, _ = ladder_rule(self.config.compaction, tier, self.budgets.names(model))
        origins = (self.origins.get((*path, name)) for name in ("order", "drop"))
        return next((f"{origin}: {dotted(path)}" for origin in origins if origin), "")

    def selection(self, tier: Tier, model: str) -> SelectionRules:
        """Return the selection rules for a model: each field by its own rule, its tier's, or the global one."""
        return selection_rules(self.config.selection, self.budgets.tiers[tier], self.budgets.names(model), self.origins)

    def first_token_timeout_s(self, budget: Budget, *, is_alone: bool) -> float | None:
        """Return the limit of a model's silence: its own, its provider's, or its tier's, which is for models of a chain.

        :param is_alone: no other model could answer in its place.
        """
        provider = self.config.providers.get(ModelId.provider_of(budget.model))
        limit_s = budget.first_token_timeout_s or (provider.first_token_timeout_s if provider else None)
        if limit_s is not None or is_alone:
            return limit_s
        tier = self.budgets.tiers[budget.tier]
        return tier.reasoning_first_token_timeout_s if budget.is_hybrid_reasoning else tier.first_token_timeout_s

    def variant(self, task: str, name: str) -> PromptVariant | None:
        """Return the variant of a task by name, or its only one; its first one for an empty name; ``None`` if there is none."""
        variants = self.contributed(PromptVariant)
        if contribution := variants.get(f"{task}.{name}"):
            return contribution.value
        of_task = [contribution.value for contribution in variants.values() if contribution.value.task == task]
        return of_task[0] if len(of_task) == 1 or (of_task and not name) else None

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Normalise a native stop reason; see ``StopReasons.normalise``."""
        return self.stop_reasons.normalise(raw, wire_format)

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """Return what can be done about a turn that ended; see ``StopReasons.disposition_of``."""
        return self.stop_reasons.disposition_of(raw, reason, wire_format)

    def disposition(self, response: ChatResponse) -> Disposition:
        """Return what can be done about a turn that ended."""
        return response.disposition or DISPOSITIONS[response.stop_reason]

    def chain(self, model: str, fallbacks: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return the models of a call in order: the model itself, then its fallbacks, by default the configured ones."""
        chains = {"": fallbacks} if fallbacks is not None else self.config.fallback
        if not chains:
            return (model,)
        key = model.casefold()
        prefixes = [prefix for prefix in chains if key.startswith(prefix.strip().casefold())]
        fallbacks = chains[max(prefixes, key=len)] if prefixes else ()
        return tuple(dict.fromkeys((model, *(each.strip() for each in fallbacks))))


def _deliver(sink: Contribution[ActiveSink], handle: Callable[[T], None], item: T) -> None:
    try:
        handle(item)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        fault = sink.fault(f"EventSink {sink.value.name!r} raised {describe_error(exc)}")
        with contextlib.suppress(EventSinkWarning):  # a filter may turn warnings into errors
            warnings.warn(str(fault), EventSinkWarning, stacklevel=3)


def resolve_runtime(
    plugins: Plugins,
    loaded: LoadedConfig,
    http_clients: Mapping[str, object] = EMPTY,
    errors: list[PluginError] | None = None,
) -> Runtime:
    """Call every contribution hook once and freeze the results.

    :param http_clients: HTTP clients of the application, by provider name.
    :param errors: a list that receives the errors of contributions, which are then left out.
    :raises ConfigError: with every mistake of the configuration, those found while loading it included.
    :raises PluginError: a plugin raised, or contributed what its hook forbids.

    >>> from helmdeck_core import load_config, load_plugins, resolve_runtime
    >>> runtime = resolve_runtime(load_plugins(autoload=False), load_config(environ={"HELMDECK_MODEL": "acme/large"}))
    >>> runtime.chain("acme/large")
    ('acme/large',)
    """
    contributions = collect_all(plugins, errors)
    transports, providers = contributions.by_name(TransportSpec), contributions.by_name(ProviderSpec)
    mistakes = [*loaded.mistakes, *mistakes_of(loaded, plugins.names, contributions)]
    mistakes += client_mistakes(transports, providers.keys() | loaded.config.providers.keys(), http_clients)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    texts = dict.fromkeys(TEXTS, "") | {each.name: each.text for each in contributions.values_of(PromptText)}
    contributions = checked(contributions, texts, plugins.is_builtin)
    config = loaded.config
    decoder = open_decoder(contributions)
    budgets = BudgetResolver(
        plugins,
        BudgetTable(contributions.values_of(BudgetRow)),
        {contribution.value.prefix: contribution.plugin for contribution in contributions.of(BudgetRow)},
        config.budgets,
        loaded.origins,
        _wrappers(config, providers),
        contributions.values_of(TierDefaults),
        contributions.of(PriceSource),
    )
    secret_patterns = [f"(?:{each.pattern})" for each in contributions.values_of(SecretPattern)]
    return Runtime(
        config=with_tier_defaults(config, budgets.tiers.values()),
        origins=loaded.origins,
        folder=loaded.file.parent if loaded.file else None,
        plugins=plugins,
        contributions=contributions,
        budgets=budgets,
        decoder=decoder,
        tool_calls=tool_call_reader(contributions, decoder),
        merger=continuation_merger(contributions),
        pricer=Pricer(contributions.of(PriceSource)),
        stop_reasons=StopReasons(contributions.values_of(StopReasonTable)),
        texts=texts,
        weights={**WEIGHTS, **{each.name: each.value for each in contributions.values_of(Weight)}},
        secret_pattern=re.compile("|".join(secret_patterns)) if secret_patterns else None,
        transports=TransportChooser(transports, config, http_clients),
        sinks=active_sinks(contributions.of(EventSink), config.events, loaded.origins),
    )


def _wrappers(config: Config, providers: Named[ProviderSpec]) -> dict[str, Callable[[str], str]]:
    """The providers that wrap others, by every name that they are configured under."""
    specs = {name: contribution.value for name, contribution in providers.items()}
    kinds = {name: name for name in specs} | {
        name: kind_of(name, each, specs) for name, each in config.providers.items()
    }
    return {
        name: attributed(providers[kind], budget_of, str)
        for name, kind in kinds.items()
        if (budget_of := providers[kind].value.budget_of) is not None
    }
