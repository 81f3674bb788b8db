"""What a request asks for: its asking sentences told from a pasted document, and its clauses.

A request often carries a document that is ten times its length, before it, after it or around it. The document must
not outvote the request, so every sentence gets a probability of belonging to the request, and its words count as much
as that. Nothing is cut off for good: a wrong guess costs weight, not words. Letter case never matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate
from math import exp, log
from typing import Final

import attrs

from helmdeck_plugins.lexical.text import WORD, fold, word_terms, words
from helmdeck_plugins.lexical.words import VERBS

# Below this many characters there is no room for a request and a document; every word is taken at its full weight.
_SHORT_TEXT: Final = 400
# A shorter stretch of sentences that do not ask is background ("I am planning a trip ..."), not a document.
_SHORT_DOCUMENT: Final = 280
# Only this many sentences at either end are looked at: requests stand at the ends of long documents.
_END_SENTENCES: Final = 40
# A sentence less likely than this to ask is the document's.
_ASKING: Final = 0.5
# What is split into clauses, each of them a step of a plan, has to be nearly as likely as the sentence that surely asks.
_CLEARLY: Final = 0.75

_SENTENCE: Final = re.compile(
    r"[^\n]+?(?:[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f\u0964]+|(?=\n)|$)"
)
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964][\"'\u201d\u2019)\]]*$")
# What numbers an item of a list is no sentence of its own.
_LIST_MARK: Final = re.compile(r"\W*[0-9a-zA-Z]{1,2}\.")
_QUESTION: Final = re.compile(r"[?\uff1f\u061f][\"'\u201d\u2019)\]]*\s*$")


@attrs.frozen
class Clause:
    """A part of the request that asks for one thing.

    :ivar terms: its terms, once each, in order.
    :ivar asks: it wants something done, so that it can stand for a step of its own.
    """

    text: str
    terms: tuple[str, ...]
    asks: bool


@attrs.frozen
class Reading:
    """A request as the ranker sees it.

    :ivar weights: every term with its weight, 0 to 1, in order of appearance.
    :ivar asking_words: the folded words of the asking sentences, in order.
    :ivar document: the sentences that do not ask, joined; empty when no document was found.
    """

    weights: dict[str, float]
    clauses: tuple[Clause, ...]
    asking_words: tuple[str, ...]
    document: str = ""


@attrs.frozen
class _Sentence:
    text: str
    words: tuple[str, ...]
    # How strongly it is set off from the sentence before: 0 same line, 1 new line, 2 after a blank line.
    gap: int


def read(
    request: str, verbs: Set[str] = VERBS, relevance: Callable[[Sequence[str]], float] | None = None
) -> Reading:
    """Find out which parts of a text ask, and for what.

    :param verbs: the words that can start a clause of their own.
    :param relevance: how well some terms fit what the catalog can do; asked where the wording leaves doubt.
    """
    sentences = _sentences(request)
    chances = _asking_chances(sentences, relevance) if len(request) >= _SHORT_TEXT else [1.0] * len(sentences)
    weights: dict[str, float] = {}
    for sentence, chance in zip(sentences, chances, strict=True):
        for word in sentence.words:
            for term in word_terms(word) if chance else ():
                if chance > weights.get(term, 0.0):
                    weights[term] = chance
    clearly = _CLEARLY * max(chances, default=0.0)
    asking = [s for s, chance in zip(sentences, chances, strict=True) if chance >= clearly]
    rest = [s.text for s, chance in zip(sentences, chances, strict=True) if chance < _ASKING]
    return Reading(
        weights,
        tuple(clause for sentence in asking for clause in _clauses(sentence.text, verbs)),
        tuple(word for sentence in asking for word in sentence.words),
        "\n".join(rest),
    )


def _sentences(text: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    end = 0
    for match in _SENTENCE.finditer(text):
        content = match.group().strip()
        if not content:
            continue
        gap = min(text.count("\n", end, match.start()), 2)
        end = match.end()
        if found and not gap and _LIST_MARK.fullmatch(found[-1].text):
            before = found.pop()
            content, gap = f"{before.text} {content}", before.gap
        found.append(_Sentence(content, tuple(plain_words(content)), gap))
    return found


# -- does a sentence ask? ------------------------------------------------------------------------------

_LEAD_INS: Final = frozenset(
    "please kindly then also now first second third next finally lastly and so but ok okay additionally afterwards"
    " furthermore moreover afterward just to after that once done thanks hi hey hello".split()
)
_OBJECT_STARTS: Final = frozenset(
    "a an the this that these those it them my our me us your his her its their all any each every some how what which"
    " whether if to for from with into up out in on about between both more new two three".split()
)
_ASKING_PAIRS: Final = frozenset(
    tuple(pair.split())
    for pair in (
        "can you|could you|would you|will you|can i|could i|i need|i want|i'd like|i would|i am|i'm looking|i wish|"
        "help me|tell me|show me|give me|for me|let me|let's|i'm trying|i'm planning|i'm interested|i was|i have|i've|"
        "do you|is there|are there|how do|how can|how much|how many|what is|what are|what's the|i'm|let us|find me|"
        "need to|want to|like to"
    ).split("|")
)
_FIRST_PERSON: Final = frozenset("i i'm i'd i've i'll me my mine myself".split())
# One asks for oneself; "we" and "our" are how companies and societies write.
_WE: Final = frozenset("we we're we've our ours us".split())
_WE_COST = 0.8
# Courtesy in other widely used languages; a question mark speaks for itself in all of them.
_PLEASE: Final = frozenset(
    "please kindly bitte pls plz veuillez pouvez peux puedes podrias favor necesito quiero brauche kannst".split()
)
_BASE = -1.5
_LETTER_WORDS: Final = frozenset("dear sincerely regards faithfully yours".split())


def asking_strength(sentence_words: tuple[str, ...], text: str) -> float:
    """How much a sentence sounds like asking an assistant, as log-odds; 0 is undecided."""
    strength = _BASE
    lead = next((i for i, word in enumerate(sentence_words) if word not in _LEAD_INS), -1)
    if lead >= 0 and sentence_words[lead] in VERBS:
        following = sentence_words[lead + 1] if lead + 1 < len(sentence_words) else ""
        strength += 2.2 if following in _OBJECT_STARTS else 1.4
    if not _PLEASE.isdisjoint(sentence_words):
        strength += 1.8
    if not _FIRST_PERSON.isdisjoint(sentence_words):
        strength += 1.0
    elif not _WE.isdisjoint(sentence_words):
        strength -= _WE_COST
    if any(pair in _ASKING_PAIRS for pair in zip(sentence_words, sentence_words[1:], strict=False)):
        strength += 1.4
    if _QUESTION.search(text):
        strength += 1.2
    if text[0] in '"\u201c\u00bb>|' or not _LETTER_WORDS.isdisjoint(sentence_words[:2]):
        strength -= 2.0
    return max(-2.5, min(strength, 2.5))


# -- where does the document stand? --------------------------------------------------------------------
#
# Every way to lay a text out as request and document gets a score, as log-probability, and a sentence's chance to
# belong to the request is the share of the layouts in which it does. What speaks for a layout: the request asks more
# than the document does, their lengths are usual ones, and the text is set off where one meets the other.

# Characters of a usual request and of a usual document, and how far (in units of e) they commonly stray. A document may
# be any longer, a request hardly: in a manual that commands in every line, length is the only cue that is left.
_REQUEST_LENGTH: Final = 180.0
_REQUEST_SPREAD: Final = 1.1
# A request without a document may well be as long as several.
_ALONE_LENGTH: Final = 450.0
_ALONE_SPREAD: Final = 0.4
_DOCUMENT_LENGTH: Final = 1000.0
_DOCUMENT_SPREAD: Final = 0.5
# Sentences of one writer are alike, so the evidence of many counts as that of a few.
_EVIDENCE_SENTENCES: Final = 4
# The asking strength of a document that never asks, and how much each unit above it speaks against a request inside.
_SILENT: Final = -1.2
_SILENCE: Final = 5.0
# How well the text is set off: on the same line, on a new line, after a blank line.
_GAP_STRENGTH: Final = (-1.5, 0.5, 1.0)
# What a new line and a new paragraph inside the request cost: most people ask in one paragraph.
_BREAK_COST: Final = (0.0, 0.3, 2.0)
# Documents often start with a line that is no sentence: a title, a sender, a number.
_TITLE: Final = 3.5
# Before any evidence: no document at all, request after it, before it, in its middle, around it.
_LOG_PRIOR: Final = {"plain": 4.0, "last": -1.0, "first": -1.0, "middle": -2.0, "around": -5.0}
# A request has no more sentences than this when a document is beside it.
_LONGEST_REQUEST: Final = 16
_LONGEST_ENDS: Final = 4


# A sentence this likely to belong to either side is looked at again, and so are the first and last few: what a request
# is about, the catalog can often do, and what a document is about, mostly not.
_DOUBT: Final = 0.05
_ALWAYS_CHECKED: Final = 2
_RELEVANCE: Final = 4.0
# A sentence gains when it is at least this relevant, as a part of the most relevant one.
_PIVOT: Final = 0.5
_LEAST_RELEVANT: Final = -0.5


@attrs.frozen
class _Sums:
    """Sums over the sentences before each position, so that any stretch costs two subtractions."""

    strengths: tuple[float, ...]
    lengths: tuple[int, ...]
    breaks: tuple[float, ...]
    gaps: tuple[int, ...]
    titles: tuple[bool, ...]


def _sums(sentences: Sequence[_Sentence], strengths: Sequence[float]) -> _Sums:
    lengths = accumulate((len(s.text) for s in sentences), initial=0)
    breaks = accumulate((_BREAK_COST[s.gap] for s in sentences), initial=0.0)
    titles = tuple(
        not _FULL_STOP.search(s.text) and strength <= 0 for s, strength in zip(sentences, strengths, strict=True)
    )
    return _Sums(
        tuple(accumulate(strengths, initial=0.0)),
        tuple(lengths),
        tuple(breaks),
        tuple(s.gap for s in sentences),
        titles,
    )


def _asking_chances(sentences: list[_Sentence], relevance: Callable[[Sequence[str]], float] | None) -> list[float]:
    ends = _END_SENTENCES
    skipped = max(0, len(sentences) - 2 * ends)
    looked_at = sentences if not skipped else sentences[:ends] + sentences[-ends:]
    strengths = [asking_strength(s.words, s.text) for s in looked_at]
    chances = _share_of_layouts(_sums(looked_at, strengths), len(looked_at))
    if relevance is not None and any(_DOUBT < chance < 1 - _DOUBT for chance in chances):
        strengths = _with_relevance(looked_at, strengths, chances, relevance)
        chances = _share_of_layouts(_sums(looked_at, strengths), len(looked_at))
    if skipped:
        chances[ends:ends] = [0.0] * skipped
    document_length = sum(len(s.text) for s, chance in zip(sentences, chances, strict=True) if chance < _ASKING)
    if document_length < _SHORT_DOCUMENT:
        return [1.0] * len(sentences)
    return [chance if chance > _DOUBT else 0.0 for chance in chances]


def _with_relevance(
    sentences: Sequence[_Sentence],
    strengths: Sequence[float],
    chances: Sequence[float],
    relevance: Callable[[Sequence[str]], float],
) -> list[float]:
    """Add to each candidate how well it fits the catalog, measured by the candidate that fits best."""
    count = len(sentences)
    found = {
        i: relevance(tuple(dict.fromkeys(term for word in sentences[i].words for term in word_terms(word))))
        for i in range(count)
        if chances[i] > _DOUBT or i < _ALWAYS_CHECKED or i >= count - _ALWAYS_CHECKED
    }
    best = max(found.values()) or 1.0
    return [
        strength + (_RELEVANCE * max(found[i] / best - _PIVOT, _LEAST_RELEVANT) if i in found else 0.0)
        for i, strength in enumerate(strengths)
    ]


def _share_of_layouts(sums: _Sums, count: int) -> list[float]:
    layouts = [(spans, _layout_score(sums, count, kind, spans)) for kind, spans in _layouts(sums.gaps, count)]
    best = max(score for _, score in layouts)
    chances = [0.0] * count
    total = 0.0
    for spans, score in layouts:
        share = exp(score - best)
        total += share
        for start, end in spans:
            for i in range(start, end):
                chances[i] += share
    return [chance / total for chance in chances]


def _layouts(gaps: tuple[int, ...], count: int) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """The layouts worth a look, as the stretches that are the request."""
    yield "plain", ((0, count),)
    longest = min(_LONGEST_REQUEST, count - 1)
    for size in range(1, longest + 1):
        yield "last", ((count - size, count),)
        yield "first", ((0, size),)
    # In the middle of a document a request stands in paragraphs of its own, or it could not be told by people either.
    starts = [i for i in range(1, count) if gaps[i] == 2]
    for start, end in zip(starts, starts[1:], strict=False):
        if end - start <= longest:
            yield "middle", ((start, end),)
    for head in range(1, min(_LONGEST_ENDS, count - 2) + 1):
        for tail in range(1, min(_LONGEST_ENDS, count - head - 1) + 1):
            yield "around", ((0, head), (count - tail, count))


def _layout_score(sums: _Sums, count: int, kind: str, spans: tuple[tuple[int, int], ...]) -> float:
    size = sum(end - start for start, end in spans)
    asking = sum(sums.strengths[end] - sums.strengths[start] for start, end in spans)
    length = sum(sums.lengths[end] - sums.lengths[start] for start, end in spans)
    score = _LOG_PRIOR[kind] + asking / size * min(size, _EVIDENCE_SENTENCES)
    rest = count - size
    if not rest:
        return score - _surprise(max(length, _ALONE_LENGTH), _ALONE_LENGTH, _ALONE_SPREAD)
    document_asks = (sums.strengths[count] - asking) / rest
    score -= document_asks * min(rest, _EVIDENCE_SENTENCES)
    if kind == "middle":
        # Every letter has a paragraph that asks more than the others: only a document that never asks shows its own.
        score -= _SILENCE * (document_asks - _SILENT)
    score -= _surprise(length, _REQUEST_LENGTH, _REQUEST_SPREAD)
    score -= _surprise(min(sums.lengths[count] - length, _DOCUMENT_LENGTH), _DOCUMENT_LENGTH, _DOCUMENT_SPREAD)
    score -= sum(sums.breaks[end] - sums.breaks[start + 1] for start, end in spans)
    starts = [0] if spans[0][0] else []
    starts += [end for _, end in spans if end < count]
    score += sum(_TITLE for start in starts if sums.titles[start])
    edges = [edge for span in spans for edge in span if 0 < edge < count]
    # Where the change is, is one of many places: the more there are, the less is each of them worth.
    return score + sum(_GAP_STRENGTH[sums.gaps[edge]] - log(count) for edge in edges)


def _surprise(length: float, usual: float, spread: float) -> float:
    return (log(max(length, 1) / usual) / spread) ** 2 / 2


# -- clauses ---------------------------------------------------------------------------------------------

_JOINTS: Final = frozenset("and then also plus or but next finally lastly after afterwards afterward".split())
# What may stand between a joint and the verb: "and please send", "and I want to send".
_BEFORE_VERB: Final = _LEAD_INS | frozenset("i i'd i'll you we need want would like could can help me".split())
# "I need a hotel" asks without a verb that says what to do.
_WISHES: Final = frozenset("need needs want wanted wish looking".split())
_URL: Final = re.compile(r"\w+://\S*[^\s.,;:!?)\]]|\bwww\.\S*[^\s.,;:!?)\]]")
_TOKEN: Final = re.compile(rf"{_URL.pattern}|{WORD.pattern}|[,;:]")
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def plain_words(text: str) -> list[str]:
    """The folded words of a text; an address of the web or of mail counts as what it is, not as what it spells."""
    if "://" in text or "www." in text:
        text = _URL.sub(" url ", text)
    return words(_EMAIL.sub(" email ", text) if "@" in text else text)


def _clauses(sentence: str, verbs: Set[str]) -> list[Clause]:
    """Split a sentence before every verb that follows a comma or a joint such as "and" or "then"."""
    cuts = [0]
    joint: int | None = 0
    content = 0
    for match in _TOKEN.finditer(sentence):
        word = fold(match.group())
        if word in ",;:" or word in _JOINTS:
            joint = match.start() if joint is None else joint
            continue
        if joint is not None and word in _BEFORE_VERB:
            continue
        # A verb on its own shares the object of the next one: "research and write a post" is one thing to do.
        if joint and content > 1 and word in verbs:
            cuts.append(joint)
            content = 0
        content += 1
        joint = None
    pieces = [sentence[start:end] for start, end in zip(cuts, [*cuts[1:], len(sentence)], strict=True)]
    return [clause for clause in (_clause(piece, verbs) for piece in pieces) if clause.terms]


def _clause(piece: str, verbs: Set[str]) -> Clause:
    found = plain_words(piece)
    ordered = dict.fromkeys(term for word in found for term in word_terms(word))
    return Clause(piece.strip(" ,;:\t"), tuple(ordered), _asks(found, piece, verbs))


def _asks(found: Sequence[str], piece: str, verbs: Set[str]) -> bool:
    """Whether a clause starts with a verb, voices a wish, or is a question."""
    lead = next((word for word in found if word not in _BEFORE_VERB and word not in _JOINTS), "")
    if lead in verbs or not _WISHES.isdisjoint(found) or not _PLEASE.isdisjoint(found) or _QUESTION.search(piece):
        return True
    return any(pair in _ASKING_PAIRS for pair in zip(found, found[1:], strict=False))
