"""Resolves plugins and configuration into immutable chains, once; what runs afterwards calls no hook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core.config.load import LoadedConfig, dotted
from helmdeck_core.config.precedence import SelectionRules, ladder_rule, selection_rules, with_tier_defaults
from helmdeck_core.config.types import Config
from helmdeck_core.config.validate import mistakes_of
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import CatalogSource, TrimStep
from helmdeck_core.domain.chat import (
    DISPOSITIONS,
    ChatResponse,
    Disposition,
    ProviderSpec,
    StopReason,
    StopReasonTable,
)
from helmdeck_core.domain.commands import Command
from helmdeck_core.domain.continuation import ContinuationAnnouncement, NativeContinuation
from helmdeck_core.domain.decode import DecodeStep, ReasoningTag, RefusalPattern
from helmdeck_core.domain.error_rules import ErrorRuleSet
from helmdeck_core.domain.event_sinks import EventSink
from helmdeck_core.domain.events import Event
from helmdeck_core.domain.history import HistoryStoreSpec
from helmdeck_core.domain.models import BudgetRow, BudgetTable, Tier, TierDefaults
from helmdeck_core.domain.packs import Pack
from helmdeck_core.domain.prices import PriceSource
from helmdeck_core.domain.questions import PromptVariant, rendered_like_others
from helmdeck_core.domain.ranking import Ranker
from helmdeck_core.domain.recovery import CAUSES_OF_RULES, Action, FailureContext, NextModel, RecoveryRule, Retry
from helmdeck_core.domain.secret_patterns import SecretPattern
from helmdeck_core.domain.texts import TEXTS, PromptText
from helmdeck_core.domain.tool_calls import ToolCallFormat
from helmdeck_core.domain.transports import TransportSpec
from helmdeck_core.domain.weights import WEIGHTS, Weight
from helmdeck_core.errors import ConfigError, PluginError
from helmdeck_core.hooks import calls as hook_calls
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.manager import Plugins
from helmdeck_core.reading.decoder import Decoder
from helmdeck_core.reading.tool_calls.reader import ToolCallReader
from helmdeck_core.reading.tool_calls.scanner import format_problem
from helmdeck_core.resolve.budgets import BudgetResolver
from helmdeck_core.resolve.contributed import checked_patterns, one_pattern, values_by_name
from helmdeck_core.resolve.event_sinks import ActiveSink, listening
from helmdeck_core.resolve.prices import Pricer
from helmdeck_core.resolve.transports import TransportChooser, client_mistakes

T = TypeVar("T")
ByName = Mapping[str, Contribution[T]]

CONTRIBUTIONS: Mapping[str, type] = {
    "helmdeck_providers": ProviderSpec,
    "helmdeck_transports": TransportSpec,
    "helmdeck_stop_reasons": StopReasonTable,
    "helmdeck_error_rules": ErrorRuleSet,
    "helmdeck_budget_rows": BudgetRow,
    "helmdeck_tier_defaults": TierDefaults,
    "helmdeck_trim_steps": TrimStep,
    "helmdeck_rankers": Ranker,
    "helmdeck_prompt_variants": PromptVariant,
    "helmdeck_prompt_texts": PromptText,
    "helmdeck_weights": Weight,
    "helmdeck_reasoning_tags": ReasoningTag,
    "helmdeck_decode_steps": DecodeStep,
    "helmdeck_refusal_patterns": RefusalPattern,
    "helmdeck_tool_call_formats": ToolCallFormat,
    "helmdeck_recovery_rules": RecoveryRule,
    "helmdeck_native_continuations": NativeContinuation,
    "helmdeck_continuation_announcements": ContinuationAnnouncement,
    "helmdeck_prices": PriceSource,
    "helmdeck_packs": Pack,
    "helmdeck_catalog_sources": CatalogSource,
    "helmdeck_history_stores": HistoryStoreSpec,
    "helmdeck_secret_patterns": SecretPattern,
    "helmdeck_commands": Command,
    "helmdeck_event_sinks": EventSink,
}
"""Every contribution and the type of its values."""


@attrs.frozen(kw_only=True)
class Runtime:
    """Everything that plugins and configuration come to; every chain is in its final order.

    :ivar contributions: hook name to all its values with their owners, for listings.
    """

    config: Config
    origins: Mapping[tuple[str, ...], str]
    plugins: Plugins
    contributions: Mapping[str, tuple[Contribution[Any], ...]]
    budgets: BudgetResolver
    decoder: Decoder
    tool_calls: ToolCallReader
    trim_steps: ByName[TrimStep]
    rankers: ByName[Ranker]
    variants: ByName[PromptVariant]
    recovery_rules: ByName[RecoveryRule]
    native_continuations: ByName[NativeContinuation]
    announcements: tuple[ContinuationAnnouncement, ...]
    texts: Mapping[str, str]
    weights: Mapping[str, float]
    pricer: Pricer
    packs: ByName[Pack]
    sources: ByName[CatalogSource]
    providers: ByName[ProviderSpec]
    secret_pattern: re.Pattern[str] | None
    transports: TransportChooser
    history_stores: ByName[HistoryStoreSpec]
    error_rules: tuple[ErrorRuleSet, ...]
    stop_tables: Mapping[str, Mapping[str, StopReason]]
    any_stop: Mapping[str, StopReason]
    stop_dispositions: Mapping[str, Mapping[str, Disposition]]
    sinks: tuple[Contribution[ActiveSink], ...]

    def emit(self, event: Event) -> None:
        """Hand an event to every active sink. Where there is none, ``sinks`` is empty, and no event needs to be made."""
        for sink in self.sinks:
            try:
                sink.value.handle(event)
            except (Exception, SystemExit) as exc:
                raise sink.fault(f"{type(exc).__name__}: {exc}") from exc

    def ladder(self, tier: Tier, model: str) -> tuple[Contribution[TrimStep], ...]:
        """The trim steps for a model, in order: its own rule, else its tier's, else the global one, else all."""
        _, rule = ladder_rule(self.config.compaction, tier, self.budgets.names(model))
        names = rule.order if rule.order is not None else tuple(self.trim_steps)
        return tuple(self.trim_steps[name] for name in names if name not in rule.drop)

    def ladder_source(self, tier: Tier, model: str) -> str:
        """Who said which trim steps those are; empty when nobody did and all of them run."""
        path, _ = ladder_rule(self.config.compaction, tier, self.budgets.names(model))
        said = (self.origins.get((*path, name)) for name in ("order", "drop"))
        return next((f"{origin}: {dotted(path)}" for origin in said if origin), "")

    def selection(self, tier: Tier, model: str) -> SelectionRules:
        """How entries are chosen for a model: field by field its own rule, else its tier's, else the global one."""
        return selection_rules(self.config.selection, self.budgets.tiers[tier], self.budgets.names(model), self.origins)

    def variant(self, task: str, wanted: str) -> PromptVariant | None:
        """The variant of a task by name, or its only one; the first one for an empty name; ``None`` when there is none."""
        found = self.variants.get(f"{task}.{wanted}")
        if found is not None:
            return found.value
        every = [owned.value for owned in self.variants.values() if owned.value.task == task]
        return every[0] if len(every) == 1 or (every and not wanted) else None

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Look a native stop reason up; what no table knows is ``UNKNOWN``, never a clean end.

        :param wire_format: a table's name. ``""`` asks all tables, the first hit in their order counting, and forgives
            separators and what stands before a dot, as in ``FinishReason.MAX_TOKENS``.
        """
        if raw is None:
            return StopReason.UNKNOWN
        if wire_format:
            return self.stop_tables.get(wire_format, {}).get(raw.strip().casefold(), StopReason.UNKNOWN)
        return self.any_stop.get(_squashed(raw.rpartition(".")[2]), StopReason.UNKNOWN)

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """What can be done about the way a turn ended.

        :param reason: what the whole answer means; where it is not what the table says of ``raw``, the word counts no more.
        """
        if raw is not None and self.normalise_stop(raw, wire_format) is reason:
            found = self.stop_dispositions.get(wire_format, {}).get(raw.strip().casefold())
            if found is not None:
                return found
        return DISPOSITIONS[reason]

    def disposition(self, response: ChatResponse) -> Disposition:
        """What can be done about the way an answer ended."""
        return response.disposition or DISPOSITIONS[response.stop_reason]

    def chain(self, model: str) -> tuple[str, ...]:
        """The models of a call, in the order in which they may be asked: the one itself, then its fallbacks."""
        chains = self.config.fallback
        if not chains:
            return (model,)
        key = model.casefold()
        prefixes = [prefix for prefix in chains if key.startswith(prefix.strip().casefold())]
        more = chains[max(prefixes, key=len)] if prefixes else ()
        return tuple(dict.fromkeys((model, *(each.strip() for each in more))))


def _squashed(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum() or char == ":")


def _any_stop(tables: Iterable[Mapping[str, StopReason]]) -> dict[str, StopReason]:
    """All tables as one, and our own names on top: text that was normalised before may be read again."""
    merged: dict[str, StopReason] = {}
    for table in tables:
        for word, reason in table.items():
            merged.setdefault(_squashed(word), reason)
    return merged | {_squashed(reason.value): reason for reason in StopReason}


def collect_all(plugins: Plugins, errors: list[PluginError] | None = None) -> dict[str, tuple[Contribution[Any], ...]]:
    """Call every contribution hook; ``errors`` as for ``collect``."""
    return {hook: hook_calls.collect(plugins, hook, kind, errors) for hook, kind in CONTRIBUTIONS.items()}


def resolve(
    plugins: Plugins,
    loaded: LoadedConfig,
    http_clients: Mapping[str, object] = EMPTY,
    errors: list[PluginError] | None = None,
) -> Runtime:
    """Call every hook once and freeze the results.

    :param http_clients: HTTP clients of the application, by provider name.
    :param errors: a list that receives the errors of contributions, which are then left out.
    :raises ConfigError: with every mistake of the configuration, those of its reading included.
    :raises PluginError: a plugin raised or contributed what its hook forbids.
    """
    found = collect_all(plugins, errors)
    mistakes = [*loaded.mistakes, *mistakes_of(loaded, plugins.names, found)]
    transports: ByName[TransportSpec] = _named(found["helmdeck_transports"])
    names = {owned.value.name for owned in found["helmdeck_providers"]} | loaded.config.providers.keys()
    mistakes += client_mistakes(transports, names, http_clients)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    table = BudgetTable(owned.value for owned in found["helmdeck_budget_rows"])
    owners = {owned.value.prefix: owned.plugin for owned in found["helmdeck_budget_rows"]}
    providers: ByName[ProviderSpec] = _named(found["helmdeck_providers"])
    stop_tables = {
        owned.value.name: {word.casefold(): reason for word, reason in owned.value.reasons.items()}
        for owned in found["helmdeck_stop_reasons"]
    }
    tags = _values(found["helmdeck_reasoning_tags"])
    texts = values_by_name(found["helmdeck_prompt_texts"], dict.fromkeys(TEXTS, ""), lambda each: each.text)
    refusals = checked_patterns(found["helmdeck_refusal_patterns"], plugins, lambda each: (each.pattern,))
    decoder = Decoder(tags, _decode_steps(found["helmdeck_decode_steps"]), refusals)
    budgets = BudgetResolver(
        plugins,
        table,
        owners,
        loaded.config.budgets,
        loaded.origins,
        _wrappers(loaded.config, providers),
        _values(found["helmdeck_tier_defaults"]),
    )
    return Runtime(
        config=with_tier_defaults(loaded.config, budgets.tiers.values()),
        origins=loaded.origins,
        plugins=plugins,
        contributions=found,
        budgets=budgets,
        decoder=decoder,
        tool_calls=ToolCallReader(_tool_call_formats(found["helmdeck_tool_call_formats"], plugins), tags, decoder),
        trim_steps=_named(found["helmdeck_trim_steps"]),
        rankers=_named(found["helmdeck_rankers"]),
        variants=_named(_variants(found["helmdeck_prompt_variants"], texts)),
        recovery_rules=_named(_recovery_rules(found["helmdeck_recovery_rules"])),
        native_continuations=_named(found["helmdeck_native_continuations"]),
        announcements=checked_patterns(
            found["helmdeck_continuation_announcements"],
            plugins,
            lambda each: (*each.openers, *each.phrases, *each.unspaced_phrases),
        ),
        texts=texts,
        weights=values_by_name(found["helmdeck_weights"], WEIGHTS, lambda each: each.value),
        pricer=Pricer(found["helmdeck_prices"]),
        packs=_named(found["helmdeck_packs"]),
        sources=_named(found["helmdeck_catalog_sources"]),
        providers=providers,
        secret_pattern=one_pattern(
            each.pattern
            for each in checked_patterns(found["helmdeck_secret_patterns"], plugins, lambda each: (each.pattern,))
        ),
        transports=TransportChooser(transports, loaded.config, http_clients),
        history_stores=_named(found["helmdeck_history_stores"]),
        error_rules=_values(found["helmdeck_error_rules"]),
        stop_tables=stop_tables,
        any_stop=_any_stop(stop_tables.values()),
        stop_dispositions={
            owned.value.name: {word.casefold(): each for word, each in owned.value.dispositions.items()}
            for owned in found["helmdeck_stop_reasons"]
        },
        sinks=listening(found["helmdeck_event_sinks"], loaded.config.events),
    )


def _values(found: Iterable[Contribution[T]]) -> tuple[T, ...]:
    return tuple(owned.value for owned in found)


def _named(found: Iterable[Contribution[T]]) -> ByName[T]:
    return {getattr(owned.value, "name"): owned for owned in found}


def _decode_steps(found: Iterable[Contribution[DecodeStep]]) -> tuple[DecodeStep, ...]:
    def texts(step: DecodeStep) -> Callable[[str], list[str]]:
        def candidates(text: str) -> list[str]:
            given = list(step.candidates(text))
            if not all(isinstance(each, str) for each in given):
                raise TypeError("yielded something that is not a text")
            return given

        return candidates

    return tuple(
        attrs.evolve(owned.value, candidates=hook_calls.attributed(owned, texts(owned.value), list)) for owned in found
    )


def _tool_call_formats(found: Iterable[Contribution[ToolCallFormat]], plugins: Plugins) -> tuple[ToolCallFormat, ...]:
    formats: list[ToolCallFormat] = []
    for owned in found:
        call_format = owned.value
        # The patterns of built-ins are compiled when they are first needed, and tested.
        if not plugins.is_builtin(owned.plugin) and (problem := format_problem(call_format)):
            raise owned.fault(f"ToolCallFormat {call_format.name!r}: {problem}")
        if call_format.translate is not None:
            call_format = attrs.evolve(call_format, translate=hook_calls.attributed(owned, call_format.translate, str))
        formats.append(call_format)
    return tuple(formats)


def _recovery_rules(found: Iterable[Contribution[RecoveryRule]]) -> list[Contribution[RecoveryRule]]:
    rules = []
    for owned in found:
        rule = owned.value
        cause = rule.name.partition("/")[0]
        if cause not in CAUSES_OF_RULES:
            raise owned.fault(f"RecoveryRule {rule.name!r}: there is no cause {cause!r}: {', '.join(CAUSES_OF_RULES)}")
        if rule.decide is not None:
            checked = hook_calls.attributed(owned, _actions(rule.decide), tuple)
            owned = attrs.evolve(owned, value=attrs.evolve(rule, decide=checked))
        rules.append(owned)
    return rules


def _actions(decide: Callable[[FailureContext], Sequence[Action]]) -> Callable[[FailureContext], tuple[Action, ...]]:
    def decided(situation: FailureContext) -> tuple[Action, ...]:
        actions = tuple(decide(situation))
        if not all(isinstance(action, (Retry, NextModel)) for action in actions):
            raise TypeError("decided on something that is not an action")
        return actions

    return decided


def _variants(
    found: Sequence[Contribution[PromptVariant]], texts: Mapping[str, str]
) -> list[Contribution[PromptVariant]]:
    """The variants with what they leave out: the rendering of their task's first variant, and the contributed headings."""
    renderings = {
        owned.value.task: owned for owned in reversed(found) if owned.value.render is not rendered_like_others
    }
    variants = []
    for owned in found:
        value = owned.value
        source = owned if value.render is not rendered_like_others else renderings.get(value.task)
        if source is None:
            raise owned.fault(f"PromptVariant {value.name!r}: no variant of task {value.task!r} has a render")
        headings = (value.catalog_heading, value.details_heading)
        catalog, details = (
            texts[name] if given is None else given
            for name, given in zip(("catalog.heading", "catalog.details_heading"), headings, strict=True)
        )
        render = hook_calls.attributed(source, source.value.render, str)
        evolved = attrs.evolve(value, render=render, catalog_heading=catalog, details_heading=details)
        variants.append(attrs.evolve(owned, value=evolved))
    return variants


def _wrappers(config: Config, providers: ByName[ProviderSpec]) -> dict[str, Callable[[str], str]]:
    """The providers that wrap others, under every name that the deployment gives them."""
    kinds = {name: name for name in providers} | {name: each.kind or name for name, each in config.providers.items()}
    found = {name: providers[kind] for name, kind in kinds.items()}
    return {
        name: hook_calls.attributed(owned, owned.value.budget_of, str)
        for name, owned in found.items()
        if owned.value.budget_of is not None
    }
