"""``local/lexical``: a planner without a model or a network.

::

    request    text -> parts, one per action     segments -> parts; negation, wording (the English meaning of words)
      |
    entries    what an entry does and takes      profiles, properties, property_words.toml
      |
    choice     part + scores of the ranker       weighing -> choose: effects, input_fit, pipelines
      |        -> the entry, or a gap
    arguments  part + entry -> values            fill: labels, items, typed_values, numbers, free_text; enumerations
      |
    look_ups   an id that is only named -> the step that finds it

``picks`` chooses an entry for each part, ``steps`` fills its inputs, and ``planner`` makes the answer of it. What only the entries
show decides which parts are one step: ``divisions``, ``continuations``, ``further``, ``restatements`` and ``background``.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import (
    ConfigError,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    hookimpl,
    read_options,
)


@attrs.frozen
class Options:
    """The keys of ``[providers.local.options]``.

    :ivar words: a file of word lists or a folder of them, beside those of the package.
    """

    words: str = ""


def _open(settings: ProviderSettings, _context: ProviderContext) -> Provider:
    from helmdeck_planner.embedded.planner import LexicalPlanner

    options = read_options(settings.options, Options, "providers", settings.name, "options")
    if options.words:
        _check_words(options.words, f"providers.{settings.name}.options.words")
    return LexicalPlanner(settings.name, options.words)


def _check_words(path: str, key: str) -> None:
    """Read the word lists when the provider is opened, so that ``helmdeck config check`` finds their mistakes.

    :raises ConfigError: with every mistake of the files.
    """
    from helmdeck_language import lexicon

    try:
        lexicon(path)
    except ConfigError as exc:
        raise ConfigError(tuple(attrs.evolve(each, where=f"{key}: {each.where}") for each in exc.mistakes)) from None


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The provider of ``local/lexical``."""
    return (
        ProviderSpec(
            name="local",
            open=_open,
            summary="local/lexical: plans and routes without a model",
            tasks=("plan", "route"),
        ),
    )
