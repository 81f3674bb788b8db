"""Separates questions about an act from requests: "can I delete it?" and "can it be merged?" ask, "can you delete it?" requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, Token
from helmdeck_planner.embedded.request.acts import reads
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

# "could anyone restart it" requests it.
_ADDRESSED: Final = word_list("addressed")
_POLITE: Final = word_list("polite")


def is_inquiry(lead: Sequence[Token], own: Sequence[Token], verb: str, wording: Wording) -> bool:
    """Whether a part asks if a change is possible or allowed; "can I see it" requests what it names, and "please" any act.

    :param lead: the words before the part.
    :param own: the part.
    """
    if any(token.word in _POLITE for token in (*lead, *own)) or reads(verb):
        return False
    return _has_inquiry(lead, wording) or _starts_inquiry(own, wording)


def _has_inquiry(lead: Sequence[Token], wording: Wording) -> bool:
    """Whether "may I" is among the words before a part; "may I have" requests a thing."""
    language = wording.language
    place = 0
    while place < len(lead):
        length = phrase_length(lead, place, language.inquiries)
        longest = phrase_length(lead, place, language.lead_in_phrases)
        if length and length >= longest:
            return True
        place += longest or 1
    return False


def _starts_inquiry(own: Sequence[Token], wording: Wording) -> bool:
    """Whether a part starts like "can the branch be merged"."""
    language = wording.language
    if len(own) < 2:
        return False
    if phrase_length(own, 0, language.inquiries):
        return True
    is_modal = own[0].word in language.modals and own[1].word not in _ADDRESSED
    return is_modal and (language is ENGLISH or any(token.word in language.passive for token in own))
