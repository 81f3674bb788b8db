"""Resolves plugins and configuration into immutable chains, once; what runs afterwards calls no hook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core.config.load import LoadedConfig, dotted
from helmdeck_core.config.precedence import SelectionRules, ladder_rule, selection_rules
from helmdeck_core.config.types import Config
from helmdeck_core.config.validate import mistakes_of
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
from helmdeck_core.domain.continuation import NativeContinuation
from helmdeck_core.domain.decode import DecodeStep, ReasoningTag
from helmdeck_core.domain.event_sinks import EventSink
from helmdeck_core.domain.events import Event
from helmdeck_core.domain.history import HistoryStoreSpec
from helmdeck_core.domain.models import BudgetRow, BudgetTable, Tier
from helmdeck_core.domain.packs import Pack
from helmdeck_core.domain.prices import PriceSource
from helmdeck_core.domain.questions import PromptVariant
from helmdeck_core.domain.ranking import Ranker
from helmdeck_core.domain.recovery import CAUSES_OF_RULES, Action, FailureContext, NextModel, RecoveryRule, Retry
from helmdeck_core.domain.tool_calls import ToolCallFormat
from helmdeck_core.errors import ConfigError, PluginError
from helmdeck_core.hooks import calls as hook_calls
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.manager import Plugins
from helmdeck_core.reading.decoder import Decoder
from helmdeck_core.reading.tool_calls.reader import ToolCallReader
from helmdeck_core.reading.tool_calls.scanner import dialect_problem
from helmdeck_core.resolve.budgets import BudgetResolver
from helmdeck_core.resolve.event_sinks import ActiveSink, listening
from helmdeck_core.resolve.prices import Pricer

T = TypeVar("T")
ByName = Mapping[str, Contribution[T]]

CONTRIBUTIONS: Mapping[str, type] = {
    "helmdeck_providers": ProviderSpec,
    "helmdeck_stop_reasons": StopReasonTable,
    "helmdeck_budget_rows": BudgetRow,
    "helmdeck_trim_steps": TrimStep,
    "helmdeck_rankers": Ranker,
    "helmdeck_prompt_variants": PromptVariant,
    "helmdeck_reasoning_tags": ReasoningTag,
    "helmdeck_decode_steps": DecodeStep,
    "helmdeck_tool_call_formats": ToolCallFormat,
    "helmdeck_recovery_rules": RecoveryRule,
    "helmdeck_native_continuations": NativeContinuation,
    "helmdeck_prices": PriceSource,
    "helmdeck_packs": Pack,
    "helmdeck_catalog_sources": CatalogSource,
    "helmdeck_history_stores": HistoryStoreSpec,
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
    pricer: Pricer
    packs: ByName[Pack]
    sources: ByName[CatalogSource]
    providers: ByName[ProviderSpec]
    history_stores: ByName[HistoryStoreSpec]
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
        return selection_rules(self.config.selection, tier, self.budgets.names(model), self.origins)

    def variant(self, task: str, wanted: str) -> PromptVariant | None:
        """The variant of a task by name; where the task has only one, that one; ``None`` when there is nothing to choose."""
        found = self.variants.get(f"{task}.{wanted}")
        if found is not None:
            return found.value
        every = [owned.value for owned in self.variants.values() if owned.value.task == task]
        return every[0] if len(every) == 1 else None

    def normalise_stop(self, raw: str | None, dialect: str) -> StopReason:
        """Look a native stop reason up; what no table knows is ``UNKNOWN``, never a clean end.

        :param dialect: a table's name. ``""`` asks all tables, the first hit in their order counting, and forgives
            separators and what stands before a dot, as in ``FinishReason.MAX_TOKENS``.
        """
        if raw is None:
            return StopReason.UNKNOWN
        if dialect:
            return self.stop_tables.get(dialect, {}).get(raw.strip().casefold(), StopReason.UNKNOWN)
        return self.any_stop.get(_squashed(raw.rpartition(".")[2]), StopReason.UNKNOWN)

    def disposition_of(self, raw: str | None, reason: StopReason, dialect: str) -> Disposition:
        """What can be done about the way a turn ended.

        :param reason: what the whole answer means; where it is not what the table says of ``raw``, the word counts no more.
        """
        if raw is not None and self.normalise_stop(raw, dialect) is reason:
            found = self.stop_dispositions.get(dialect, {}).get(raw.strip().casefold())
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


def resolve(plugins: Plugins, loaded: LoadedConfig, errors: list[PluginError] | None = None) -> Runtime:
    """Call every hook once and freeze the results.

    :param errors: a list that receives the errors of contributions, which are then left out.
    :raises ConfigError: with every mistake of the configuration, those of its reading included.
    :raises PluginError: a plugin raised or contributed what its hook forbids.
    """
    found = collect_all(plugins, errors)
    mistakes = [*loaded.mistakes, *mistakes_of(loaded, plugins.names, found)]
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
    decoder = Decoder(tags, _decode_steps(found["helmdeck_decode_steps"]))
    return Runtime(
        config=loaded.config,
        origins=loaded.origins,
        plugins=plugins,
        contributions=found,
        budgets=BudgetResolver(
            plugins, table, owners, loaded.config.budgets, loaded.origins, _wrappers(loaded.config, providers)
        ),
        decoder=decoder,
        tool_calls=ToolCallReader(_dialects(found["helmdeck_tool_call_formats"], plugins), tags, decoder),
        trim_steps=_named(found["helmdeck_trim_steps"]),
        rankers=_named(found["helmdeck_rankers"]),
        variants=_named(_variants(found["helmdeck_prompt_variants"])),
        recovery_rules=_named(_recovery_rules(found["helmdeck_recovery_rules"])),
        native_continuations=_named(found["helmdeck_native_continuations"]),
        pricer=Pricer(found["helmdeck_prices"]),
        packs=_named(found["helmdeck_packs"]),
        sources=_named(found["helmdeck_catalog_sources"]),
        providers=providers,
        history_stores=_named(found["helmdeck_history_stores"]),
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


def _dialects(found: Iterable[Contribution[ToolCallFormat]], plugins: Plugins) -> tuple[ToolCallFormat, ...]:
    dialects: list[ToolCallFormat] = []
    for owned in found:
        dialect = owned.value
        # The patterns of built-ins are compiled when they are first needed, and tested.
        if not plugins.is_builtin(owned.plugin) and (problem := dialect_problem(dialect)):
            raise owned.fault(f"ToolCallFormat {dialect.name!r}: {problem}")
        if dialect.translate is not None:
            dialect = attrs.evolve(dialect, translate=hook_calls.attributed(owned, dialect.translate, str))
        dialects.append(dialect)
    return tuple(dialects)


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


def _variants(found: Iterable[Contribution[PromptVariant]]) -> list[Contribution[PromptVariant]]:
    return [
        attrs.evolve(
            owned, value=attrs.evolve(owned.value, render=hook_calls.attributed(owned, owned.value.render, str))
        )
        for owned in found
    ]


def _wrappers(config: Config, providers: ByName[ProviderSpec]) -> dict[str, Callable[[str], str]]:
    """The providers that wrap others, under every name that the deployment gives them."""
    kinds = {name: name for name in providers} | {name: each.kind or name for name, each in config.providers.items()}
    found = {name: providers[kind] for name, kind in kinds.items()}
    return {
        name: hook_calls.attributed(owned, owned.value.budget_of, str)
        for name, owned in found.items()
        if owned.value.budget_of is not None
    }
