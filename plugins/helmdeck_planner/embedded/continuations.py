"""Joins consecutive parts of a request that one step serves: facts and the act on them, a step and further inputs of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from helmdeck_language import ENGLISH, Action, Kind, Token, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import arguments_of, drafted
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import is_gap
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property
from helmdeck_planner.embedded.facts import is_fact, requests_act, subject_of
from helmdeck_planner.embedded.input_clauses import with_further
from helmdeck_planner.embedded.pick import Pick, is_risky
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

Chosen = Callable[[Part, Sources], Sequence[Scored]]

# Words of a part without an act that may state inputs of the step before: "5 is plenty".
_MOST_FURTHER: Final = 6
_NAMING: Final = word_list("naming_verbs")
_SAYING: Final = word_list("saying_verbs")
_PARTICLES: Final = word_list("particles") | word_list("sides")
_OBJECTS: Final = word_list("named_objects")
_BELOW: Final = word_list("pointing_back")


def joined_act(run: Sequence[Part], sources: Sources, chosen: Chosen) -> Pick | None:
    """Return the step of several parts together, if it takes something of each: "pid 482 is stuck, terminate it".

    :param sources: with the parts before them as the earlier ones.
    """
    text = sources.request[run[0].tokens[0].start : run[-1].tokens[-1].end]
    picks = []
    has_commands = sum(part.verb_place == 0 and not part.is_question for part in run) > 1
    for command in run:
        # "give it to Ada" is an act of its own.
        if any(_acts_on(part, sources.wording) for part in run if part is not command):
            continue
        own = [command, *(part for part in run if part is not command)]
        joined = attrs.evolve(command, text=text, tokens=tuple(token for part in own for token in part.tokens))
        found = chosen(joined, sources)
        if not found or is_gap(found) or not found[0].is_complete or is_risky(found):
            continue
        if any(_names_other(part, found[0].profile, sources.wording) for part in run if part is not command):
            continue
        used = drafted(joined, found[0].profile, sources).used_places | {command.verb_place}
        if has_commands and any(token.is_value and place not in used for place, token in enumerate(joined.tokens)):
            continue  # the value that is left over is of another command
        ends = list(itertools.accumulate(len(part.tokens) for part in own))
        if all(
            any(first <= place < end for place in used) or _is_background(part)
            for part, first, end in zip(own, (0, *ends), ends, strict=False)
        ):
            picks.append(Pick(joined, found[0].profile, found))
    return max(picks, key=lambda pick: pick.probability or 0.0, default=None)


def _names_other(part: Part, profile: Profile, wording: Wording) -> bool:
    """Whether a part requests an act with a thing of the catalog that an entry has nothing to do with: "take a snapshot of web-1"."""
    behind = part.tokens[part.verb_place + 1 : part.verb_place + 3]
    things = [token for token in behind if token.is_word and not wording.is_filler(token.word)][:1]
    return requests_act(part) and any(
        wording.is_of_catalog(token.word) and stem(token.word) not in profile.text for token in things
    )


def _is_background(part: Part) -> bool:
    """Whether a part need not state anything for a step: it has no value and no command of its own."""
    is_command = part.verb_place == 0 and not part.is_question
    return not is_command and not any(token.is_value or is_thing(token) for token in part.tokens)


def _acts_on(part: Part, wording: Wording) -> bool:
    return bool(part.verb) and not part.is_question and refers(part, wording)


def continued(before: Pick, after: Pick, sources: Sources, chosen: Chosen) -> Pick | None:
    """Return the step of a part and of the one after it, if that only states further inputs: "draft a mail. Subject: Wreaths".

    :param sources: with the parts before both as the earlier ones.
    """
    wording = sources.wording
    if further := with_further(before, after, sources):
        return further
    properties: Sequence[Property] = before.profile.properties if before.profile is not None else ()
    labelled = _starts_with_label(after.part, properties, wording) and not _acts_below(before, after)
    # "create an issue: title 'Crash', label bug" has labelled values behind its colon, and no text.
    is_text = not (properties and labelled)
    text = _with_text(before, after, sources, chosen) or _with_longer_text(before, after, sources) if is_text else None
    if text := text or _specific(before, after, sources, chosen):
        return text
    if after.part.is_question or not (labelled or _is_further(before, after) or _is_reduced(after, sources)):
        return None
    joined = together(before.part, after.part, sources.request, wording)
    if before.profile is not None:
        found = before.found
        return Pick(joined, before.profile, found) if _takes_more(before, joined, sources) else None
    candidates = [list(chosen(joined, sources))]
    if after.profile is not None:
        candidates.append(list(after.found))
    for found in candidates:
        if found and not is_gap(found) and not is_risky(found):
            draft = drafted(joined, found[0].profile, sources)
            if draft.is_complete and _takes_of_both(draft, before.part):
                return Pick(joined, found[0].profile, found)
    return None


def _acts_below(before: Pick, after: Pick) -> bool:
    """Whether a part has a step of its own on what the step before acts on: "label issue 5 bug and write 'On it' underneath"."""
    if before.profile is None or after.profile in (None, before.profile) or not after.found[0].is_complete:
        return False
    creates = Action.CREATE in before.profile.actions
    return not creates and any(token.word in _BELOW for token in after.part.tokens)


def _with_text(before: Pick, after: Pick, sources: Sources, chosen: Chosen) -> Pick | None:
    """Return the step of a part that takes all behind its colon as a text: "jot down: call the chimney sweep"."""
    request, first, last = sources.request, before.part, after.part.tokens[-1].end
    behind = first.tokens[-1].end
    is_open = before.profile is None or not before.found[0].is_complete
    is_named = bool(first.verb or before.found) and (before.profile is not None or after.profile is None)
    # "let the team know: it is done" has a word before its colon that is no part of the command.
    between, colon_mark, _ = request[behind : after.part.tokens[0].start].partition(":")
    if not (is_open and is_named and colon_mark) or any(mark in between for mark in ".!?;"):
        return None
    end = last + (request[last : last + 1] in ("?", "!"))
    start = end - len(request[request.index(":", behind) + 1 : end].lstrip())
    colon = Token(Kind.MARK, start, start, ":", ":")
    quote = Token(Kind.QUOTE, start, end, request[start:end], "")
    joined = attrs.evolve(first, text=request[first.tokens[0].start : end], tokens=(*first.tokens, colon, quote))
    found = before.found if before.profile is not None else chosen(joined, sources)
    if not found or is_gap(found) or is_risky(found):
        return None
    draft = drafted(joined, found[0].profile, sources)
    is_taken = len(joined.tokens) - 1 in draft.used_places
    return Pick(joined, found[0].profile, found) if is_taken and draft.is_complete else None


def _with_longer_text(before: Pick, after: Pick, sources: Sources) -> Pick | None:
    """Return the step of a part whose text continues behind a comma: "comment on 12: fixed in 2.1, please test it"."""
    request, tokens, end = sources.request, before.part.tokens, after.part.tokens[-1].end
    colon = next((place for place, token in enumerate(tokens[:-1]) if token.value == ":"), 0)
    between = request[tokens[-1].end : after.part.tokens[0].start].split()
    language = sources.wording.language
    # Only the rest of such a text may start with "and".
    has_comma = colon > 0 and "," in request[tokens[colon].end : tokens[-1].end]
    fillers = language.lead_ins if has_comma else language.lead_ins - language.joints
    is_near = bool(between) and all(word == "," or word in fillers for word in between)
    is_open = after.profile is None and not (after.part.is_question or after.part.is_excluded)
    if before.profile is None or not (colon and is_open and is_near):
        return None
    start = tokens[colon + 1].start
    if request[start : tokens[-1].end] not in arguments_of(drafted(before.part, before.profile, sources)).values():
        return None
    text = Token(Kind.QUOTE, start, end, request[start:end], "")
    part = attrs.evolve(before.part, text=request[tokens[0].start : end], tokens=(*tokens[: colon + 1], text))
    return Pick(part, before.profile, before.found)


def _specific(before: Pick, after: Pick, sources: Sources, chosen: Chosen) -> Pick | None:
    """Return the one entry that answers two questions: "what is in /data, and how large is each" lists with sizes."""
    general = before.profile
    is_question = before.part.is_question and after.part.is_question
    if (
        general is None
        or general.writes is not False
        or not is_question
        or any(token.is_value for token in after.part.tokens)
    ):
        return None
    joined = together(before.part, after.part, sources.request, sources.wording)
    answers = [after.found] if after.profile is not None else []
    for found in (*answers, chosen(joined, sources)):
        profile = general if is_gap(found) else found[0].profile
        is_specific = profile.writes is False and profile.verb == general.verb and set(general.name) < set(profile.name)
        if is_specific and drafted(joined, profile, sources).is_complete:
            return Pick(joined, profile, found)
    return None


def with_subject(before: Pick, after: Pick, sources: Sources, chosen: Chosen) -> Pick | None:
    """Return the step of a command in which a fact says what "it" is: "the file chooser waits, give it a.txt".

    :param sources: with the parts before both as the earlier ones.
    """
    tokens = after.part.tokens
    pointing = [place for place, token in enumerate(tokens) if token.word in _OBJECTS and place > 0]
    is_settled = after.profile is not None and after.found[0].is_complete
    is_open = before.profile is None and not is_settled and len(pointing) == 1
    subject = subject_of(before.part, sources.wording) if is_open and is_fact(before.part, sources.wording) else ()
    if not subject or after.part.verb_place != 0:
        return None
    replaced = (*tokens[: pointing[0]], *subject, *tokens[pointing[0] + 1 :])
    text = " ".join(sources.request[token.start : token.end] for token in replaced)
    part = attrs.evolve(after.part, text=text, tokens=replaced)
    found = chosen(part, sources)
    if not found or is_gap(found) or is_risky(found) or not found[0].is_complete or found[0].unused:
        return None
    written = sources.request[before.part.tokens[0].start : tokens[-1].end]
    return Pick(attrs.evolve(part, text=written), found[0].profile, found)


def _is_further(before: Pick, after: Pick) -> bool:
    """Whether a part names no act, and may state what the part before it lacks for a step; of a step, a label must name it."""
    if (
        before.profile is not None
        or (after.part.verb and after.part.verb_place == 0)
        or len(after.part.tokens) > _MOST_FURTHER
    ):
        return False
    return after.profile is None or not after.found[0].is_complete


def _is_reduced(after: Pick, sources: Sources) -> bool:
    """Whether a part without a step is a participle and what depends on it, behind a comma: "..., cut from develop"."""
    following = after.part.tokens[1:2]
    is_clause = after.part.verb_place == 0 and any(map(sources.wording.preposition, following))
    before = sources.request[: after.part.tokens[0].start].rstrip()
    return is_clause and after.profile is None and before.endswith(",")


def _starts_with_label(part: Part, properties: Sequence[Property], wording: Wording) -> bool:
    """Whether a part starts with the label of an input and its value: "subject: Wreaths", "name it Kitchen Refit"."""
    if len(part.tokens) < 2:
        return False
    first, second = part.tokens[:2]
    if first.word in _NAMING | _SAYING | wording.language.values["saying"] and second.kind is Kind.QUOTE:
        return True
    if _is_unquoted(part.tokens, wording):
        return True
    if _is_naming(part.tokens):
        return True
    own = frozenset(stem(word) for word in (first.word, *wording.nouns(first.word))) if first.is_word else frozenset()
    is_stated = second.value in (":", "=") or second.is_value or second.is_capital
    if not properties:  # of the step that both parts have together
        return first.is_word and (second.kind is Kind.QUOTE or second.value == ":")
    return is_stated and any(own & each.labels for each in properties)


def _is_unquoted(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether a label of a text and a sentence follow: "text Are you at home?"."""
    is_label = wording.language is ENGLISH and tokens[0].word in wording.language.values["saying"]
    is_sentence = len(tokens) > 2 and tokens[1].is_word and tokens[1].value.istitle()
    return is_label and is_sentence and all(token.kind is not Kind.QUOTE for token in tokens)


