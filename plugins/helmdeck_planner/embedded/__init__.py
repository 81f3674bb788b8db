"""``local/lexical``: a planner without a model or a network.

The path of a request, "in acme/web, close issue 5 and tell #ops":

1. ``planner`` receives it with the catalog. ``picks.understand`` separates a pasted document and splits the rest into parts
   (``request``): a setting, "close issue 5", "tell #ops".
2. ``part_reader`` takes one part after the other and chooses its entry (``choice``), by what the ``entries`` do and take: ``update_issue``.
   A part without an entry is a gap.
3. A part may be several steps, or several parts one. ``divisions`` and ``parallel`` divide a part. ``continuations``, ``input_clauses``,
   ``object_parts`` and ``same_step`` join parts; ``facts``, ``hints`` and ``conditions`` find parts that are no step.
4. ``steps`` fills the inputs of each entry from its part and from the others (``arguments``): ``issue_number`` is 5, ``owner`` is acme.
   ``look_ups`` adds the step that finds an id which the request only names.
5. ``planner`` makes the answer: steps with their probability, gaps, advice.

Each folder lists its modules in its ``__init__``. Entries are tried for a part by several rules, so that ``arguments.fill`` runs in step 2
as well: how much of a part an entry takes says how well it fits.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import ConfigError, Provider, ProviderContext, ProviderSettings, ProviderSpec, hookimpl, read_options


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
