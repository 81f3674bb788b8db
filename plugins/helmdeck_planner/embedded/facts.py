"""Separates the facts of a request from what it requests: "my disk is full", "I'm looking at it", "black friday is coming"."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.choice.confidence import UNSURE, is_gap, score
from helmdeck_planner.embedded.entries.property_words import NAMING_VERBS, SETTING_VERBS
from helmdeck_planner.embedded.pick import Pick, is_risky
from helmdeck_planner.embedded.request.negation import phrase_length, states_fact
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import phrase_list, word_list
from helmdeck_planner.embedded.request.wording import Wording

_LIGHT: Final = word_list("light")
# Verbs that say how an act is done: "name it", "set it to", "leave out", "skip".
_STATING: Final = SETTING_VERBS | NAMING_VERBS | word_list("sparing") | word_list("excluding_inputs")
_STATED: Final = (Kind.SQL, Kind.CODE)
# "c01d55ee20 should be on strict" is requested; "I have a fair in Ghent" is a fact.
_GREETING: Final = word_list("greeting")
_REQUESTING: Final = word_list("requesting")
# "trying to find a slot for our call"
_INTENDING: Final = phrase_list("intending")
_UNABLE: Final = word_list("unable")
# "before I leave", "we hired a new colleague"
_CLAUSE_STARTS: Final = word_list("subordinating") | word_list("subjects")
_BEING: Final = word_list("being")
_FINITE: Final = word_list("stating") | _BEING

# Probability from which a part asks for nothing; that of "what a mess", which starts as a question.
_TOLD: Final = 0.5
_EXCLAIMED: Final = 0.8
# The same of one that asks for a look-up.
_ASKED: Final = 0.5


def is_statement(part: Part, wording: Wording) -> bool:
    """Whether a part may request nothing: a greeting, or a sentence about a person."""
    words = [token.word for token in part.tokens if token.is_word]
    if any(token.kind is Kind.SQL for token in part.tokens):
        return False
    return not words or not wording.lexicon.statements.isdisjoint(words) or len(part.tokens) == 1


def requests_act(part: Part) -> bool:
    """Whether a part requests an act, and does not only state how another one is done: "stop web-1", "take a snapshot of web-1"."""
    after = [token.word for token in part.tokens[part.verb_place + 1 : part.verb_place + 2]]
    is_light = part.verb in _LIGHT | _STATING
    makes = part.verb in _LIGHT and after in (["a"], ["an"])
    return part.verb_place == 0 and not part.is_question and (makes or not is_light)


def is_fact(part: Part, wording: Wording) -> bool:
    """Whether a part states a fact, and names neither an act nor a need: "we counted again", "we can't come"."""
    if wording.language is not ENGLISH or part.is_wish or bool(part.recording) or len(part.tokens) < 2:
        return False
    if part.is_question:
        return part.act.nothing >= _EXCLAIMED
    if any(token.kind in _STATED or token.word in _REQUESTING for token in part.tokens):
        return False
    if phrase_length(part.tokens, 0, _INTENDING):
        return True
    if part.verb_place != 0 and (part.act.nothing >= _TOLD or _describes_state(part)):
        return True
    if part.verb:
        return part.verb_place > 0 and states_fact(part.tokens, 0, wording)
    return is_statement(part, wording)


def _describes_state(part: Part) -> bool:
    """Whether a part says what happens or fails: "an alert is waiting", "our users can't log in"."""
    words = [token.word for token in part.tokens]
    # "Black Friday is coming, scale checkout to 8 replicas" has a command as well.
    return "," not in words and any(
        word in _UNABLE or (word in _BEING and following.endswith("ing") and following != "being")
        for word, following in itertools.pairwise([*words[1:], ""])
    )


def subject_of(part: Part, wording: Wording) -> Sequence[Token]:
    """Return the words before the verb of a fact, if they name a thing: "the file chooser" of "the file chooser is waiting"."""
    is_id = bool(part.tokens) and (part.tokens[0].is_value or is_thing(part.tokens[0]))
    end = 1 if is_id else next((place for place, token in enumerate(part.tokens) if token.word in _FINITE), 0)
    subject = part.tokens[:end]
    names = any(token.is_value or (token.is_word and not wording.is_filler(token.word)) for token in subject)
    if not names or subject[0].word in wording.language.statements:
        return ()
    first = subject[0]
    is_common = first.is_word and wording.is_word(first.word)
    # In the middle of a command, a capital would make it a name.
    return (attrs.evolve(first, value=first.value.lower()), *subject[1:]) if is_common else subject


def without_background(picks: tuple[Pick, ...], wording: Wording) -> tuple[Pick, ...]:
    """Remove what requests nothing, beside parts that do, as in "My disk is full. List the files", and greetings.

    A fact has a step only if nothing else has one.
    """
    picks = tuple(attrs.evolve(pick, profile=None) if _is_greeting(pick.part) else pick for pick in picks)
    told = [pick for pick in picks if pick.profile is None and is_fact(pick.part, wording)]
    commands = [pick for pick in picks if not any(pick is each for each in told) and _is_act(pick.part, wording)]
    if told and not commands and all(pick.profile is None for pick in picks):
        picks = tuple(_with_step(pick) if any(pick is each for each in told) else pick for pick in picks)
    last = max((place for place, pick in enumerate(picks) if pick.profile is not None), default=-1)
    planned = {id(pick.profile) for pick in picks if pick.profile is not None}
    asking = tuple(
        pick
        for place, pick in enumerate(picks)
        if _requests(pick, wording)
        and not (place < last and _is_hint(pick, wording))
        and not _repeats_step(pick, planned, wording)
    )
    return asking or picks


def _is_greeting(part: Part) -> bool:
    """Whether a part has words of a conversation only: "hi", "ok, thanks"."""
    words = [token.word for token in part.tokens if token.kind is not Kind.MARK]
    return bool(words) and _GREETING.issuperset(words)


def _is_hint(pick: Pick, wording: Wording) -> bool:
    """Whether a part before a step has no value, requests nothing by its form, and asks for no look-up, or is a purpose."""
    part = pick.part
    if part.is_purpose:
        return pick.profile is None or not pick.found[0].is_complete
    is_clause = part.tokens[0].word in _CLAUSE_STARTS and not any(token.word in _REQUESTING for token in part.tokens)
    is_remark = is_clause or part.act.look_up < _ASKED
    return pick.profile is None and is_remark and not _is_act(part, wording) and not _states_value(part)


def _is_act(part: Part, wording: Wording) -> bool:
    """Whether a part is a command, a question, a wish, or says what must be done: "the report has to be printed"."""
    must = _REQUESTING | wording.language.passive
    is_stated = part.verb_place > 0 and not any(token.word in must for token in part.tokens)
    return part.is_question or part.is_wish or (bool(part.verb) and not is_stated)


def _repeats_step(pick: Pick, planned: Collection[int], wording: Wording) -> bool:
    """Whether a part only refers to what a step does: "could you take care of that?".

    :param planned: the identities of the entries of the steps.
    """
    is_same = pick.profile is None and bool(pick.found) and id(pick.found[0].profile) in planned
    return is_same and refers(pick.part, wording) and not _states_value(pick.part)


def _states_value(part: Part) -> bool:
    return any(token.is_value or is_thing(token) for token in part.tokens)


def _requests(pick: Pick, wording: Wording) -> bool:
    """Whether a part requests something; a sentence about a person needs a step that is likely."""
    if pick.part.verb or not is_statement(pick.part, wording):
        return pick.profile is not None or not is_fact(pick.part, wording)
    return pick.profile is not None and pick.found[0].is_complete and score(pick.found) >= UNSURE


def _with_step(pick: Pick) -> Pick:
    found = pick.found
    if not found or is_gap(found) or is_risky(found) or not found[0].is_complete:
        return pick
    is_remark = pick.part.act.nothing > pick.part.act.look_up
    if is_remark and score(found) < UNSURE:
        return pick  # "this graph has grown quite a bit"
    return attrs.evolve(pick, profile=found[0].profile)


def with_fact(before: Pick, pick: Pick, wording: Wording) -> Pick | None:
    """Return a part without an entry together with the fact that it refers to: "I forgot my password, reset it"."""
    is_open = before.profile is None and pick.profile is None
    if pick.part.recording or not (is_open and is_fact(before.part, wording) and refers(pick.part, wording)):
        return None
    return attrs.evolve(pick, part=attrs.evolve(pick.part, text=f"{before.part.text}, {pick.part.text}"))
