"""The free text of a part: what is searched for, written about, stored or echoed."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.phrases import end_of_phrase
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    CLOSE,
    LISTING_VERBS,
    MENTIONING,
    SEARCHING_VERBS,
    SEEKING,
    STORES,
    TELLING_VERBS,
)

# English prepositions before a topic.
_CUES: Final = frozenset(("for", "about", "on", "of", "matching"))
_PAYLOAD: Final = (Role.NAME, Role.CONTENT)
_MAX_PAYLOAD: Final = 3
_MAX_LEAD: Final = 3
_AUXILIARIES: Final = ("is", "was", "are", "were", "has", "have", "had", "can", "does", "did")
# Words between a verb and the "for" before what is searched for.
_MAX_PLACE: Final = 4
# Of these, the ones that are never followed by where to search: "search on the web".
_TOPIC_CUES: Final = _CUES - {"on"}


def topic(draft: Draft) -> list[int]:
    """Return the places of the topic of a part; empty if the part names none.

    Words that name the entry are skipped: "search the web for the history of tea" has the topic "history of tea".
    """
    tokens = draft.tokens
    start = _start(draft, _after_opening(draft))
    if start >= len(tokens):
        return []
    if draft.is_one_of(start, "ends_topic"):
        return []
    end = _end(draft, start)
    while end > start and (draft.is_filler(end - 1) or not (tokens[end - 1].is_word or tokens[end - 1].is_value)):
        if tokens[end - 1].value in ")]}%?":
            break
        end -= 1
    if end <= start:
        return []
    if [token.word for token in tokens[max(start - 2, 0) : start]] == ["how", "to"]:
        start -= 2  # the question is searched for as a whole
    if end == start + 1 and tokens[start].kind in (Kind.URL, Kind.PATH, Kind.EMAIL, Kind.ID):
        return []
    return list(range(start, end))


def _after_opening(draft: Draft) -> int:
    """Return the place after the verb, and after words before "about" that name the author of a text, or start a question.

    "what Ada has written about the lease" is about the lease, and so is "what do you know about the lease"; "do we sell garden hoses" is
    about garden hoses. What is before "I'd love" or ", any" only says why.
    """
    first = draft.part.verb_place + 1
    about = next((place for place in range(first, len(draft.tokens)) if draft.preposition(place) == "about"), -1)
    before = range(first, about)
    has_pronoun = any(draft.is_one_of(place, "pronouns") for place in before)
    if about > first and (has_pronoun or any(place in draft.used_places for place in before)):
        return about
    for place in range(first, len(draft.tokens) - 2):
        if draft.tokens[place].word in SEEKING and draft.preposition(place + 1) == "for":
            return place + 1  # "a guest keeps asking for vegan food"
        if place not in draft.used_places and [token.word for token in draft.tokens[place : place + 2]] == [
            "how",
            "to",
        ]:
            return place  # "check there how to retry"
        if draft.tokens[place].word == "trying" and draft.tokens[place + 1].word == "to":
            return place + 2  # "I'm trying to parse dates and need the id of a library"
    if draft.part.verb in SEARCHING_VERBS:
        for place in range(first, min(first + _MAX_PLACE, len(draft.tokens) - 1)):
            if draft.preposition(place) == "for":
                return place  # "search your notes for the plan"
            if not draft.tokens[place].is_word or draft.preposition(place):
                break
    for place in range(len(draft.tokens) - 2, first, -1):
        # "for the party I'd love a picture of a fox", "my son has a fever, any pharmacies"
        is_wish = draft.tokens[place].word in draft.wording.language.wishes and draft.is_one_of(place - 1, "wishing")
        if is_wish or (draft.tokens[place].value == "," and draft.is_one_of(place + 1, "asking_for")):
            return place + 1
    if draft.part.is_question:
        for place in range(first, min(first + 3, len(draft.tokens) - 1)):
            if draft.is_one_of(place, "pronouns") and draft.wording.verb(draft.tokens[place + 1].word):
                return place + 2
    return first


def is_gerund(draft: Draft, place: int) -> bool:
    """Whether a word is a form of a verb such as "listening"."""
    word = draft.tokens[place].word
    return word.endswith(draft.wording.language.action_endings) and bool(draft.wording.verb(stem(word)))


def _start(draft: Draft, place: int) -> int:
    """Return the first word of the topic."""
    tokens = draft.tokens
    cue_before = False
    while place < len(tokens):
        token = tokens[place]
        if place in draft.used_places or (not token.is_word and not token.is_value):
            if token.value == ":":
                return place + 1
            place += 1
        elif token.word in MENTIONING and place + 1 < len(tokens) and draft.is_filler(place - 1):
            cue_before = True  # "anything mentioning Oslo"
            place += 1
        elif _is_store(draft, place):
            place += 1
        elif draft.wording.preposition(token):
            cue_before = draft.wording.preposition(token) in _TOPIC_CUES
            place += 1
        elif (
            draft.is_filler(place) or draft.is_one_of(place, "particles") or token.word in draft.wording.language.naming
        ):
            place += 1
        elif is_titled(draft, place):
            return place
        elif describes_entry(draft, place):
            end = place + 1
            is_name = names_entry(draft, place)
            while end < len(tokens) and (describes_entry(draft, end) or end in draft.used_places):
                is_name = is_name and names_entry(draft, end)
                end += 1
            follows_cue = end < len(tokens) and (
                draft.wording.preposition(tokens[end]) in _CUES or tokens[end].value == ":"
            )
            if not is_name and not follows_cue:
                return place
            if (cue_before and not follows_cue and end < len(tokens)) or end >= len(tokens):
                # "search for web standards"
                return place if cue_before or end < len(tokens) else len(tokens)
            place = end
            cue_before = False
        else:
            return place
    return place


def is_titled(draft: Draft, place: int) -> bool:
    """Whether a title in capitals starts right behind the word for a thing: "the album Music for Ghosts"."""
    if not 0 < place < len(draft.tokens) - 1 or not _is_capital(draft, place):
        return False
    following = place + 1 + (bool(draft.preposition(place + 1)) and draft.tokens[place + 1].value.islower())
    is_title = following < len(draft.tokens) and _is_capital(draft, following)
    is_thing = place - 1 in draft.used_places or describes_entry(draft, place - 1)
    return is_title and draft.tokens[place - 1].value.islower() and is_thing


def _is_capital(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    return token.is_word and place not in draft.used_places and token.is_capital


def _is_store(draft: Draft, place: int) -> bool:
    """Whether a word only says where to search: "memory" in "anything in memory on Oslo"."""
    if draft.tokens[place].word not in STORES or place + 1 >= len(draft.tokens):
        return False
    is_searched = place == draft.part.verb_place + 1 and draft.tokens[place + 1].value == ":"
    return is_searched or (draft.preposition(place - 1) in ("in", "from") and draft.preposition(place + 1) in _CUES)


def names_entry(draft: Draft, place: int) -> bool:
    """Whether a word is one of the entry's name, or a synonym."""
    stems = draft.stems(place)
    # Broader terms are left out: a quantum is a topic of papers, but no word for them.
    related = {other for term in stems for other in draft.wording.lexicon.near.get(term, ())}
    return bool((stems | related) & draft.profile.nouns)


