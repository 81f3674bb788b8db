"""Finds what a request excludes: "don't post it", "without editing it", "instead of reading them"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, NOUNS_TOO, Kind, Phrases, Token
from helmdeck_planner.embedded.request.acts import is_act, reads
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import phrase_list, word_list
from helmdeck_planner.embedded.request.wording import Wording

# "we can't make it to the hotel", "she doesn't need it any more": who cannot or does not do something excludes no command.
_UNABLE: Final = word_list("unable")
_NOT_NEEDING: Final = word_list("not_needing")
_SPEAKERS: Final = word_list("speakers")
_NO_MORE: Final = word_list("no_more")
# "leave b.txt out", "keep the drafts as they are"
_SPARING: Final = word_list("sparing")
_HOLDING: Final = word_list("holding_off")
_SPARED: Final = word_list("spared")
# "it was never meant to stay"
_TELLING: Final = word_list("telling")

# "sending the files can wait", "merging is Farid's job", "I'll merge it myself"
_SET_ASIDE: Final = phrase_list("set_aside")
_OWNED: Final = word_list("owned_tasks")
_SELVES: Final = word_list("selves")
_LATER: Final = word_list("later")
_JUDGING: Final = word_list("judging_verbs")
_NEEDED: Final = word_list("needed_acts")
_OTHERS: Final = word_list("to_others")
# "leave a note to him" leaves nothing to him.
_NEW: Final = ("a", "an", "one", "some")
_RELATIVE: Final = ("that", "which", "who", "what")
# A part that starts with one of these is a condition or a question.
_SUBORDINATE: Final = word_list("conditions")

# "everything but web-1"
_EXCEPTING: Final = word_list("excepting")
_LEAVING_OUT: Final = _EXCEPTING | word_list("leaving_out")
# What follows "but" in "all of it but I like it" is no thing.
_NO_THINGS: Final = word_list("no_things")
_NEAR_ALL: Final = 6

# "which nothing may change" limits a thing of at least two words.
_LIMITING_STARTS: Final = word_list("limiting_starts")
_LEAST_LIMITED: Final = 2


def phrase_length(tokens: Sequence[Token], place: int, phrases: Phrases) -> int:
    """Return the number of tokens of the longest phrase at a place; 0 without one."""
    if place >= len(tokens):
        return 0
    for phrase in phrases.get(tokens[place].word.replace("\u2019", "'"), ()):
        end = place + len(phrase)
        if end <= len(tokens) and all(
            token.word.replace("\u2019", "'") == word for token, word in zip(tokens[place:end], phrase, strict=True)
        ):
            return len(phrase)
    return 0


def starts_exclusion(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether an excluded command starts at a place."""
    language = wording.language
    if phrase_length(tokens, place, language.positive) or states_fact(tokens, place, wording):
        return False
    if phrase_length(tokens, place, language.negators):
        return True
    if _spares(tokens, place, wording):
        return True
    # "I don't want", "you never": a pronoun before the negator.
    return (
        place + 1 < len(tokens)
        and tokens[place].word in ("i", "you", "we", "ich", "je", "yo", "it")
        and bool(phrase_length(tokens, place + 1, language.negators))
        and not phrase_length(tokens, place + 1, language.positive)
    )


def excluded_from(tokens: Sequence[Token], wording: Wording) -> int:
    """Return the place from which a command is excluded: 0 for all of it, its length for none of it."""
    if not tokens:
        return 0
    if starts_exclusion(tokens, 0, wording) or is_set_aside(tokens, wording):
        return 0
    if (free := _free_negator(tokens, wording)) >= 0:
        if start := _dependent_clause(tokens, free, wording):
            return start
        commas = [place for place in range(1, free) if tokens[place].value == ","]
        # "unstage all of it, nothing may be left": the words before the comma are requested.
        return commas[-1] + 1 if commas and wording.verb(tokens[0].word) else 0
    for place in range(1, len(tokens)):
        is_factual = tokens[place].word == "never" and tokens[place - 1].word in _TELLING
        is_excluding = phrase_length(tokens, place, wording.language.exclusions) and not is_factual
        if is_excluding or _excludes_action(tokens, place, wording) or _leaves_some_out(tokens, place, wording):
            return place
    return len(tokens)


