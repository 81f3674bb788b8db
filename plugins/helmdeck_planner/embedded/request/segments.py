"""Finds where the parts of a request end: at marks, and at joints that a command, a question or a state follows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from helmdeck_language import ENGLISH, NOUNS_TOO, Kind, Token
from helmdeck_planner.embedded.request.acts import is_act
from helmdeck_planner.embedded.request.clauses import embedded_question, is_clause, is_context, is_recording
from helmdeck_planner.embedded.request.lead_ins import emphasizes, without_lead_ins
from helmdeck_planner.embedded.request.negation import phrase_length, starts_exclusion
from helmdeck_planner.embedded.request.repeats import repeats_object, starts_repeat
from helmdeck_planner.embedded.request.states import is_never_verb, is_thing, starts_state
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import word_list, word_rows
from helmdeck_planner.embedded.request.wording import Wording

_END_MARKS: Final = frozenset(".!?;\u2026\u3002\uff01\uff1f")
_PARTICLES: Final = word_list("particles")
# Words before the object of an unknown verb: "water the plants".
_OBJECT_STARTS: Final = word_list("object_starts")
_ARTICLES: Final = word_list("possessives")
_ADDING: Final = word_list("adding")
_PLACE_WORDS: Final = word_list("place_words")
_THEN: Final = ("then", "afterwards", "after")
_THING_STARTS: Final = _ARTICLES | {"a", "an", "all", "some", "any"}
_DEMONSTRATIVES: Final = word_list("demonstratives")
_QUESTIONS_AFTER_JOINT: Final = word_list("questions_after_joint")
# "and is lock.door locked?"
_ASKING: Final = word_list("asking_after_joint")
# 'Who "Ada"' is a field and its value.
_NOT_ASKED: Final = (Kind.QUOTE, Kind.MARK)
_COMMANDING: Final = word_list("commanding")
_ABBREVIATIONS: Final = word_list("abbreviations")
_TITLES: Final = word_list("titles")
# "it has been failing"
_SUBJECTS: Final = word_list("subjects")
_FINITE: Final = word_list("being") | word_list("finite")
_HAPPENING: Final = word_list("past") | _FINITE
_EARLY: Final = 5
_ONLY: Final = word_list("only")
# "I'll merge it myself"
_OTHERS: Final = word_list("selves") | word_list("later")
# "and return 5 results" belongs to the search before it.
_COUNT_VERBS: Final = word_list("count_verbs")
_COUNTED: Final = word_list("results")
# "label it bug"
_STATING: Final = frozenset(word_rows("stating_verbs"))
# More words than any phrase before a request has, so that a long list is not searched for one at every comma.
_LONGEST_LEAD_IN: Final = 12
# A label, the first item and its joint, with a word before them.
_LISTED: Final = 4


def segments(tokens: Sequence[Token], wording: Wording) -> Iterator[tuple[list[Token], bool]]:
    """Yield the tokens of each part, and whether only "and" or "or" joins it to the part before."""
    current: list[Token] = []
    is_bare = False
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if _is_end(tokens, place, current) or (token.kind is Kind.BREAK and is_context(current, wording)):
            if current:
                yield current, is_bare
            current, is_bare = [], False
            place += 1
            continue
        if place == len(current) and _ends_context(current, tokens, wording):
            yield current, is_bare
            current = []
        if current and _asks_in_sentence(tokens, place, wording):
            yield current, is_bare
            current, is_bare = [], False
        is_joint = _is_joint(token, wording) and not _is_counted(tokens, place, wording)
        is_joint = is_joint and not _ends_lead_in(current, token, wording) and not limits(tokens, place, wording)
        if is_joint and (_has_content(current, wording) or is_context(current, wording)):
            end, is_strong, is_bare_joint = _after_joints(tokens, place, wording)
            is_repeated = end + 1 < len(tokens) and tokens[end].word in _leading_verb(current, wording)
            is_empty = not any(other.is_value for other in current)
            # "two colleagues wait for it: commit a.txt"
            is_strong |= tokens[end - 1].value == ":" and len(current) > 2 and not _leading_verb(current, wording)
            follows_colon = is_empty and tokens[end - 1].value == ":"
            is_command = is_repeated or _starts_command(
                tokens, end, wording, is_strong=is_strong, follows_colon=follows_colon
            )
            is_state = starts_state(tokens, end, current, wording) and not _is_list(current, wording)
            is_reason = tokens[end - 1].value == "," and _starts_reason(tokens, end)
            is_reason = is_reason and bool(_leading_verb(current, wording))
            is_wish = _starts_wish(tokens, place, end, current, wording)
            is_wish = is_wish or _adds_thing(tokens, place, end, current, wording)
            is_command = is_command or is_state or is_reason or is_wish or starts_repeat(tokens, end, wording)
            # "before I call her back: did anybody reply?"
            is_after_clause = _starts_question(tokens, end, wording) or tokens[end - 1].value == ":"
            is_command = is_command or (is_after_clause and is_clause(current, wording))
            if not is_state and _leading_verb(current, wording) and repeats_object(tokens, end, current, wording):
                yield current, is_bare
                current, is_bare = [without_lead_ins(current, wording)[0]], False
                place = end
                continue
            is_listed = end == place + 1 and _is_listed(tokens, end, wording)
            if is_command and not is_listed and not _counts_results(tokens, end):
                yield current, is_bare
                current, is_bare = list(tokens[place:end]), is_bare_joint
                place = end
                continue
        if is_joint and is_recording(without_lead_ins(current, wording), wording):
            # "note that, and order new ones"
            yield current, is_bare
            current, is_bare = [], False
        if token.kind is not Kind.BREAK:
            current.append(token)
        place += 1
    if current:
        yield current, is_bare


def limits(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "but only" and a preposition limit what is requested before them: "allow 53, but only from 10.1.0.0/16"."""
    run = tokens[place : place + 3]
    return len(run) == 3 and run[0].word == "but" and run[1].word in _ONLY and bool(wording.preposition(run[2]))


