"""Splits a request into its parts, one per requested action, and separates a text that was pasted with it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, NOUNS_TOO, Kind, Token
from helmdeck_planner.embedded.request.acts import is_act
from helmdeck_planner.embedded.request.acts_done import acts_done
from helmdeck_planner.embedded.request.clauses import (
    base_form,
    embedded_question,
    is_clause,
    is_recording,
    passive_verb,
)
from helmdeck_planner.embedded.request.inquiries import is_inquiry
from helmdeck_planner.embedded.request.lead_ins import without_lead_ins, without_trailing
from helmdeck_planner.embedded.request.negation import ends_exclusion, excluded_from, is_set_aside
from helmdeck_planner.embedded.request.part import Part
from helmdeck_planner.embedded.request.repeats import repeated, rephrased
from helmdeck_planner.embedded.request.restated import restated
from helmdeck_planner.embedded.request.segments import segments
from helmdeck_planner.embedded.request.states import is_never_verb, state_verb
from helmdeck_planner.embedded.request.subjects import subject_before
from helmdeck_planner.embedded.request.withdrawals import as_heading, reviewed
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording
from helmdeck_selection import act_model

__all__ = ["Part", "refers", "split_parts"]

_PARTICLES: Final = word_list("particles")
# Words before the object of an unknown verb: "water the plants".
_OBJECT_STARTS: Final = word_list("object_starts")
_MIN_VERB: Final = 5
# Words of a title such as "Test run".
_MOST_OF_TITLE: Final = 2
# A longer number may be an id.
_MIN_ID: Final = 5
_CONDITIONS: Final = word_list("conditions")
# "..., plus the size of b.txt"
_ADDING: Final = word_list("adding")
_BEING: Final = word_list("being")
_HAPPENING: Final = _BEING | word_list("past")
_MUST: Final = word_list("requesting")
_OF: Final = ("of", "in", "at", "on", "from")
_CLAUSES: Final = ("that", "which", "who", "what", "if", "whether")
_BEFORE_NAMES: Final = word_list("before_names")
_DEMONSTRATIVES: Final = word_list("demonstratives")


def split_parts(text: str, tokens: Sequence[Token], wording: Wording) -> list[Part]:
    """Return the parts of a request in order, excluded ones included."""
    parts: list[Part] = []
    lead: Sequence[Token] = ()
    tokens = _reworded(tokens, wording)
    for segment, is_bare in segments(tokens, wording):
        lead_before, lead = lead, ()
        own = without_lead_ins(segment, wording)
        own = list(repeated(own, parts[-1].tokens if parts else (), wording)) or own
        cut = excluded_from(own, wording)
        if cut == 0 and own:
            colon = _colon_of(own) if parts and parts[-1].verb_place == 0 and not parts[-1].is_excluded else 0
            if colon:
                # "save a draft, don't send it: to ann@example.org": the rest is of the act before.
                act = parts.pop()
                whole = _part(text, (*act.tokens, *own[colon:]), wording, is_excluded=False)
                parts.append(attrs.evolve(whole, act=act.act, is_wish=act.is_wish))
            parts.append(_part(text, own[: colon or len(own)], wording, is_excluded=True))
            continue
        made = _part(text, without_trailing(own[:cut], wording), wording, is_excluded=False)
        if wording.language is ENGLISH:
            made = attrs.evolve(made, act=act_model().of_request(segment[: len(segment) - len(own) + cut]))
        lead = segment[: len(segment) - len(own)]
        if is_inquiry(lead, own, made.verb, wording):
            made = attrs.evolve(made, is_inquiry=True)
        if not (made.verb or made.is_question) and any(
            token.word in wording.language.wishes | _ADDING for token in lead
        ):
            made = attrs.evolve(made, is_wish=True)
        if made.verb_place == 0 and parts and _is_heading(parts[-1], segment, wording):
            parts.pop()
        if parts and _is_purpose(parts[-1], lead_before, made, lead, wording):
            parts[-1] = attrs.evolve(parts[-1], is_purpose=True)
        is_after = bool(parts) and parts[-1].is_excluded and bool(made.verb)
        if is_after and is_bare and not is_set_aside(parts[-1].tokens, wording):
            if ends_exclusion(parts[-1].tokens, lead, made.verb, wording):
                parts[-1] = as_heading(parts[-1]) or parts[-1]
            else:
                # "don't move or delete it": the exclusion continues.
                made = attrs.evolve(made, is_excluded=True)
        elif is_after and any(token.word == "but" for token in lead) and refers(made, wording):
            parts[-1] = as_heading(parts[-1]) or parts[-1]  # "don't merge PR 5, but comment on it"
        parts.append(made)
        if cut < len(own):
            parts.append(_part(text, own[cut:], wording, is_excluded=True))
    parts = [part for part in parts if any(token.is_word or token.is_value for token in part.tokens)]
    parts = reviewed(text, parts, tokens, wording)
    found = _with_conditions(text, _with_headings(text, parts, wording), wording)
    return [attrs.evolve(part, done=tuple(acts_done(part.tokens, wording))) for part in found]


def _with_headings(text: str, parts: Sequence[Part], wording: Wording) -> list[Part]:
    """Keep only the name of what the next part acts on: "PR 5" of "PR 5 is fine, so merge it"."""
    found = list(parts)
    for place, (part, after) in enumerate(itertools.pairwise(parts)):
        between = text[part.tokens[-1].end : after.tokens[0].start].strip().lower()
        if subject := subject_before(part, after, between, wording):
            named = _part(text, subject, wording, is_excluded=False)
            found[place] = attrs.evolve(named, verb="", verb_place=-1, is_heading=True, act=part.act)
    return found


def _reworded(tokens: Sequence[Token], wording: Wording) -> Sequence[Token]:
    """Return the tokens of a request in the words of commands."""
    found = rephrased(tokens, wording)
    return restated(found, wording) if wording.language is ENGLISH else found


def _colon_of(tokens: Sequence[Token]) -> int:
    """Return the place of the colon behind words without a value, and before a value; 0 without one."""
    place = next((place for place, token in enumerate(tokens) if token.is_value or token.value == ":"), 0)
    is_colon = place > 0 and tokens[place].value == ":"
    return place if is_colon and any(token.is_value for token in tokens[place:]) else 0


def _is_heading(before: Part, segment: Sequence[Token], wording: Wording) -> bool:
    """Whether a part is only a title for the command behind its colon: "Test run: echo 'a', then echo 'b'"."""
    is_title = len(before.tokens) <= _MOST_OF_TITLE and not (before.is_question or before.is_excluded)
    is_title = is_title and all(token.is_word and not wording.is_filler(token.word) for token in before.tokens)
    return wording.language is ENGLISH and segment[0].value == ":" and is_title and before.verb_place <= 0


def _is_purpose(before: Part, wish: Sequence[Token], part: Part, joint: Sequence[Token], wording: Wording) -> bool:
    """Whether a part says what for the next one is requested: "I want to compare them, so show me both".

    :param wish: the words before the first of both.
    :param joint: the words between them: no "and" or "then".
    """
    language = wording.language
    is_wish = language is ENGLISH and any(token.word in language.wishes for token in wish)
    is_act = part.verb_place == 0 or part.is_question
    adds = any(token.word in language.joints | language.strong_joints for token in joint)
    return is_wish and before.verb_place == 0 and not before.is_question and is_act and bool(joint) and not adds


def _with_conditions(text: str, parts: Sequence[Part], wording: Wording) -> list[Part]:
    """Join a stated fact and the question that is about it: "it's 14:30 in Berlin. What time is that in New York?"."""
    found: list[Part] = []
    fact: Part | None = None  # that the question before is about
    for part in parts:
        # "unit 4 is behind. Don't lock it, I'm only after who rents it"
        place = next((place for place in range(len(found) - 1, -1, -1) if not found[place].is_excluded), -1)
        is_next = place == len(found) - 1 or (part.is_question and bool(found))
        before = found[place] if place >= 0 and is_next else None
        if before is not None and place == len(found) - 1 and _records(part, before, wording):
            written = text[before.tokens[0].start : part.tokens[-1].end]
            found[place] = attrs.evolve(before, text=written, recording=part.tokens, act=part.act)
            continue
        is_stated = before is not None and _states_condition(before)
        if (
            before is not None
            and is_stated
            and not before.is_heading
            and not _adds_question(part, before, text)
            and (_asks_about(part, before, wording) or _is_about(part, before, wording))
        ) or (before is not None and _leads(before, part, text, wording)):
            start, end = before.tokens[0].start, max(part.tokens[-1].end, before.tokens[-1].end)
            found[place] = attrs.evolve(part, text=text[start:end], tokens=(*part.tokens, *before.tokens))
            fact = before if part.is_question else None
        elif fact is not None and _asks_about(part, fact, wording):
            # "the panel starts at 16:00 in London. What is that in Toronto, and what in Nairobi?"
            found.append(attrs.evolve(part, tokens=(*part.tokens, *fact.tokens)))
        else:
            found.append(part)
            fact = None
    return found


def _records(part: Part, before: Part, wording: Wording) -> bool:
    """Whether a part only asks to record the statement before it: "write it down", "please put that on record"."""
    if before.is_question or before.is_excluded or before.verb_place == 0:
        return False
    return not (part.is_question or part.is_excluded) and is_recording(part.tokens, wording)


def _leads(before: Part, part: Part, text: str, wording: Wording) -> bool:
    """Whether words only name what the command behind their comma is about: "for the team Mobile, open an issue"."""
    is_lead = not (before.verb or before.is_question or before.is_excluded or before.is_wish)
    is_lead = is_lead and wording.language is ENGLISH and bool(wording.preposition(before.tokens[0]))
    is_lead = is_lead and not is_clause(before.tokens, wording)  # "before I call Kyoto"
    names = [token for token in before.tokens[1:] if token.is_value or token.is_capital]
    is_named = bool(names) and all(token.is_word or token.kind is Kind.QUOTE for token in names)
    gap = text[before.tokens[-1].end : part.tokens[0].start] if is_lead else "."
    return is_named and part.verb_place == 0 and not part.is_excluded and not any(mark in gap for mark in ".;!?")


def _states_condition(part: Part) -> bool:
    has_value = any(token.is_value for token in part.tokens)
    has_value = has_value and all(token.kind is not Kind.SQL for token in part.tokens)  # a command of its own
    is_condition = part.tokens[0].word in _CONDITIONS or not (part.verb or part.is_question)
    return has_value and is_condition and not part.is_excluded


def _adds_question(part: Part, before: Part, text: str) -> bool:
    """Whether a question follows a sentence that requests something: "it should last an hour, and who is in it?"."""
    between = text[before.tokens[-1].end : part.tokens[0].start].lower().split()
    is_request = any(token.word in _MUST for token in before.tokens)
    # "wk-9 may take pods again, and what pods are there?"
    exists = any(token.word == "there" and other.word in _BEING for other, token in itertools.pairwise(part.tokens))
    return part.is_question and (is_request or exists) and ("and" in between or "also" in between)


def _asks_about(part: Part, before: Part, wording: Wording) -> bool:
    """Whether a question is about a stated fact: after "if", or where it refers to it."""
    refers = any(token.word in wording.language.references for token in part.tokens[1:])
    return part.is_question and not part.is_excluded and (refers or before.tokens[0].word in _CONDITIONS)


def _part(text: str, tokens: Sequence[Token], wording: Wording, *, is_excluded: bool) -> Part:
    own = _split_compound(tokens, wording)
    question = embedded_question(own, wording)
    own = tuple(question) or own
    is_question = bool(own) and (bool(question) or own[0].word in wording.language.questions)
    verb, place = _find_verb(own, wording)
    if is_question:
        # "whether light.porch is on" starts with what it asks about.
        verb, place = _question_verb(own), 0 if own[0].word in wording.language.questions else -1
    written = text[own[0].start : own[-1].end] if own else ""
    return Part(written, own, verb, place, is_question, is_excluded)


def _question_verb(tokens: Sequence[Token]) -> str:
    """Return what answers a question: a list for "which files are in ...", else a single thing."""
    if tokens[0].word in ("what", "which") and len(tokens) > 1:
        noun = tokens[1].word
        if (
            tokens[1].is_word
            and noun.endswith("s")
            and not noun.endswith(("ss", "us", "is"))
            and noun not in ("does", "was")
        ):
            return "list"
    return "get"


def _find_verb(tokens: Sequence[Token], wording: Wording) -> tuple[str, int]:
    first = wording.corrected_verb(tokens[0].word) if tokens and tokens[0].is_word else ""
    passive, place = passive_verb(tokens, wording)
    # "order A-7 has to be cancelled": the noun is no verb.
    is_reported = bool(first) and any(token.word == "that" for token in tokens[1:place])  # "reply that it was sent"
    if passive and not is_reported and (not first or first in NOUNS_TOO):
        return passive, place
    if (found := state_verb(tokens, wording))[0]:
        return found
    if wording.language is ENGLISH and len(tokens) > 1 and (tokens[1].word in _HAPPENING or _names_subject(tokens)):
        return "", -1  # "checkout is overloaded" checks nothing out
    if first:
        return first, 0
    if _starts_act(tokens, wording):
        return tokens[0].word, 0
    if (
        len(tokens) > 1
        and tokens[0].is_word
        and (verb := base_form(tokens[0].word, wording))
        and tokens[0].word.endswith("ing")
    ):
        return verb, 0
    # "tweet 'Hello'", "undo the commit": any word before a text or an article is a verb.
    starts = len(tokens) > 1 and tokens[0].is_word and not wording.is_filler(tokens[0].word)
    starts = starts and not is_never_verb(tokens[0])
    is_english = wording.language is ENGLISH
    has_object = starts and (
        tokens[1].kind is Kind.QUOTE
        or (is_english and tokens[1].word in _OBJECT_STARTS)
        or (is_english and _is_unknown_verb(tokens, wording))
    )
    if has_object:
        return tokens[0].word, 0
    places = range(len(tokens))
    if wording.language is not ENGLISH:
        # "Kannst du die Datei lesen": the verb is at the end.
        places = range(len(tokens) - 1, -1, -1)
    for place in places:
        token = tokens[place]
        if token.is_word and token.value[:1].islower() and (verb := wording.verb(token.word)):
            # "in app.py change DEBUG to RELEASE": a verb after the place.
            if place and tokens[place - 1].is_value and wording.preposition(tokens[0]) and place + 1 < len(tokens):
                return verb, place
            is_object = place and (
                tokens[place - 1].word in wording.language.determiners or _names_branch(tokens[place - 1], wording)
            )
            if not is_object and (verb not in NOUNS_TOO or wording.language is not ENGLISH):
                return verb, place
    return "", -1


def _names_subject(tokens: Sequence[Token]) -> bool:
    """Whether a noun that may be a verb and an id are the subject of a sentence: "issue 230 in acme/web is done"."""
    being = next((place for place, token in enumerate(tokens) if token.word in _HAPPENING), 0)
    is_thing_next = tokens[1].is_value and tokens[1].kind is not Kind.QUOTE
    # "pull request 57 of acme/web is approved", but "merge PR 57 when CI is green"
    is_compound = tokens[1].is_word and being > 2 and tokens[2].is_value
    is_compound = is_compound and all(token.is_value or token.word in _OF for token in tokens[2:being])
    is_clause = any(token.word in _CLAUSES for token in tokens[:being])
    is_thing = is_compound or (tokens[0].word in NOUNS_TOO and is_thing_next and being > 0)
    return is_thing and not is_clause


def _names_branch(before: Token, wording: Wording) -> bool:
    """Whether the word before says that a verb is a name: "the branch develop", "a fix off develop"."""
    return wording.language is ENGLISH and before.word in _BEFORE_NAMES


def _starts_act(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether a part starts with an everyday verb, and not with a noun that the catalog contains: "scrap task 7"."""
    if wording.language is not ENGLISH or len(tokens) < 2 or not tokens[0].is_word or not is_act(tokens[0].word):
        return False
    return wording.preposition(tokens[1]) != "of" and not wording.is_of_catalog(tokens[0].word)