def describes_entry(draft: Draft, place: int) -> bool:
    """Whether a word is one of the entry's name or of the first sentence of its description."""
    if draft.is_filler(place):
        return False
    return bool(draft.stems(place) & draft.profile.opening) or names_entry(draft, place)


def _end(draft: Draft, start: int) -> int:
    """Return the place after the topic: before words that belong to other inputs."""
    tokens = draft.tokens
    end = len(tokens)
    taken = [place for place in draft.used_places if place > start]
    if taken:
        end = min(taken)
        while end > start + 1 and (
            draft.is_filler(end - 1) or draft.is_one_of(end - 1, "ends_topic") or _is_close(draft, end - 1)
        ):
            end -= 1
    # "tidal power on the web": where to search is no topic.
    for place in range(end - 1, start, -1):
        if (
            draft.wording.preposition(tokens[place]) not in ("", *_CUES)
            or draft.wording.preposition(tokens[place]) == "on"
        ):
            rest = range(place + 1, end)
            meaning = [each for each in rest if not draft.is_filler(each)]
            if meaning and all(describes_entry(draft, each) for each in meaning):
                end = place
    return end


def _is_close(draft: Draft, place: int) -> bool:
    """Whether a word only says that a place is near: "close" in "food close to the pier"."""
    return draft.tokens[place].word in CLOSE and draft.preposition(place + 1) == "to"


