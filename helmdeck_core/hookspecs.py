"""The hooks: everything that a plugin can contribute or answer. The complete contract of a plugin is this page.

A plugin is a module, or an object, with functions that are marked ``@hookimpl`` and named like the ones below. An
implementation takes the arguments that it needs and may leave out the others.

There are two kinds. A *contribution* returns a sequence of values, each with a ``name`` and an ``order``: values are
sorted by ``order`` and then by name; a plugin that contributes a name that a built-in has replaces the built-in's
value; two installed plugins that contribute one name are an error. A *look-up* returns one answer or ``None``; the
plugin that was registered last is asked first, and ``wrapper=True`` may adjust whatever was answered.

All hooks are called when a deck is made, and none of them while a request is served; only the look-up is called at the
first request to a model id, and its answer is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from helmdeck_core.domain.catalog import CatalogSource, TrimStep
    from helmdeck_core.domain.chat import ProviderSpec, StopReasonTable
    from helmdeck_core.domain.commands import Command
    from helmdeck_core.domain.continuation import NativeContinuation
    from helmdeck_core.domain.decode import DecodeStep, ReasoningTag
    from helmdeck_core.domain.event_sinks import EventSink
    from helmdeck_core.domain.history import HistoryStoreSpec
    from helmdeck_core.domain.models import Budget, BudgetRow, BudgetTable
    from helmdeck_core.domain.packs import Pack
    from helmdeck_core.domain.prices import PriceSource
    from helmdeck_core.domain.questions import PromptVariant
    from helmdeck_core.domain.ranking import Ranker
    from helmdeck_core.domain.recovery import RecoveryRule
    from helmdeck_core.domain.tool_calls import ToolCallFormat

hookspec = pluggy.HookspecMarker("helmdeck")
hookimpl = pluggy.HookimplMarker("helmdeck")


@hookspec
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """Contribute providers: where models are served.

    Called once when a deck is made. ``ProviderSpec.open`` is called later, at the first request to the provider, and
    what it returns is kept until the deck is closed.

    :returns: Provider specifications; their names are the first part of model ids. Empty for none.
    :raises Exception: nothing is expected to be raised; whatever is stops start-up and names the plugin.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Contribute tables of native stop reasons, one for each dialect that providers speak.

    Called once when a deck is made. A word that no table of the dialect lists is ``Unknown``, never a clean end.

    :returns: Tables; their names are dialects. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_budget_rows() -> Sequence[BudgetRow]:
    """Contribute rows of the budget table.

    Called once when a deck is made. Rows of all plugins form one table, in which the longest prefix wins.

    :returns: Rows; their names are prefixes of model ids. Sizes are in bytes, counts in tokens, prices in US dollars
        per million tokens. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec(firstresult=True)
def helmdeck_model_budget(model_id: str, table: BudgetTable) -> Budget | None:  # noqa: ARG001
    """Look up the budget of one model.

    Called once per model id and then remembered. The first plugin that answers decides; wrappers may adjust the
    answer. What a deployment configures under ``[budgets]`` is laid over it afterwards.

    :param model_id: ``provider/model`` as the caller wrote it, outer blanks removed; may be any text.
    :param table: The rows that all plugins contributed.
    :returns: The budget, or ``None`` to leave the model to the next plugin.
    :raises Exception: nothing is expected to be raised for any text; whatever is names the plugin.

    .. versionadded:: 0.1
    """
    return None


@hookspec
def helmdeck_trim_steps() -> Sequence[TrimStep]:
    """Contribute steps of the compaction ladder.

    Called once when a deck is made; the steps run once per catalog version, in rising order, and the ladder stops at
    the first step after which the catalog fits. Names, ids and ``supersedes`` are put back if a step cuts them.

    :returns: Trim steps; their names are what configuration and records of cuts say. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_rankers() -> Sequence[Ranker]:
    """Contribute rankers: ways to order catalog entries by what a request needs.

    Called once when a deck is made. ``[selection] ranker`` chooses one by name; its index is built once per catalog
    version.

    :returns: Rankers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Contribute prompt variants: ways to put a task to a model.

    Called once when a deck is made. A budget's ``prompt_variant`` or its tier chooses among the variants of a task.

    :returns: Prompt variants; their names are ``task.variant``. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_reasoning_tags() -> Sequence[ReasoningTag]:
    """Contribute marks around text that a model thought and did not mean as its answer.

    Called once when a deck is made; all tags are compiled into one scanner.

    :returns: Reasoning tags. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_decode_steps() -> Sequence[DecodeStep]:
    """Contribute ways to read an answer that strict decoding refused.

    Called once when a deck is made; the steps run in rising order, only for answers that are not clean.

    :returns: Decode steps; their names are reported with the value that they gave. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_tool_call_formats() -> Sequence[ToolCallFormat]:
    """Contribute ways in which models write tool calls as text, and what only looks like a call.

    Called once when a deck is made; all dialects are compiled into one scanner, when the first answer is read for calls.

    :returns: Dialects; their names are reported with the calls. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_recovery_rules() -> Sequence[RecoveryRule]:
    """Contribute rules of recovery: what is tried after a failed model call, by its cause.

    Called once when a deck is made; a rule is looked up by its name when a call fails. Attempts, time and cost are
    bounded by ``[recovery]`` whatever a rule wants.

    :returns: Rules; their names are causes, or causes and finer causes. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_native_continuations() -> Sequence[NativeContinuation]:
    """Contribute what is known of models that go on with their own unfinished answer.

    Called once when a deck is made. Models that no row names are asked to go on in words.

    :returns: Rows; their names are prefixes of model ids, of which the longest that fits decides. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_prices() -> Sequence[PriceSource]:
    """Contribute sources of prices, for models whose budget has none.

    Called once when a deck is made; a source is asked after an answer came, in rising order, until one knows the model.

    :returns: Sources. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_packs() -> Sequence[Pack]:
    """Contribute packs: units of work that a plan can name and the engine can run.

    Called once when a deck is made. Listed packs are catalog entries of the source ``packs``.

    :returns: Packs. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_catalog_sources() -> Sequence[CatalogSource]:
    """Contribute places that catalog entries come from.

    Called once when a deck is made. ``[catalog] sources`` names the ones that are used, and they are loaded at the
    first use of the catalog.

    :returns: Catalog sources. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_history_stores() -> Sequence[HistoryStoreSpec]:
    """Contribute kinds of stores for the history of plans.

    Called once when a deck is made. ``[history] url`` chooses one by the scheme of its URL; without it nothing is kept.

    :returns: Store specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_commands() -> Sequence[Command]:
    """Contribute commands of the command line.

    Called once per command line, and once when a deck is made. A name of several words, such as ``acme sync``, is a
    command of a group; several plugins may add commands to one group. A command that has the name of a built-in one
    replaces it.

    :returns: Commands; their names are what is typed behind ``helmdeck``. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()


@hookspec
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """Contribute receivers of events.

    Called once when a deck is made. Sinks that say that they are not active are left out for good, and so are sinks that
    are to be opened and that ``[events] sinks`` does not name.

    :returns: Event sinks. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.1
    """
    return ()
