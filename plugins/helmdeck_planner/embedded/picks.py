"""Reads a request: its parts, and the entry that serves each of them, if any."""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import scan, separate
from helmdeck_planner.embedded.arguments.context import settings_of
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.pipelines import covering_pipeline
from helmdeck_planner.embedded.conditions import without_unchecked
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.facts import without_background
from helmdeck_planner.embedded.hints import headings_of
from helmdeck_planner.embedded.part_reader import PartReader
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import Part, split_parts
from helmdeck_planner.embedded.request.repeats import without_abbreviations
from helmdeck_planner.embedded.request.wording import Wording, is_foreign_text, language_of
from helmdeck_selection import LexicalIndex

# Requests are short: what follows is not planned.
_MAX_PARTS: Final = 50
MAX_TOKENS: Final = 1_000
"""Words, values and marks of a request without its document that are planned; a longer one has no steps, since rules compare its words."""
# Among so many words, marks included, "also" adds a part to the one before.
_EARLY: Final = 4


@attrs.frozen
class Understood:
    """A request after its parts were matched with the catalog.

    :ivar picks: the requested parts in order, each with its entry; excluded parts are left out.
    :ivar pipeline: the pipeline that covers all parts.
    :ivar is_foreign: the request is in a language that the planner does not know.
    :ivar settings: the parts that only state where the others act; they have no step.
    :ivar headings: the parts that only name the thing that the others are about, with the entries that read it.
    :ivar is_not_of_catalog: the catalog does not use that language either.
    :ivar is_too_long: the request has more than ``MAX_TOKENS`` words, values and marks, and no parts.
    """

    request: str
    parts: tuple[Part, ...]
    picks: tuple[Pick, ...]
    document: str
    wording: Wording
    pipeline: Entry | None
    is_foreign: bool
    is_not_of_catalog: bool = False
    is_too_long: bool = False
    lexical: LexicalIndex | None = None
    profiles: Profiles | None = None
    settings: tuple[Part, ...] = ()
    headings: tuple[Pick, ...] = ()


def understand(request: str, lexical: LexicalIndex, profiles: Profiles) -> Understood:
    """Split a request into parts and choose an entry for each."""
    separated = separate(request, lexical.read(request))
    tokens = without_abbreviations(scan(separated.request))
    language = language_of([token.word for token in tokens if token.is_word], lexical.lexicon)
    wording = Wording(language, lexical.lexicon, profiles.vocabulary, lexical.verbs)
    is_too_long = len(tokens) > MAX_TOKENS
    parts = [] if is_too_long else split_parts(separated.request, tokens, wording)[:_MAX_PARTS]
    settings = settings_of(parts, wording)
    sources = Sources(separated.request, wording, settings=settings)
    is_bare_catalog = all(entry.input_schema is None for entry in profiles.entries)
    reader = PartReader(sources, lexical, profiles, is_bare_catalog)
    ends = [0, *(part.tokens[-1].end for part in parts)]
    added = [
        _is_addition(part, separated.request[end : part.tokens[-1].end]) for end, part in zip(ends, parts, strict=False)
    ]
    for place, part in enumerate(parts):
        reader.add(part, is_added=any(added[place : place + 2]))
    reader.join()
    headings = headings_of(reader.picks, separated.request, wording)
    picks = without_background(tuple(pick for pick in reader.picks if pick not in headings), wording)
    picks = without_unchecked(picks, attrs.evolve(sources, is_chosen=True))
    is_foreign = is_foreign_text(tokens, wording)
    is_not_of_catalog = is_foreign and profiles.languages.lack(separated.request)
    if is_not_of_catalog:
        # What matches is a number or a name: a coincidence.
        picks = tuple(attrs.evolve(pick, profile=None) for pick in picks)
    pipeline = covering_pipeline([pick.part for pick in picks], [pick.profile for pick in picks], wording, profiles)
    return Understood(
        request=separated.request,
        parts=tuple(reader.parts),
        picks=picks,
        document=separated.document,
        wording=wording,
        pipeline=pipeline,
        settings=settings,
        headings=(*reader.headings, *headings),
        is_foreign=is_foreign and all(pick.profile is None for pick in picks),
        is_not_of_catalog=is_not_of_catalog,
        is_too_long=is_too_long,
        lexical=lexical,
        profiles=profiles,
    )


def _is_addition(part: Part, text: str) -> bool:
    """Whether a part starts with "also": "the rent is paid. Also set a limit", "I also picked 4 kg".

    :param text: from the part before to its end.
    """
    return not part.is_excluded and "also" in [token.word for token in scan(text)[:_EARLY]]