def _is_unknown_verb(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether a part starts with a verb of no word list: "bookmark this page", "back up the table", "postpone task 702"."""
    first, following = tokens[0], tokens[1].word
    if tokens[1].is_value and wording.starts_name(first.word):
        return True
    if wording.is_of_catalog(first.word):
        return False
    return (
        following in _DEMONSTRATIVES
        or (following in _PARTICLES and len(tokens) > 2)
        # A shorter word may be a typing mistake: "gte ship S-1".
        or (
            len(first.value) >= _MIN_VERB
            and first.value.islower()
            and not wording.is_known(first.word)
            and tokens[-1].is_value
        )
    )


def _split_compound(tokens: Sequence[Token], wording: Wording) -> tuple[Token, ...]:
    """Split a verb with a word before it: "right-click", "percent-encode"."""
    if not tokens or not tokens[0].is_word or wording.verb(tokens[0].word):
        return tuple(tokens)
    first, hyphen, last = tokens[0].value.rpartition("-")
    is_name = wording.is_of_catalog(first.lower()) and wording.is_of_catalog(last.lower())  # "cherry-pick"
    if not hyphen or not first.isalnum() or not (is_name or wording.verb(last.lower())):
        return tuple(tokens)
    middle = tokens[0].start + len(first)
    pieces = ((tokens[0].start, middle, first), (middle + 1, tokens[0].end, last))
    return (*(Token(Kind.WORD, start, end, text, text.lower()) for start, end, text in pieces), *tokens[1:])


def _is_about(part: Part, before: Part, wording: Wording) -> bool:
    """Whether a command has no value and only refers to a thing that was stated: "OPS-4 is finished, please close it"."""
    if all(token.kind is Kind.NUMBER and len(token.value) < _MIN_ID for token in before.tokens if token.is_value):
        return False  # "20 minutes for the bread, count them down"
    starts_name = before.tokens[0].word in wording.vocabulary.starts
    is_request = starts_name or any(token.word in wording.language.wishes for token in before.tokens)
    if is_request and part.verb_place == 0:
        return False  # "for PR 5 I need the files, and close it", "promote web 1.4, then tag it"
    refers = any(token.word in wording.language.references for token in part.tokens[1:])
    has_value = any(token.is_value for token in part.tokens)
    return refers and not has_value and bool(part.verb) and not part.is_question and not part.is_excluded


def refers(part: Part, wording: Wording) -> bool:
    """Whether a part refers to what was stated before: "terminate it"."""
    return any(token.word in wording.language.references for token in part.tokens)