def is_in_topic(draft: Draft, place: int) -> bool:
    """Whether a word belongs to what is searched for: "open" in "search issues about open source", not in "search for open issues"."""
    searched = [each for each in draft.profile.required if each.role is Role.QUERY and each.name not in draft.args]
    if not searched or draft.free(Kind.QUOTE):
        return False
    cues = (draft.preposition(other) in _TOPIC_CUES for other in range(draft.part.verb_place + 1, place))
    following = next((other for other in range(place + 1, len(draft.tokens)) if not draft.is_filler(other)), -1)
    return any(cues) and not (following > 0 and names_entry(draft, following))


def has_reference(draft: Draft) -> bool:
    """Whether a part refers to something that was mentioned before it: "it", "that file"."""
    return any(
        token.is_word and token.word in draft.wording.language.references and not _is_relative(draft, place)
        for place, token in enumerate(draft.tokens)
        if place != draft.part.verb_place
    )


def _is_relative(draft: Draft, place: int) -> bool:
    """Whether "that" starts a clause about the noun before it: "a file that contains"."""
    before = place - 1
    if before < 0 or before == draft.part.verb_place or not draft.is_one_of(place, "clause_starts"):
        return False
    return draft.tokens[before].is_word and not draft.is_filler(before) and place + 1 < len(draft.tokens)


def stored_text(draft: Draft) -> list[int]:
    """Return the text after verbs such as "remember" and "echo", which are followed by the text itself."""
    start = draft.part.verb_place + 1
    while start < len(draft.tokens) and (
        draft.is_one_of(start, "clause_starts") or draft.tokens[start].kind is Kind.MARK
    ):
        start += 1
    start = _after_reminded(draft, start)
    that = next((place for place in range(start, len(draft.tokens)) if draft.tokens[place].word == "that"), -1)
    if that > start and all(draft.is_filler(place) or names_entry(draft, place) for place in range(start, that)):
        start = that + 1  # "the insight that returns rise"
    colon = next((place for place in range(start, len(draft.tokens)) if draft.tokens[place].value == ":"), -1)
    if 0 < colon - start <= _MAX_LEAD and draft.preposition(start):
        start = colon + 1  # "note for the memo: ..."
    end = len(draft.tokens)
    comma = max((place for place in range(start, end) if draft.tokens[place].value == ","), default=end)
    labels = draft.profile.labels
    behind = range(comma + 1, end)
    is_label = all(place in draft.used_places or draft.stems(place) & labels for place in behind)
    if is_label and not draft.used_places.isdisjoint(behind):
        end = comma  # "check the oven, high priority"
    places = [place for place in range(start, end) if place not in draft.used_places]
    if not places or places != list(range(start, end)):
        return []
    words = [place for place in places if not draft.is_filler(place)]
    if (words and names_entry(draft, words[0])) or _is_pronoun(draft, places):
        return []
    return places


def listed_text(draft: Draft) -> list[int]:
    """Return the text between "add" and the list that it goes to: "put Water the ferns on my list", but not "add a task to my list"."""
    start = draft.part.verb_place + 1
    if draft.part.verb not in LISTING_VERBS or start < 1:
        return []
    for to in range(len(draft.tokens) - 2, start, -1):
        store = [place for place in range(to + 1, len(draft.tokens)) if draft.tokens[place].kind is not Kind.MARK]
        words = [place for place in store if not draft.is_filler(place)]
        is_store = draft.is_determiner(to + 1) and bool(words)
        is_store = is_store and all(draft.tokens[place].word in STORES or names_entry(draft, place) for place in words)
        if draft.preposition(to) not in ("to", "on") or not is_store:
            continue
        text = list(range(start, to))
        is_text = (
            draft.used_places.isdisjoint(text) and not draft.is_filler(start) and not describes_entry(draft, start)
        )
        return (
            text
            if is_text and not _is_pronoun(draft, text) and all(draft.tokens[place].is_word for place in text)
            else []
        )
    return []


def _after_reminded(draft: Draft, start: int) -> int:
    """Return the place behind "me to", and behind "me on my list to"."""
    if start >= len(draft.tokens) or draft.tokens[start].word != "me":
        return start
    to = next((place for place in range(start, len(draft.tokens)) if draft.tokens[place].word == "to"), -1)
    is_store = all(
        draft.is_filler(place) or names_entry(draft, place) or draft.tokens[place].word in STORES
        for place in range(start + 1, to)
    )
    return to + 1 if to > 0 and is_store else start


def _is_pronoun(draft: Draft, places: list[int]) -> bool:
    return all(draft.tokens[place].is_word and draft.is_reference(place) for place in places)


