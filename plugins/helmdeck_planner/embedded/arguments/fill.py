"""Fills the inputs of an entry from one part of a request.

A value is text of the part, of what the part refers to ("it", "that file"), of a pasted document, or a default of the caller.
An input without such a value stays open: the caller can ask for a missing value, but cannot tell a guess from a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helmdeck_planner.embedded.arguments.addresses import fill_addresses
from helmdeck_planner.embedded.arguments.background import fill_background
from helmdeck_planner.embedded.arguments.context import fill_context, fill_shared
from helmdeck_planner.embedded.arguments.described import fill_described
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.examples import fill_slugs
from helmdeck_planner.embedded.arguments.exclusions import fill_own_exclusions
from helmdeck_planner.embedded.arguments.file_types import fill_patterns
from helmdeck_planner.embedded.arguments.free_text import fill_payload
from helmdeck_planner.embedded.arguments.ids import fill_codes, fill_ids
from helmdeck_planner.embedded.arguments.items import fill_items
from helmdeck_planner.embedded.arguments.led import fill_led, fill_named_as, fill_related
from helmdeck_planner.embedded.arguments.left_values import fill_left, fill_left_beside, replace_doubtful
from helmdeck_planner.embedded.arguments.names import fill_names, fill_versions
from helmdeck_planner.embedded.arguments.numbers import fill_dimensions, fill_numbers, fill_units
from helmdeck_planner.embedded.arguments.object_stores import fill_stored_object
from helmdeck_planner.embedded.arguments.objects import fill_objects, fill_rows
from helmdeck_planner.embedded.arguments.only_value import fill_only_value
from helmdeck_planner.embedded.arguments.paths import fill_folders, fill_made_folder, fill_moved, fill_new_paths
from helmdeck_planner.embedded.arguments.phrases import fill_phrases
from helmdeck_planner.embedded.arguments.places import fill_places
from helmdeck_planner.embedded.arguments.proper_names import fill_proper_names
from helmdeck_planner.embedded.arguments.queries import fill_pattern
from helmdeck_planner.embedded.arguments.quotes import fill_described_quotes, fill_labelled_quotes, fill_quotes
from helmdeck_planner.embedded.arguments.references import fill_references
from helmdeck_planner.embedded.arguments.refs import fill_commits, fill_refs, fill_revision_paths
from helmdeck_planner.embedded.arguments.replacement import fill_replacement
from helmdeck_planner.embedded.arguments.required_texts import fill_listed, fill_texts
from helmdeck_planner.embedded.arguments.screen import fill_entered, fill_screen
from helmdeck_planner.embedded.arguments.sides import fill_field, fill_sides, fill_words_beside_to
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.arguments.told import fill_told
from helmdeck_planner.embedded.arguments.typed_values import fill_typed
from helmdeck_planner.embedded.arguments.zones import fill_zones
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.request.parts import Part


def fill(part: Part, profile: Profile, sources: Sources) -> dict[str, Any]:
    """Return the arguments of an entry for a part, in the order of the entry's inputs."""
    return arguments_of(drafted(part, profile, sources))


def arguments_of(draft: Draft) -> dict[str, Any]:
    """Return the arguments of a draft in the order of the entry's inputs."""
    return {each.name: draft.args[each.name] for each in draft.profile.properties if each.name in draft.args}


def drafted(part: Part, profile: Profile, sources: Sources) -> Draft:
    """Return the arguments of an entry for a part, with the words that they use."""
    # A draft keeps its part and its entry alive, so that no other object gets their identities.
    key = (id(part), id(profile))
    found = sources.drafts.get(key)
    if found is None:
        found = sources.drafts[key] = _drafted(part, profile, sources)
    return found


def begun(part: Part, profile: Profile, sources: Sources) -> Draft:
    """Return a draft up to its numbers, which follow what has a clearer form."""
    draft = Draft(sources.request, part, profile, sources.wording)
    for each in profile.properties:
        stated = part.further if each.name in part.further else sources.defaults
        if each.name in stated:
            draft.args[each.name] = stated[each.name]
    if not part.tokens:
        return draft
    fill_screen(draft)
    fill_shared(draft, sources.earlier, sources.settings)
    fill_new_paths(draft)
    fill_moved(draft)
    fill_replacement(draft)
    fill_slugs(draft)
    fill_named_as(draft)
    fill_refs(draft)
    fill_items(draft, sources.earlier)
    fill_rows(draft)
    fill_listed(draft)
    fill_phrases(draft)
    fill_field(draft)
    fill_described_quotes(draft)
    fill_labelled_quotes(draft)
    fill_background(draft, *_background(profile, sources), is_labelled=True)
    fill_own_exclusions(draft)
    fill_zones(draft)
    fill_units(draft)
    fill_dimensions(draft)
    fill_patterns(draft)
    fill_versions(draft)
    fill_stored_object(draft)
    fill_led(draft)
    fill_typed(draft)
    fill_revision_paths(draft)
    fill_addresses(draft)
    fill_related(draft)
    fill_ids(draft)
    fill_codes(draft)
    fill_commits(draft)
    fill_objects(draft)
    return draft


def _background(profile: Profile, sources: Sources) -> tuple[Sequence[Part], Sequence[Part], Callable[[Part], Draft]]:
    alone = Sources(sources.request, sources.wording)
    return sources.settings, sources.background, lambda other: drafted(other, profile, alone)


def _drafted(part: Part, profile: Profile, sources: Sources) -> Draft:
    draft = begun(part, profile, sources)
    if not part.tokens:
        return draft
    fill_numbers(draft)
    fill_words_beside_to(draft)
    fill_names(draft)
    fill_entered(draft)
    fill_told(draft, sources.background)
    fill_payload(draft)
    fill_quotes(draft)
    fill_pattern(draft)
    fill_sides(draft)
    fill_places(draft)
    fill_proper_names(draft)
    fill_only_value(draft)
    if sources.is_chosen:
        replace_doubtful(draft)
        fill_left(draft)
    fill_references(draft, sources)
    fill_background(draft, *_background(profile, sources))
    if sources.is_chosen:
        fill_left_beside(draft, sources.background)
    fill_context(draft, sources.earlier, sources.settings)
    fill_texts(draft, sources)
    fill_folders(draft)
    fill_made_folder(draft, sources.earlier)
    fill_described(draft)
    return draft
