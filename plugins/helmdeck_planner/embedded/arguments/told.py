"""The text that a request states to write: after a colon, "that", or "and say"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import told_text
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import REPORTING_VERBS, TITLES
from helmdeck_planner.embedded.request.parts import Part

_MAX_LEAD: Final = 4


def fill_told(draft: Draft, background: Sequence[Part]) -> None:
    """Set the only open text of an entry that writes one, from its part or from the parts after it.

    :param background: the parts without a step of their own.
    """
    texts = [
        each for each in draft.open_inputs() if each.is_required and each.role is Role.CONTENT and not each.is_list
    ]
    if not texts:
        texts = [each for each in draft.open_inputs() if each.is_required and _is_title(draft, each)]
    if len(texts) != 1 or not draft.profile.writes:
        return
    if places := told_text(draft, texts[0]):
        draft.set_text(texts[0], places)
    else:
        _fill_from_following(draft, texts[0], background)


def _is_title(draft: Draft, each: Property) -> bool:
    """Whether an input takes the name of what an entry acts on, not that of another thing: the project of "log hours"."""
    names = TITLES | frozenset(("name", "text"))
    is_own = not names.isdisjoint(each.words) or bool(each.labels & draft.profile.nouns)
    return each.role is Role.NAME and not each.is_list and is_own


def _fill_from_following(draft: Draft, each: Property, background: Sequence[Part]) -> None:
    """Set a text from "a remark on page 7: Please check it" or "..., and say: We open at 7", if nothing else follows."""
    end = max(token.end for token in draft.tokens)
    parts = [part for part in background if part.tokens and part.tokens[0].start >= end]
    if not parts:
        return
    gap = draft.source[end : parts[0].tokens[0].start]
    lead, colon, _ = draft.source[end:].partition(":")
    if ":" not in gap and not _leads(parts[0], end + len(lead)):
        return
    start = end + len(lead) + 1
    whole = draft.source[start:]
    is_last = parts[-1].tokens[-1].end >= len(draft.source.rstrip(" .!?\"'")) - 1
    text = whole.strip()
    if colon and is_last and len(text.split()) > 1 and "\n" not in text and draft.set(each, text, []):
        draft.stated_by += parts


def _leads(part: Part, colon: int) -> bool:
    """Whether a part starts with a verb such as "say", and a colon: "tell them: ..."."""
    before = [token for token in part.tokens if token.start < colon]
    has_colon = any(token.kind is Kind.MARK and token.start == colon for token in part.tokens)
    return has_colon and 0 < len(before) <= _MAX_LEAD and before[0].word in REPORTING_VERBS
