"""Finds parts that only say what the next act is about, though an entry serves them: "pid 482 is stuck", "S-100 leaks"."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.choice.confidence import is_gap, score
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

# Among so many words, "is" makes a sentence of "process 4 is stuck".
_EARLY: Final = 4
_STATING: Final = word_list("stating")
_FINITE: Final = word_list("stating") | word_list("finite") | word_list("being")
# "issue 412 can go: write 'fixed' underneath and close it"
_LEAVING: Final = word_list("leaving")
_MODALS: Final = word_list("modals")
# Probability from which a part without a verb is a request.
_CLEAR: Final = 0.8


def is_hint_of(part: Part, before: Pick, wording: Wording) -> bool:
    """Whether the part before is no request of its own, but what an act is about: "pid 482 is stuck, give it to Ada"."""
    hint, profile = before.part, before.profile
    is_hint = profile is not None and not (hint.is_wish or hint.is_question) and before.found[0].evidence is not None
    is_hint = is_hint or (profile is not None and profile.writes is not False and not hint.is_wish)
    is_stated = any(token.word in _STATING for token in hint.tokens[1:_EARLY])
    is_stated = is_stated or not (hint.verb or _is_elliptic(before, wording))
    is_act = bool(part.verb) and not part.is_question and not part.is_excluded
    is_act = is_act and all(token.kind is not Kind.SQL for token in hint.tokens)
    is_about = is_stated and (refers(part, wording) or len(part.tokens) == 1)
    return is_hint and is_act and (is_about or _is_harmful(before))


def headings_of(picks: Sequence[Pick], request: str, wording: Wording) -> tuple[Pick, ...]:
    """Return the parts that only name the thing that the ones behind their colons are about."""
    return tuple(pick for pick, after in itertools.pairwise(picks) if _is_heading_of(after, pick, request, wording))


def _is_heading_of(after: Pick, before: Pick, request: str, wording: Wording) -> bool:
    """Whether the part before only names what the ones behind its colon are about: "pull request 41 in acme/web: approve it"."""
    part, hint, profile = after.part, before.part, before.profile
    tokens = list(hint.tokens)
    if tokens[-1].word in _LEAVING:  # "issue 412 in acme/web can go"
        tokens = tokens[: next((place for place, token in enumerate(tokens) if token.word in _MODALS), len(tokens))]
    if not tokens:
        return False
    is_before = request[list(hint.tokens)[-1].end : part.tokens[0].start].strip() == ":" and len(tokens) > 1
    is_about = not part.is_question and _is_about(after, before)
    asks = part.is_question or (part.verb_place == 0 and (refers(part, wording) or is_about))
    is_named = tokens[-1].is_value and not (hint.is_question or hint.is_wish)
    if not (is_before and asks and is_named) or profile is None or profile.writes is not False:
        return False
    # "pull" is a word of the thing that the entry reads.
    is_noun = not hint.verb or {stem(token.word) for token in tokens[: 1 if is_about else 2]} <= set(profile.name)
    words = [token for token in tokens if token.is_word and not is_thing(token)]
    return is_noun and all(
        wording.is_of_catalog(token.word) or wording.is_filler(token.word) or wording.preposition(token)
        for token in words
    )


def _is_about(after: Pick, before: Pick) -> bool:
    """Whether the step of a part is about the kind of thing that the one before reads, and the part names no such thing itself."""
    if after.profile is None or before.profile is None:
        return False
    is_same = bool(set(after.profile.name) & set(before.profile.name)) and after.profile.writes is not False
    return is_same and all(token.kind is Kind.QUOTE for token in after.part.tokens if token.is_value or is_thing(token))


def _is_elliptic(hint: Pick, wording: Wording) -> bool:
    """Whether a part without a verb clearly requests something: "OPS-12 to done", "branch fix/a off main"."""
    first = hint.part.tokens[0]
    reads = hint.profile is not None and hint.profile.writes is False
    is_named = reads or first.is_value or is_thing(first) or wording.is_of_catalog(first.word)
    is_sentence = any(token.word in _FINITE or token.word.endswith("ed") for token in hint.part.tokens)
    if is_sentence or not is_named or is_gap(hint.found):
        return False
    is_clear = score(hint.found) >= _CLEAR and hint.found[0].is_complete and not hint.found[0].unused
    return is_clear or first.word in wording.vocabulary.starts


def _is_harmful(hint: Pick) -> bool:
    """Whether a part that names no act has an entry that deletes: "ship S-100 leaks, paint the pier"."""
    profile, verb = hint.profile, hint.part.verb
    return profile is not None and profile.deletes and (not verb or stem(verb) in profile.name)
