"""Splits a request into weighted words and clauses.

A request often contains a document of ten times its length. To keep the document from dominating, the weight of a word is
the probability that its sentence belongs to the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final

import attrs

from helmdeck_language.request.layout import asking_chances
from helmdeck_language.request.sentences import Sentence, is_question, sentences
from helmdeck_language.text.request_words import ASKING_PAIRS, BEFORE_VERB, JOINTS, PLEASE, VERBS, WISHES
from helmdeck_language.text.terms import EMAIL, PATH, SEPARATORS, URL, terms, token_starts, unique_terms

# Sentences with a lower probability belong to the document.
_ASKING: Final = 0.5
# Only sentences nearly as probable as the best one are split into clauses, each of which becomes a step of a plan.
_MIN_RELATIVE_CHANCE: Final = 0.75
_LEADING_JOINT: Final = re.compile(rf"^(?:(?:{'|'.join(sorted(JOINTS))})\b[\s,]*)+(?=\S)", re.IGNORECASE)
_BREAKS: Final = SEPARATORS | JOINTS
_BEFORE_LEAD: Final = BEFORE_VERB | JOINTS
_VALUE: Final = re.compile("|".join(pattern.pattern for pattern in (URL, EMAIL, PATH)))


@attrs.frozen
class Clause:
    """A part of the request with one subject.

    :ivar terms: unique terms in order.
    :ivar is_request: the clause requests an action, so it can become a step.

    >>> from helmdeck_language import read
    >>> read("find the invoice and mail it to Ann").clauses[0]
    Clause(text='find the invoice and mail it to Ann', terms=('find', 'invoic', 'mail', 'ann'), is_request=True)
    """

    text: str
    terms: tuple[str, ...]
    is_request: bool


def asked_terms(clause: Clause) -> tuple[str, ...]:
    """Return the terms of a clause without URLs, e-mail addresses and paths, which are values.

    >>> from helmdeck_language import asked_terms, read
    >>> asked_terms(read("download https://example.org/tides.csv into the folder").clauses[0])
    ('download', 'fold')
    """
    kept = set(terms(_VALUE.sub(" ", clause.text)))
    return tuple(term for term in clause.terms if term in kept) or clause.terms


@attrs.frozen
class Reading:
    """A parsed request.

    :ivar weights: terms with their weights, 0 to 1, in order of appearance.
    :ivar asking_words: folded words of the sentences of the request, in order.
    :ivar document: the remaining sentences, one per line; empty without a document.
    :ivar asking: the sentences of the request, in order.
    """

    weights: Mapping[str, float]
    clauses: tuple[Clause, ...]
    asking_words: tuple[str, ...]
    document: str = ""
    asking: tuple[str, ...] = ()


def read(
    request: str, verbs: AbstractSet[str] = VERBS, relevance: Callable[[Sequence[str]], float] | None = None
) -> Reading:
    """Split a text into request and document, and the request into clauses.

    :param verbs: words that can start a clause.
    :param relevance: how well terms match the catalog; used for ambiguous sentences.

    >>> from helmdeck_language import read
    >>> [clause.text for clause in read("Find the invoice. Then mail it to Ann.").clauses]
    ['Find the invoice.', 'mail it to Ann.']
    """
    found = sentences(request)
    chances = asking_chances(found, relevance)
    weights: dict[str, float] = {}
    asking, rest = found, list[str]()
    if chances.count(1.0) == len(found):
        for sentence in found:
            weights |= dict.fromkeys(sentence.terms, 1.0)
    else:
        for sentence, chance in zip(found, chances, strict=True):
            # A document has many doubtful sentences; a request is found by all of its words.
            weight = 1.0 if chance >= _ASKING else chance * chance
            for term in sentence.terms if weight else ():
                if weight > weights.get(term, 0.0):
                    weights[term] = weight
        threshold = _MIN_RELATIVE_CHANCE * max(chances)
        asking = [sentence for sentence, chance in zip(found, chances, strict=True) if chance >= threshold]
        # A sentence that is not split into clauses belongs to the document; otherwise no argument would contain it.
        least = max(_ASKING, threshold)
        rest = [sentence.text for sentence, chance in zip(found, chances, strict=True) if chance < least]
    return Reading(
        weights,
        tuple([clause for sentence in asking for clause in _clauses(sentence, verbs)]),
        tuple([word for sentence in asking for word in sentence.words]),
        "\n".join(rest),
        tuple([sentence.text for sentence in asking]),
    )


def _clauses(sentence: Sentence, verbs: AbstractSet[str]) -> list[Clause]:
    """Split a sentence before every verb that follows a comma or a conjunction such as "and" or "then"."""
    tokens = sentence.tokens
    if _BREAKS.isdisjoint(tokens):
        return [_clause(sentence.text, sentence.words, sentence.terms, verbs)] if sentence.terms else []
    cuts = [0]
    joint: int | None = 0
    content = 0
    for position, token in enumerate(tokens):
        if token in _BREAKS:
            joint = position if joint is None else joint
        elif joint is None:
            content += 1
        elif token not in BEFORE_VERB:
            # A verb without an object shares the next verb's: "research and write a post" is one step.
            if joint and content > 1 and token in verbs:
                cuts.append(joint)
                content = 0
            content += 1
            joint = None
    if len(cuts) == 1:
        return [_clause(sentence.text, sentence.words, sentence.terms, verbs)] if sentence.terms else []
    starts = token_starts(sentence.text, tokens[: cuts[-1] + 1])
    places = [0, *(starts[cut] for cut in cuts[1:]), len(sentence.text)]
    ends = [*cuts[1:], len(tokens)]
    found = []
    for place, after, cut, end in zip(places, places[1:], cuts, ends, strict=False):
        words = tuple([token for token in tokens[cut:end] if token not in SEPARATORS])
        if terms := unique_terms(words):
            found.append(_clause(sentence.text[place:after], words, terms, verbs))
    return found


def _clause(piece: str, words: Sequence[str], terms: tuple[str, ...], verbs: AbstractSet[str]) -> Clause:
    text = piece.strip(" ,;:\t")
    if words and words[0] in JOINTS:
        text = _LEADING_JOINT.sub("", text)
    return Clause(text, terms, _is_request(words, piece, verbs))


def _is_request(found: Sequence[str], piece: str, verbs: AbstractSet[str]) -> bool:
    """Whether a clause starts with a verb, expresses a wish, or is a question."""
    for word in found:
        if word not in _BEFORE_LEAD:
            if word in verbs:
                return True
            break
    if not WISHES.isdisjoint(found) or not PLEASE.isdisjoint(found) or is_question(piece):
        return True
    return not ASKING_PAIRS.isdisjoint(pairwise(found))