def _is_naming(tokens: Sequence[Token]) -> bool:
    """Whether a name or a text follows: "name it Kitchen Refit", but not "call it off"."""
    if len(tokens) < 3 or tokens[0].word not in _NAMING | _SAYING:
        return False
    return tokens[1].word in _OBJECTS and tokens[2].word not in _PARTICLES


def _text_place(tokens: Sequence[Token], wording: Wording) -> int:
    """Return where the text of a label without quotation marks starts; 0 without one."""
    if len(tokens) > 3 and tokens[1].value == ":" and all(token.kind is not Kind.QUOTE for token in tokens):
        return 2
    return 1 if _is_unquoted(tokens, wording) else 0


def together(before: Part, after: Part, request: str, wording: Wording) -> Part:
    """Return both parts as one, with a comma between them, and "named X" for "name it X"."""
    tokens = after.tokens
    last, first = list(before.tokens)[-1], tokens[0]
    if _is_naming(tokens):
        word = "named" if first.word in _NAMING else "saying"
        tokens = (Token(Kind.WORD, first.start, tokens[1].end, word, word), *tokens[2:])
    elif place := _text_place(tokens, wording):
        # All behind "Body:" is its text.
        start, end = tokens[place].start, tokens[-1].end
        end += request[end : end + 1] in ("?", "!")
        tokens = (first, Token(Kind.QUOTE, start, end, request[start:end], ""))
    comma = Token(Kind.MARK, last.end, max(first.start, last.end), ",", ",")
    text = request[before.tokens[0].start : max(list(tokens)[-1].end, last.end)]
    return attrs.evolve(before, text=text, tokens=(*before.tokens, comma, *tokens))


def _takes_more(before: Pick, joined: Part, sources: Sources) -> bool:
    """Whether the step keeps its arguments, and takes all values of the part behind it and something more than before."""
    assert before.profile is not None
    own: dict[str, Any] = arguments_of(drafted(before.part, before.profile, sources))
    draft = drafted(joined, before.profile, sources)
    args = arguments_of(draft)
    if len(args) <= len(own) or any(args.get(name) != value for name, value in own.items()):
        return False
    return all(
        place in draft.used_places or not joined.tokens[place].is_value
        for place in range(len(before.part.tokens), len(joined.tokens))
    )


def _takes_of_both(draft: Draft, before: Part) -> bool:
    """Whether a step takes something of the first part, unless that has no value, and of the second one."""
    size = len(before.tokens)
    has_value = any(token.is_value for token in before.tokens)
    takes_first = any(place < size for place in draft.used_places)
    return (takes_first or not has_value) and any(place > size for place in draft.used_places)