def told_text(draft: Draft, each: Property) -> list[int]:
    """Return the text after a colon, or after the "that" of "tell #ops that the VPN is back"; empty without one.

    A name ends before a comma. What is before a colon must say where the text goes: "leave a remark on page 9f31c2: prices are old", not "three things: ...".
    """
    tokens, verb = draft.tokens, draft.part.verb_place
    for place in range(max(verb, 0) + 1, len(tokens) - 2):
        is_colon = tokens[place].value == ":" and _ends_object(draft, place)
        is_clause = tokens[place].word == "that" and draft.part.verb in TELLING_VERBS and place - 1 > verb
        is_clause = is_clause and not draft.is_filler(place - 1)
        is_clause = is_clause or (tokens[place].word == "that" and _starts_statement(draft, place))
        is_clause = (is_clause or _leads_to_text(draft, place)) and each.role is Role.CONTENT
        if not (is_colon or is_clause):
            continue
        end = end_of_phrase(draft, each, place + 1, is_text=each.role is Role.CONTENT)
        if each.role is Role.CONTENT and end < len(tokens) and tokens[end].value not in ",;":
            end = len(tokens)
        while end > place and tokens[end - 1].kind in (Kind.MARK, Kind.BREAK) and tokens[end - 1].value not in ")]?!":
            end -= 1
        places = list(range(place + 1, end))
        has_words = sum(tokens[other].is_word for other in places) > 1
        has_words = has_words and all(tokens[other].kind not in (Kind.QUOTE, Kind.CODE) for other in places)
        return places if has_words and draft.used_places.isdisjoint(places) else []
    return []


def _starts_statement(draft: Draft, that: int) -> bool:
    """Whether "that" behind a value starts a text: "comment on #5 that the fix is out", but not "the issue #5 that is open"."""
    following = draft.tokens[that + 1]
    if draft.is_one_of(that - 1, "saying"):
        return True  # "saying that we are closed"
    is_subject = following.is_word and not draft.wording.verb(following.word) and following.word not in _AUXILIARIES
    return draft.tokens[that - 1].is_value and is_subject


def _leads_to_text(draft: Draft, place: int) -> bool:
    """Whether a verb such as "saying" starts a text: "a note on 7 saying Waiting for the parts", but not "saying what is new"."""
    following, language = draft.tokens[place + 1], draft.wording.language
    is_verb = draft.is_one_of(place, "saying") and draft.tokens[place].word in language.naming
    is_article = place > 1 and draft.tokens[place - 1].word == "the" and draft.preposition(place - 2) == "with"
    if is_article and draft.is_one_of(place, "kinds_of_text"):
        return following.is_capital  # "with the words See you there"
    is_subject = following.word in language.references and draft.tokens[place + 2].word in language.statements
    is_text = following.is_word and following.word not in language.questions | language.references | {"so"}
    return is_verb and (is_text or is_subject or following.is_capital)


def _ends_object(draft: Draft, colon: int) -> bool:
    """Whether a value, or a word for the text, is right before a colon: "jot down:", "a note on OPS-12:"."""
    before = colon - 1
    if draft.tokens[before].word == "with":
        return True  # "answer 17 with: ..."
    return before in draft.used_places or draft.tokens[before].is_value or _is_about_text(draft, before)


def _is_about_text(draft: Draft, place: int) -> bool:
    texts = [each for each in draft.open_inputs() if each.role is Role.CONTENT and each.is_required]
    labels = frozenset[str]().union(*(each.labels | each.hints for each in texts), draft.profile.name)
    return draft.is_one_of(place, "particles") or bool(draft.stems(place) & labels)


def fill_payload(draft: Draft) -> None:
    """Set a message and where it goes from "publish OPEN on mews/door"."""
    needed = [each for each in draft.open_inputs() if each.is_required]
    places = draft.free(Kind.SLUG, Kind.PATH)
    start, to = draft.part.verb_place + 1, places[0] - 1 if len(places) == 1 else -1
    if (
        {each.role for each in needed} != {Role.NAME, Role.CONTENT}
        or len(needed) != len(_PAYLOAD)
        or not draft.profile.writes
    ):
        return
    words = range(start, to)
    is_payload = start > 0 and 0 < len(words) <= _MAX_PAYLOAD and draft.preposition(to) in ("on", "to")
    is_quote = len(words) == 1 and draft.tokens[start].kind is Kind.QUOTE
    is_text = all(draft.tokens[place].is_word and not describes_entry(draft, place) for place in words)
    if is_payload and (is_quote or is_text):
        for each in needed:
            own = list(words) if each.role is Role.CONTENT else places
            draft.set_text(each, own)