def is_set_aside(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether a sentence says that something is not to be done now, or that others do it: "the merge can wait", "I lock up myself"."""
    if (
        wording.language is not ENGLISH
        or len(tokens) < 2
        or tokens[0].word in wording.language.questions | _SUBORDINATE
    ):
        return False
    first, last = tokens[0], tokens[-1]
    if first.word == "leave":
        return last.word in _OTHERS and tokens[-2].word == "to" and tokens[1].word not in _NEW
    is_command = bool(wording.verb(first.word)) and first.value[:1].islower()
    if is_command or first.is_value:
        return False
    is_own = first.word.partition("'")[0] in wording.language.values["pronouns"]
    if is_own and any(token.word in _SELVES for token in tokens[1:]):
        return True
    phrase = next((place for place in range(1, len(tokens)) if phrase_length(tokens, place, _SET_ASIDE)), 0)
    if phrase:
        return all(token.word not in _RELATIVE for token in tokens[1:phrase])
    is_future = first.word.replace("\u2019", "'").endswith("'ll")
    if is_own and is_future and any(token.word in _LATER for token in tokens[1:]):
        return True  # "we'll send it tomorrow"
    return _is_task_of_other(tokens) or _judges_act(tokens)


def ends_exclusion(excluded: Sequence[Token], joint: Sequence[Token], verb: str, wording: Wording) -> bool:
    """Whether a command behind "and" is none of those that a part excludes: "hold off on merging PR 5 and list its reviews".

    :param excluded: the tokens of the part that excludes.
    :param joint: the words between both.
    """
    if wording.language is not ENGLISH or [token.word for token in joint] not in (["and"], ["but"], ["while"]):
        return False
    if not any(token.is_value or wording.is_of_catalog(token.word) for token in excluded[1:]):
        return False  # "don't stage and commit it" has one object
    # "leave the heating as it is and turn on the fan", "don't merge PR 5 but comment on it", and "don't delete a.txt and overwrite b.txt"
    is_spared = excluded[0].word in _SPARING | _HOLDING or joint[0].word == "but"
    return is_spared or reads(verb)


def _judges_act(tokens: Sequence[Token]) -> bool:
    """Whether a sentence says something about an act other than that it may or must be done: "publishing comes later"."""
    if not tokens[0].word.endswith("ing"):
        return False
    place = next((place for place, token in enumerate(tokens) if token.word in _JUDGING), 0)
    is_value_before = any(token.kind is Kind.QUOTE for token in tokens[:place])
    behind = [token.word for token in tokens[place + 1 :]]
    is_needed = any(word in _NEEDED for word in behind) and not any(word in ("not", "no", "never") for word in behind)
    return place > 0 and bool(behind) and not is_value_before and not is_needed


def _is_task_of_other(tokens: Sequence[Token]) -> bool:
    """Whether an act belongs to a person: "merging is Farid's job", "locking up is their business"."""
    being = next((place for place, token in enumerate(tokens) if token.word in ("is", "are")), 0)
    behind = tokens[being + 1 : being + 4]
    is_owned = any(token.word in _OWNED for token in behind[1:]) and behind[0].word.endswith(("'s", "s'", "\u2019s"))
    return tokens[0].word.endswith("ing") and being > 0 and is_owned


def _dependent_clause(tokens: Sequence[Token], negator: int, wording: Wording) -> int:
    """Return where the clause of a negator starts that only limits what is requested before it; 0 without one.

    Examples are "a playlist that nothing may change" and "the body of request 12, nothing else".
    """
    if wording.language is not ENGLISH:
        return 0
    start = negator
    while start and (tokens[start - 1].word in _LIMITING_STARTS or tokens[start - 1].value == ","):
        start -= 1
    is_rest = tokens[negator + 1 : negator + 2] and tokens[negator + 1].word == "else"
    is_limit = any(token.word in _LIMITING_STARTS - {"and"} for token in tokens[start:negator]) or (
        is_rest and start < negator
    )
    named = sum(token.is_word or token.is_value for token in tokens[:start])
    return start if is_limit and named >= _LEAST_LIMITED else 0


def states_fact(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a negation says what people cannot do, or needs no longer: "I can't find it", "we don't need it any more"."""
    speaker, negator, verb = (token_at(tokens, place + behind) for behind in range(3))
    if wording.language is not ENGLISH or speaker is None or negator is None or speaker.word not in _SPEAKERS:
        return False
    if negator.word.replace("\u2019", "'") in _UNABLE:
        return True
    is_dropped = (
        negator.word.replace("\u2019", "'") in _NOT_NEEDING
        and verb is not None
        and verb.word in ("need", "want", "use")
    )
    return is_dropped and any(token.word in _NO_MORE for token in tokens[place + 3 :])


def _spares(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a command leaves something as it is: "leave b.txt out", "keep the drafts untouched"."""
    if wording.language is not ENGLISH or tokens[place].word not in _SPARING:
        return False
    ends = wording.language.trailing | {"as", "it", "they", "is", "are"}
    rest = [token.word for token in tokens[place + 2 :]]
    while rest and rest[-1] in ends:
        if rest[-1] == "as":
            return True
        rest.pop()
    return bool(rest) and rest[-1] in _SPARED


def _free_negator(tokens: Sequence[Token], wording: Wording) -> int:
    """Return the place of a word that excludes a command at any position; -1 without one."""
    language = wording.language
    return next(
        (
            place
            for place, token in enumerate(tokens)
            if token.word in language.free_negators
            and not (place + 1 < len(tokens) and tokens[place + 1].word in _TELLING)
            and not phrase_length(tokens, place, language.positive)
            and not (place and phrase_length(tokens, place - 1, language.positive))
        ),
        -1,
    )


def _leaves_some_out(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "but web-1" follows a word for all of a kind, and no other command."""
    if wording.language is not ENGLISH or tokens[place].word not in _EXCEPTING:
        return False
    before = [token.word for token in tokens[max(0, place - _NEAR_ALL) : place]]
    after = tokens[place + 1 : place + 3]
    if wording.language.quantifiers.isdisjoint(before) or not after or after[0].word in _NO_THINGS:
        return False
    # "every test but email", and "all lights but dim them"
    verb = after[0].is_word and (wording.verb(after[0].word) or is_act(after[0].word))
    return not verb or (len(after) == 1 and after[0].word in NOUNS_TOO)


def is_exception(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether an excluded part names only things, and no act: "except the fridge", "just not web-1"."""
    language = wording.language
    length = max(phrase_length(tokens, 0, language.negators), phrase_length(tokens, 0, language.exclusions), 1)
    rest = [token for token in tokens[length:] if token.word not in language.determiners]
    if tokens[0].word not in _LEAVING_OUT or not rest or rest[0].word in _NO_THINGS:
        return False
    is_verb = rest[0].is_word and bool(wording.verb(rest[0].word)) and rest[0].word not in NOUNS_TOO
    return not is_verb and not rest[0].word.endswith("ing")


def _excludes_action(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "without" and the like exclude an action; "pizza without cheese" does not."""
    language = wording.language
    if tokens[place].word not in language.action_exclusions:
        return False
    rest = tokens[place + 1 :]
    following = [token for token in rest if token.word not in language.determiners][:4]
    if any(token.word in language.nothing for token in rest[:4]):
        return True
    return any(token.is_word and token.word.endswith(language.action_endings) for token in following[:3])
