"""Hooks for catalogs and prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core.hookspecs.markers import hookspec

if TYPE_CHECKING:  # a plugin that imports ``hookimpl`` should not import the types of all hooks
    from helmdeck_core.domain.catalog import CatalogSource, TrimStep
    from helmdeck_core.domain.chat_input import ChatInputReader
    from helmdeck_core.domain.choosing import Chooser
    from helmdeck_core.domain.instruction_patterns import InstructionPattern
    from helmdeck_core.domain.packs import Pack
    from helmdeck_core.domain.questions import PromptVariant
    from helmdeck_core.domain.ranking import Ranker
    from helmdeck_core.domain.runs import Pipeline
    from helmdeck_core.domain.texts import PromptText
    from helmdeck_core.domain.weights import Weight


@hookspec
def helmdeck_catalog_sources() -> Sequence[CatalogSource]:
    """Contribute sources of catalog entries.

    Called once when a deck is made. ``[catalog] sources`` selects those that are loaded at the first use of the catalog; a
    source with ``open`` is also opened for each of its tables ``[catalog.NAME.*]``, reports changes, and may run its entries.

    :returns: Catalog sources. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_instruction_patterns() -> Sequence[InstructionPattern]:
    """Contribute phrases of instructions that descriptions of tools should not have, since a model reads them.

    Called once when a deck is made. ``helmdeck doctor`` and ``helmdeck catalog check`` report entries whose texts match.

    :returns: Patterns. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_packs() -> Sequence[Pack]:
    """Contribute packs: units of work that a plan can use.

    Called once when a deck is made. Listed packs are catalog entries of the source ``packs``.

    :returns: Packs. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_pipelines() -> Sequence[Pipeline]:
    """Contribute pipelines: sequences of packs with references between them.

    Called once when a deck is made. They are catalog entries, after those of ``[catalog] sources``.

    :returns: Pipelines; their names are ids of entries. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_trim_steps() -> Sequence[TrimStep]:
    """Contribute trim steps of catalog compaction.

    Called once when a deck is made. Steps run in rising order until the catalog fits; names and ids are never removed.

    :returns: Trim steps; their names are used in the configuration and in trim records. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_rankers() -> Sequence[Ranker]:
    """Contribute rankers, which order catalog entries by relevance for a request.

    Called once when a deck is made. ``[selection] ranker`` chooses one; its index is built once per catalog version.

    :returns: Rankers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_choosers() -> Sequence[Chooser]:
    """Contribute choosers, which choose the tool of a single step for models that are better not asked for it.

    Called once when a deck is made. ``chooser`` in the budget of a model names one.

    :returns: Choosers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_chat_inputs() -> Sequence[ChatInputReader]:
    """Contribute readers of chat input: strings, conversations and images as callers write them.

    Called once when a deck is made; the reader with the lowest ``order`` is used.

    :returns: Readers. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Contribute prompt variants: templates for a task.

    Called once when a deck is made. A budget's ``prompt_variant`` or its tier chooses among the variants of a task.

    :returns: Prompt variants; their names are ``task.variant``. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_prompt_texts() -> Sequence[PromptText]:
    """Contribute the wording of texts that the core adds to prompts and answers: headings, hints and notices.

    Called once when a deck is made. A text that no plugin contributes is empty.

    :returns: Texts; ``PromptText`` lists their names. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_weights() -> Sequence[Weight]:
    """Contribute weights of the core, such as the score gain of entries in earlier plans.

    Called once when a deck is made. A weight that no plugin contributes has no effect.

    :returns: Weights; ``Weight`` lists their names. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()