def _is_listed(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a verb without an object ends a list behind its label: "labels bug and checkout", "label it bug and checkout"."""
    before = tokens[max(place - _LISTED, 0) : place - 1]
    follows = place + 1 < len(tokens) and tokens[place + 1].kind is not Kind.MARK
    if follows or len(before) < _LISTED - 1 or wording.language is not ENGLISH:
        return False
    lead, label, item = before
    if not item.is_word or wording.is_filler(item.word) or wording.preposition(item):
        return False
    if label.word in wording.language.references:
        return lead.word in _STATING
    is_label = label.is_word and label.word.endswith("s") and not wording.is_filler(label.word)
    return is_label and (lead.kind is Kind.MARK or bool(wording.preposition(lead)))


def _is_list(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether words only name the first things of a list: "A-7 and A-8 should go"."""
    return all(is_thing(token) or token.value == "," or token.word in wording.language.joints for token in tokens)


def _is_abbreviation(word: str) -> bool:
    return word in _ABBREVIATIONS or word.endswith("str")


def _ends_context(current: Sequence[Token], tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether a command starts right behind the first words, which say where: "in repos/shop stage a.txt"."""
    if not current or not wording.preposition(current[0]) or not is_context(current, wording):
        return False
    is_file = current[-1].kind is Kind.PATH and "." in current[-1].value.rpartition("/")[2]
    start = tokens[len(current)]
    is_verb = start.is_word and start.value.islower() and bool(wording.verb(start.word))
    return is_verb and not is_file and _starts_command(tokens, len(current), wording, is_strong=True)


def _starts_reason(tokens: Sequence[Token], place: int) -> bool:
    """Whether a fact about a command starts behind its comma: "switch it off, it has been failing since noon"."""
    subject, verb = token_at(tokens, place), token_at(tokens, place + 1)
    if subject is None or verb is None or place + 2 >= len(tokens):
        return False
    is_finite = verb.word in _FINITE or verb.word.endswith("n't")
    clause = itertools.takewhile(lambda token: token.value not in _END_MARKS, tokens[place:])
    # "I'll merge it myself"
    is_own = subject.word.replace("\u2019", "'").removesuffix("'ll") in _SUBJECTS
    return (subject.word in _SUBJECTS and is_finite) or (is_own and any(token.word in _OTHERS for token in clause))


def _leading_verb(tokens: Sequence[Token], wording: Wording) -> tuple[str, ...]:
    """Return the verb that a part starts with; "echo one and echo two" has two parts."""
    first = next((token for token in without_lead_ins(tokens, wording)), None)
    return (first.word,) if first and first.is_word and wording.verb(first.word) else ()


def _is_end(tokens: Sequence[Token], place: int, current: Sequence[Token]) -> bool:
    token = tokens[place]
    following = token_at(tokens, place + 1)
    if token.kind is Kind.BREAK:
        continues = following is not None and following.kind in (Kind.CODE, Kind.SQL, Kind.QUOTE)
        return not (continues or (bool(current) and current[-1].value in (":", ",")))
    if token.kind is not Kind.MARK or token.value not in _END_MARKS:
        return False
    if following is None or following.kind is Kind.BREAK:
        return not _is_list_number(current)
    if token.value == "." and (_is_list_number(current) or following.start == token.end):
        return False
    is_joined = token.value == "." and bool(current) and current[-1].end == token.start
    if is_joined and following.kind is Kind.NUMBER and _is_abbreviation(current[-1].word):
        return False
    if is_joined and current[-1].word in _TITLES:
        return False  # "Dr. Okafor"
    # "e.g. this" continues; "Read it. then stop" does not.
    is_abbreviated = bool(current) and "." in current[-1].value and current[-1].is_word
    return token.value != "." or not (is_abbreviated and following.value[:1].islower())


def _is_list_number(current: Sequence[Token]) -> bool:
    return len(current) == 1 and (current[0].kind is Kind.NUMBER or len(current[0].value) == 1)


def _is_joint(token: Token, wording: Wording) -> bool:
    language = wording.language
    if token.kind is Kind.MARK:
        return token.value in ",:\u2014\u2013-&"
    return token.is_word and (token.word in language.joints or token.word in language.strong_joints)


def _starts_question(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    return place + 1 < len(tokens) and tokens[place].word in wording.language.questions


def _asks_in_sentence(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "I'd like to know which" starts at a place, which needs no mark before it."""
    if tokens[place].word.partition("'")[0] not in ("i", "we") or not embedded_question(tokens[place:], wording):
        return False
    return phrase_length(tokens, place, wording.language.asking) > 2


def _ends_lead_in(current: Sequence[Token], joint: Token, wording: Wording) -> bool:
    """Whether a joint is the end of polite words: "be so kind and"."""
    words = [*current[-_LONGEST_LEAD_IN:], joint]
    phrases = wording.language.lead_in_phrases
    return any(phrase_length(words, start, phrases) == len(words) - start for start in range(len(words) - 1))


def _is_counted(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a word that can join parts only says which one: "the next commit"."""
    is_order = tokens[place].word in wording.language.strong_joints
    return is_order and place > 0 and tokens[place - 1].word in _ARTICLES


def _after_joints(tokens: Sequence[Token], place: int, wording: Wording) -> tuple[int, bool, bool]:
    """Return the place after conjunctions and polite words, and whether they clearly end a part, or only add."""
    language = wording.language
    is_strong, is_bare = False, True
    while place < len(tokens):
        token = tokens[place]
        is_strong |= token.word in language.strong_joints
        if length := phrase_length(tokens, place, language.lead_in_phrases):
            place, is_bare, is_strong = place + length, False, True
        elif token.word in language.lead_ins or (token.kind is Kind.MARK and token.value in ",:\u2014\u2013-&"):
            is_bare &= token.word in language.joints
            is_shell = token.value == "&" == tokens[place - 1].value
            is_strong |= is_shell or (token.is_word and token.word not in language.joints)
            place += 1
        elif token.word in language.joints or token.word in language.strong_joints:
            is_bare &= token.word in language.joints and token.word not in language.strong_joints
            place += 1
        elif emphasizes(tokens, place, wording):
            place, is_bare, is_strong = place + 1, False, True
        else:
            break
    return place, is_strong, is_bare


def _has_content(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether a part has more than one word or value; a statement in SQL is a whole command."""
    count = 0
    for token in tokens:
        if token.is_value or (token.is_word and token.word not in wording.language.lead_ins):
            count += 2 if token.kind is Kind.SQL else 1
            if count > 1:
                return True
    return False


def _starts_command(
    tokens: Sequence[Token], place: int, wording: Wording, *, is_strong: bool, follows_colon: bool = False
) -> bool:
    """Whether a command starts at a place.

    :param follows_colon: a colon is before it, and a part without a value: "run this: SELECT ...".
    """
    if place >= len(tokens):
        return False
    token = tokens[place]
    following = token_at(tokens, place + 1)
    if starts_exclusion(tokens, place, wording):
        return True
    if token.kind is Kind.SQL:
        return not follows_colon
    if not token.is_word:
        return False
    if embedded_question(tokens[place:], wording):
        return True
    if token.word == "let" and any(other.word == "know" for other in tokens[place + 2 : place + 6]):
        return True  # "let the kitchen channel know"
    has_object = following is not None and (
        following.is_value
        or is_thing(following)
        or following.word in _OBJECT_STARTS
        or following.word in _PARTICLES
        or following.word in _DEMONSTRATIVES
        or following.word == "again"
        or (following.word in _PLACE_WORDS and place + 2 < len(tokens) and tokens[place + 2].is_value)
        or following.word in wording.language.determiners
    )
    if token.word in _ASKING and wording.language is ENGLISH:
        return _asks_state(tokens, place, wording)
    if token.word in wording.language.questions:
        is_asking = wording.language is not ENGLISH or token.word in _QUESTIONS_AFTER_JOINT
        return is_asking and place + 2 < len(tokens) and bool(following and following.kind not in _NOT_ASKED)
    if verb := wording.verb(token.word):
        if is_strong or verb not in NOUNS_TOO or wording.language is not ENGLISH:
            return not (token.is_capital and wording.language is not ENGLISH and not is_strong)
        return (
            has_object
            or _requests_other(tokens, place, wording)
            or _names_value(tokens, place + 1, wording)
            or bool(following and (wording.preposition(following) or following.is_capital))
        )
    if wording.is_filler(token.word) or wording.preposition(token) or token.is_capital:
        return False
    if following is None:
        return False
    if wording.language is ENGLISH and (
        (token.word in _COMMANDING and has_object)
        or (is_act(token.word) and (has_object or is_strong or _names_value(tokens, place + 1, wording)))
    ):
        return True
    is_before_object = following.word in _OBJECT_STARTS or (is_strong and has_object and wording.language is ENGLISH)
    is_unknown_verb = (is_before_object and not is_never_verb(token)) or (
        wording.language is not ENGLISH and following.word in wording.language.determiners and is_strong
    )
    return is_unknown_verb or (has_object and bool(wording.corrected_verb(token.word)))


def _starts_wish(tokens: Sequence[Token], place: int, end: int, current: Sequence[Token], wording: Wording) -> bool:
    """Whether a thing that is needed follows: "and I also need the first 5 lines of a.txt", "then a screenshot".

    :param end: the place behind the words that join the parts.
    :param current: the tokens of the part so far.
    """
    if wording.language is not ENGLISH or not current or end + 1 >= len(tokens):
        return False
    between = [token.word for token in tokens[place:end]]
    is_next = any(word in _THEN for word in between)
    is_needed = any(word in wording.language.wishes for word in between)
    # "don't save it, I only want a preview"
    is_needed = is_needed and (
        any(word in wording.language.joints for word in between) or starts_exclusion(current, 0, wording)
    )
    # "pager went off again, just the last 45 lines of a.log"
    is_sentence = len(current) > 2 and not _leading_verb(current, wording)
    is_rest = between[0] == "," and any(word in _ONLY for word in between)
    is_needed |= is_rest and is_sentence and any(token.word in _HAPPENING for token in current[1:_EARLY])
    is_more = not _ADDING.isdisjoint(between) and wording.is_of_catalog(tokens[end + 1].word)
    return (is_next or is_needed or is_more) and tokens[end].word in _THING_STARTS and tokens[end + 1].is_word


def _adds_thing(tokens: Sequence[Token], place: int, end: int, current: Sequence[Token], wording: Wording) -> bool:
    """Whether another thing with its own value is added to one: "the log of web-1, plus events and age of web-2"."""
    between = [token.word for token in tokens[place:end]]
    if (
        wording.language is not ENGLISH
        or _ADDING.isdisjoint(between)
        or tokens[place].value != ","
        or not _is_noun(tokens[end:], wording)
    ):
        return False
    is_thing_before = any(token.is_value or is_thing(token) for token in current) and not _leading_verb(
        current, wording
    )
    rest = list(itertools.takewhile(lambda token: token.kind is not Kind.BREAK, tokens[end:]))
    has_place = any(
        wording.preposition(token) and (following.is_value or is_thing(following))
        for token, following in itertools.pairwise(rest)
    )
    return is_thing_before and has_place


def _is_noun(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether words start with a thing: "a tick", "permissions"."""
    return bool(tokens) and tokens[0].is_word and not wording.preposition(tokens[0])


def _requests_other(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a verb and a noun follow a value, and the catalog has neither: "post 'hi' and order pizza for six"."""
    verb, noun, before = tokens[place], token_at(tokens, place + 1), tokens[place - 2 : place - 1]
    is_pair = noun is not None and noun.is_word and noun.value.islower() and not wording.is_filler(noun.word)
    is_other = is_pair and not (wording.is_of_catalog(verb.word) or wording.is_of_catalog(noun.word if noun else ""))
    is_joined = tokens[place - 1].word in wording.language.joints
    return is_other and is_joined and bool(before) and (before[0].is_value or is_thing(before[0]))


def _asks_state(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a question of one thing starts at a place, and ends with a question mark: "and is sensor.porch alright?".

    Behind another question, the thing may be any noun: "which files changed, and is CI ok?".
    """
    before, following = tokens[place - 1], token_at(tokens, place + 1)
    end = next((token.value for token in tokens[place:] if token.value in _END_MARKS and token.kind is Kind.MARK), "")
    is_thing_next = following is not None and (is_thing(following) or following.word in _ARTICLES)
    return before.is_word and end == "?" and (is_thing_next or _continues_questions(tokens, place, wording))


def _continues_questions(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a noun and its possible state follow, behind a question of the same sentence."""
    ends = [other for other in range(place) if tokens[other].kind is Kind.MARK and tokens[other].value in ".!?;:"]
    before = tokens[(ends or [-1])[-1] + 1 : place]
    noun, state = token_at(tokens, place + 1), token_at(tokens, place + 2)
    if noun is None or state is None or not (noun.is_word and (state.is_word or state.is_value)):
        return False
    is_noun = noun.is_capital or wording.is_of_catalog(noun.word)
    is_noun = is_noun and not noun.word.endswith(("ed", "ing"))
    return is_noun and any(token.word in _QUESTIONS_AFTER_JOINT for token in before)


def _names_value(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a word of the catalog and its value follow a verb: "and close issue 5"."""
    first, second = token_at(tokens, place), token_at(tokens, place + 1)
    is_label = first is not None and first.is_word and wording.is_of_catalog(first.word)
    return is_label and second is not None and second.is_value


def _counts_results(tokens: Sequence[Token], place: int) -> bool:
    if tokens[place].word not in _COUNT_VERBS:
        return False
    following = tokens[place + 1 : place + 6]
    has_number = any(token.kind is Kind.NUMBER for token in following)
    return has_number and any(token.word in _COUNTED for token in following)
