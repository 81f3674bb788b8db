"""The hooks: everything that a plugin can contribute or answer. This page is the complete contract of a plugin.

A plugin is a module or object whose functions are marked ``@hookimpl`` and named as below; they may leave out arguments.

There are two kinds. A *contribution* returns a sequence of values, each with a ``name`` and an ``order``, by which they are
sorted. A value replaces a built-in one of the same name; two installed plugins that contribute one name are an error. A
*look-up* returns one answer or ``None``; the plugin registered last is called first; ``wrapper=True`` may adjust the answer.

All hooks are called when a deck is made, except for the look-up: it is called at the first request to a model id and cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:  # a plugin that imports ``hookimpl`` should not import the types of all hooks
    from helmdeck_core.domain.catalog import CatalogSource, TrimStep
    from helmdeck_core.domain.chat import ProviderSpec, StopReasonTable
    from helmdeck_core.domain.commands import Command
    from helmdeck_core.domain.continuation import ContinuationAnnouncement, ContinuationMergerSpec, NativeContinuation
    from helmdeck_core.domain.decode import DecoderSpec, DecodeStep, ReasoningTag, RefusalPattern
    from helmdeck_core.domain.error_rules import ErrorRuleSet
    from helmdeck_core.domain.event_sinks import EventSink
    from helmdeck_core.domain.history import HistoryStoreSpec
    from helmdeck_core.domain.models import Budget, BudgetRow, BudgetTable, TierDefaults
    from helmdeck_core.domain.packs import Pack
    from helmdeck_core.domain.prices import PriceSource
    from helmdeck_core.domain.questions import PromptVariant
    from helmdeck_core.domain.ranking import Ranker
    from helmdeck_core.domain.recovery import RecoveryRule
    from helmdeck_core.domain.secret_patterns import SecretPattern
    from helmdeck_core.domain.texts import PromptText
    from helmdeck_core.domain.tool_calls import ToolCallFormat, ToolCallReaderSpec
    from helmdeck_core.domain.transports import TransportSpec
    from helmdeck_core.domain.weights import Weight

hookspec = pluggy.HookspecMarker("helmdeck")
hookimpl = pluggy.HookimplMarker("helmdeck")


@hookspec
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Contribute providers of models.

    Called once when a deck is made. ``ProviderSpec.open`` is called at the first request; the deck closes the provider.

    :returns: Provider specifications; their names are the first part of model ids. Empty for none.
    :raises Exception: none is expected; any exception stops start-up with an error that names the plugin.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_transports() -> Sequence[TransportSpec]:
    """Contribute HTTP transports: HTTP clients for providers.

    Called once when a deck is made. ``[http] transport`` or ``[providers.NAME] transport`` chooses one by name, else the
    lowest ``order``. ``TransportSpec.open`` is called at the first request of a provider, once per event loop.

    :returns: Transport specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Contribute tables of native stop reasons, one per wire format.

    Called once when a deck is made. A stop reason that the table does not list is ``Unknown``, never a clean end.

    :returns: Tables; their names are wire formats. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_error_rules() -> Sequence[ErrorRuleSet]:
    """Contribute rules that map error responses of a vendor to failure classes.

    Called once when a deck is made. ``ProviderSettings.error_rules`` has the sets that name the provider; they come first.

    :returns: Rule sets, usually ``helmdeck_provider_kit.ErrorRules``. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_budget_rows() -> Sequence[BudgetRow]:
    """Contribute rows of the budget table.

    Called once when a deck is made. Rows of all plugins form one table, in which the longest prefix wins.

    :returns: Rows, named by prefix of a model id; bytes, tokens, US dollars per million tokens. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_tier_defaults() -> Sequence[TierDefaults]:
    """Contribute defaults for the models of a tier; budgets and the configuration override them.

    Called once when a deck is made. A tier without contributed defaults has no limits.

    :returns: Defaults; their names are tiers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec(firstresult=True)
def helmdeck_model_budget(model_id: str, table: BudgetTable) -> Budget | None:  # noqa: ARG001
    """Look up the budget of one model.

    Called once per model id and then cached. The first answer is used; wrappers may adjust it; ``[budgets]`` overrides it.

    :param model_id: ``provider/model`` as the caller wrote it, without surrounding whitespace; may be any string.
    :param table: The rows that all plugins contributed.
    :returns: The budget, or ``None`` to leave the model to the next plugin.
    :raises Exception: none is expected for any string; the error names the plugin.

    .. versionadded:: 0.1
    """
    return None


@hookspec
def helmdeck_trim_steps() -> Sequence[TrimStep]:
    """Contribute trim steps of catalog compaction.

    Called once when a deck is made. Steps run in rising order until the catalog fits; names and ids are never removed.

    :returns: Trim steps; their names are used in the configuration and in trim records. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_rankers() -> Sequence[Ranker]:
    """Contribute rankers, which order catalog entries by relevance for a request.

    Called once when a deck is made. ``[selection] ranker`` chooses one; its index is built once per catalog version.

    :returns: Rankers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Contribute prompt variants: templates for a task.

    Called once when a deck is made. A budget's ``prompt_variant`` or its tier chooses among the variants of a task.

    :returns: Prompt variants; their names are ``task.variant``. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_prompt_texts() -> Sequence[PromptText]:
    """Contribute the wording of texts that the core adds to prompts and answers: headings, hints and notices.

    Called once when a deck is made. A text that no plugin contributes is empty.

    :returns: Texts; ``PromptText`` lists their names. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_weights() -> Sequence[Weight]:
    """Contribute weights of the core, such as the score gain of entries in earlier plans.

    Called once when a deck is made. A weight that no plugin contributes has no effect.

    :returns: Weights; ``Weight`` lists their names. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_reasoning_tags() -> Sequence[ReasoningTag]:
    """Contribute marks around reasoning in answers.

    Called once when a deck is made; all tags are compiled into one scanner.

    :returns: Reasoning tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_decoders() -> Sequence[DecoderSpec]:
    """Contribute decoders, which strip reasoning from responses and decode their values.

    Called once when a deck is made; the decoder with the lowest ``order`` is opened. A deck needs one.

    :returns: Decoder specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_decode_steps() -> Sequence[DecodeStep]:
    """Contribute ways to decode an answer that strict decoding rejected.

    Called once when a deck is made; the steps run in ascending order.

    :returns: Decode steps; their names are reported with the decoded value. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_refusal_patterns() -> Sequence[RefusalPattern]:
    """Contribute how models phrase a refusal in prose, by language.

    Called once when a deck is made. The patterns are matched against the first sentences of an answer without a value.

    :returns: Patterns; their names are language tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_tool_call_formats() -> Sequence[ToolCallFormat]:
    """Contribute tool-call formats: how models write tool calls as text, and text that only looks like a call.

    Called once when a deck is made; all formats are compiled into one scanner on first use.

    :returns: Formats; their names are reported with the calls. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_tool_call_readers() -> Sequence[ToolCallReaderSpec]:
    """Contribute readers of tool calls, which find the calls of a response and decide which may be executed.

    Called once when a deck is made; the reader with the lowest ``order`` is opened.

    :returns: Reader specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_recovery_rules() -> Sequence[RecoveryRule]:
    """Contribute recovery rules: the actions after a failed model call, by its cause.

    Called once when a deck is made. ``[recovery]`` limits attempts, time and cost for every rule.

    :returns: Rules; their names are causes, or causes with sub-causes. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_native_continuations() -> Sequence[NativeContinuation]:
    """Contribute which models support prefill, that is, continue a partial answer in the last message.

    Called once when a deck is made. Models without a row get a hint in the prompt instead.

    :returns: Rows; their names are prefixes of model ids, the longest matching one applies. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_continuation_announcements() -> Sequence[ContinuationAnnouncement]:
    """Contribute how models announce that they continue a truncated answer, by language.

    Called once when a deck is made. Announcements are removed from continuations.

    :returns: Announcements; their names are language tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_continuation_mergers() -> Sequence[ContinuationMergerSpec]:
    """Contribute mergers, which join a truncated answer with its continuation.

    Called once when a deck is made; the merger with the lowest ``order`` is opened. Without any, texts are concatenated.

    :returns: Merger specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_prices() -> Sequence[PriceSource]:
    """Contribute sources of prices, for models whose budget has none.

    Called once when a deck is made; sources are called after a response, in rising order, until one knows the model.

    :returns: Sources. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_packs() -> Sequence[Pack]:
    """Contribute packs: units of work that a plan can use.

    Called once when a deck is made. Listed packs are catalog entries of the source ``packs``.

    :returns: Packs. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_catalog_sources() -> Sequence[CatalogSource]:
    """Contribute sources of catalog entries.

    Called once when a deck is made. ``[catalog] sources`` selects those that are loaded at the first use of the catalog.

    :returns: Catalog sources. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_history_stores() -> Sequence[HistoryStoreSpec]:
    """Contribute kinds of stores for the history of plans.

    Called once when a deck is made. ``[history] url`` chooses one by the scheme of its URL; without it, there is no history.

    :returns: Store specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_secret_patterns() -> Sequence[SecretPattern]:
    """Contribute the formats of API keys, for redaction in quoted text.

    Called once when a deck is made. Configured keys are redacted without a pattern.

    :returns: Patterns. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_commands() -> Sequence[Command]:
    """Contribute commands of the command line.

    Called once per command line, and once when a deck is made. A name such as ``acme sync`` adds to the group ``acme``.

    :returns: Commands; their names follow ``helmdeck`` on the command line. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """Contribute event sinks.

    Called once when a deck is made. Skipped: inactive sinks, and sinks with ``open`` that ``[events] sinks`` does not name.

    :returns: Event sinks. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()
