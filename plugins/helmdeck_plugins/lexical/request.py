"""What a request asks for: the weight of its words, and its clauses.

A request often carries a document that is ten times its length. The document must not outvote the request, so a word
counts as much as its sentence is likely to belong to the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final

import attrs

from helmdeck_plugins.lexical.layout import asking_chances, is_question, sentences
from helmdeck_plugins.lexical.text import EMAIL, PATH, URL, WORD, fold, plain_words, word_terms
from helmdeck_plugins.lexical.words import ASKING_PAIRS, BEFORE_VERB, JOINTS, PLEASE, VERBS, WISHES

# A sentence less likely than this to ask is the document's.
_ASKING: Final = 0.5
# What is split into clauses, each of them a step of a plan, has to be nearly as likely as the sentence that surely asks.
_CLEARLY: Final = 0.75
_LEADING_JOINT: Final = re.compile(rf"^(?:(?:{'|'.join(sorted(JOINTS))})\b[\s,]*)+(?=\S)", re.IGNORECASE)
_VALUE: Final = re.compile("|".join(pattern.pattern for pattern in (URL, EMAIL, PATH)))
_TOKEN: Final = re.compile(rf"{URL.pattern}|{WORD.pattern}|[,;:]")


@attrs.frozen
class Clause:
    """A part of the request that is about one thing.

    :ivar terms: its terms, once each, in order.
    :ivar asks: it wants something done, so that it can stand for a step of its own.
    """

    text: str
    terms: tuple[str, ...]
    asks: bool


def asked_terms(clause: Clause) -> tuple[str, ...]:
    """The terms that say what is asked for: addresses and paths are values, and no catalog describes them."""
    words = plain_words(_VALUE.sub(" ", clause.text))
    kept = {term for word in words for term in word_terms(word)}
    return tuple(term for term in clause.terms if term in kept) or clause.terms


@attrs.frozen
class Reading:
    """A request as the ranker sees it.

    :ivar weights: every term with its weight, 0 to 1, in order of appearance.
    :ivar asking_words: the folded words of the asking sentences, in order.
    :ivar document: the sentences that do not ask, one a line; empty when no document was found.
    """

    weights: Mapping[str, float]
    clauses: tuple[Clause, ...]
    asking_words: tuple[str, ...]
    document: str = ""


def read(
    request: str, verbs: AbstractSet[str] = VERBS, relevance: Callable[[Sequence[str]], float] | None = None
) -> Reading:
    """Find out which parts of a text ask, and for what.

    :param verbs: the words that can start a clause of their own.
    :param relevance: how well some terms fit what the catalog can do; asked where the wording leaves doubt.
    """
    found = sentences(request)
    chances = asking_chances(found, relevance)
    weights: dict[str, float] = {}
    for sentence, chance in zip(found, chances, strict=True):
        for word in sentence.words if chance else ():
            for term in word_terms(word):
                if chance > weights.get(term, 0.0):
                    weights[term] = chance
    clearly = _CLEARLY * max(chances, default=0.0)
    asking = [sentence for sentence, chance in zip(found, chances, strict=True) if chance >= clearly]
    rest = [sentence.text for sentence, chance in zip(found, chances, strict=True) if chance < _ASKING]
    return Reading(
        weights,
        tuple(clause for sentence in asking for clause in _clauses(sentence.text, verbs)),
        tuple(word for sentence in asking for word in sentence.words),
        "\n".join(rest),
    )


def _clauses(sentence: str, verbs: AbstractSet[str]) -> list[Clause]:
    """Split a sentence before every verb that follows a comma or a joint such as "and" or "then"."""
    cuts = [0]
    joint: int | None = 0
    content = 0
    for match in _TOKEN.finditer(sentence):
        word = fold(match.group())
        if word in ",;:" or word in JOINTS:
            joint = match.start() if joint is None else joint
            continue
        if joint is not None and word in BEFORE_VERB:
            continue
        # A verb on its own shares the object of the next one: "research and write a post" is one thing to do.
        if joint and content > 1 and word in verbs:
            cuts.append(joint)
            content = 0
        content += 1
        joint = None
    pieces = [sentence[start:end] for start, end in zip(cuts, [*cuts[1:], len(sentence)], strict=True)]
    return [clause for clause in (_clause(piece, verbs) for piece in pieces) if clause.terms]


def _clause(piece: str, verbs: AbstractSet[str]) -> Clause:
    found = plain_words(piece)
    ordered = dict.fromkeys(term for word in found for term in word_terms(word))
    text = _LEADING_JOINT.sub("", piece.strip(" ,;:\t"))
    return Clause(text, tuple(ordered), _asks(found, piece, verbs))


def _asks(found: Sequence[str], piece: str, verbs: AbstractSet[str]) -> bool:
    """Whether a clause starts with a verb, voices a wish, or is a question."""
    lead = next((word for word in found if word not in BEFORE_VERB and word not in JOINTS), "")
    if lead in verbs or not WISHES.isdisjoint(found) or not PLEASE.isdisjoint(found) or is_question(piece):
        return True
    return not ASKING_PAIRS.isdisjoint(pairwise(found))
