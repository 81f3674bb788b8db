"""Features of a sentence that tell requests from documents, as data for the segmentation model.

Case is not a feature: a request in capitals is read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from helmdeck_language.request.sentences import Sentence, is_question
from helmdeck_language.text.request_words import (
    ASKING_PAIRS,
    FIRST_PERSON,
    LEAD_INS,
    LETTER_WORDS,
    OBJECT_STARTS,
    PLEASE,
    VERBS,
    WE,
    WISHES,
)
from helmdeck_language.text.word_files import WordFile

FEATURES: Final = (
    "base", "command", "maybe_command", "please", "asks_you", "wish", "question", "first_person", "we", "you",
    "label", "bullet", "quoted", "letter", "open_end", "value", "symbols", "cells", "short", "long", "pointer",
    "other_tongue", "repeated", "relevance", "unrelated", "statement", "dull", "label_command",
    "continues", "one_of_tongues", "turn", "outside_turns", "inner_command",
    "question_start", "casual", "indented", "opens",
)  # fmt: skip
"""The names of the features, in the order of the vectors."""

_PLACE: Final = {name: place for place, name in enumerate(FEATURES)}
_FILE: Final = WordFile.beside(__file__, "cues.toml")
_YOU: Final = frozenset(_FILE.words("you"))
_COMMANDS: Final = frozenset(_FILE.words("commands"))
_WISH_WORDS: Final = WISHES.union(_FILE.words("wishes"))
_FIRST: Final = FIRST_PERSON.union(_FILE.words("first_person"))
_WE: Final = WE.union(_FILE.words("we"))
_LETTER: Final = LETTER_WORDS.union(_FILE.words("letter_words"))
_CONTINUING: Final = frozenset(_FILE.words("continuing"))
_POINTER: Final = frozenset(_FILE.words("pointers"))
_QUESTION_STARTS: Final = frozenset(_FILE.words("question_starts"))
_ADDRESSING: Final = frozenset((first, second) for first, second in map(str.split, _FILE.lines("addressing_pairs")))
_BIT: Final = {name: 1 << place for place, name in enumerate(FEATURES)}
_BASE: Final = _BIT["base"]
# Words that are cues only beside certain others, or only at the start of a sentence.
_STARTS_PAIR: Final = 1 << len(FEATURES)
_ADDRESSES_AT_START: Final = _STARTS_PAIR << 1
_LETTER_AT_START: Final = _STARTS_PAIR << 2
_FEATURE_BITS: Final = _STARTS_PAIR - 1
_FLAGGED: Final = {
    "please": PLEASE, "wish": _WISH_WORDS, "first_person": _FIRST, "we": _WE, "you": _YOU, "pointer": _POINTER,
    "casual": frozenset(_FILE.words("casual")),
}  # fmt: skip
_PAIRS: Final = {
    **dict.fromkeys(ASKING_PAIRS - _ADDRESSING, _BIT["wish"]),
    **dict.fromkeys(_ADDRESSING, _BIT["asks_you"]),
}
# A sentence with none of these only states something.
_ADDRESSED: Final = sum(
    _BIT[name]
    for name in (
        "command",
        "maybe_command",
        "please",
        "asks_you",
        "wish",
        "question",
        "first_person",
        "pointer",
        "label_command",
        "inner_command",
        "question_start",
    )
)
_BEFORE_COMMAND: Final = LEAD_INS.union(_FILE.words("before_command"))
_ADDRESSING_WORDS: Final = frozenset(_FILE.words("addressing_words"))

# Cues of languages without spaces around words.
_UNSPACED: Final = _FILE.table("unspaced")


def _any_of(key: str) -> str:
    return "|".join(_UNSPACED.lines(key))


class _UnspacedCues(NamedTuple):
    """Patterns of the cues of these languages.

    :ivar cues: by the name of the feature.
    """

    command: re.Pattern[str]
    inner_command: re.Pattern[str]
    cues: Mapping[str, re.Pattern[str]]


@cache  # at the first sentence with other characters than ASCII: compiling them takes as long as many imports
def _unspaced_cues() -> _UnspacedCues:
    names = ("please", "wish", "question", "first_person", "we", "you", "letter", "pointer")
    return _UnspacedCues(
        re.compile(rf"^\W*(?:{_any_of('command_starts')})|(?:{_any_of('command_ends')})(?:\u3002|$)"),
        re.compile(
            rf"(?:^|[\uff0c\uff1b\u3001,;])\s*(?:{_any_of('before_command')}){{0,4}}(?:{_any_of('inner_commands')})"
        ),
        {
            **{name: re.compile(_any_of(name)) for name in names},
            "continues": re.compile(rf"^\W*(?:{_any_of('continuing_starts')})"),
        },
    )


_LABEL: Final = re.compile(r"[^\W\d_][^\n:\uff1a?!,;(){}\[\]=<>\"]{0,30}[:\uff1a](?=\s|[^\x00-\x7f])")
_BULLET: Final = re.compile(
    r"[-*+\u2022\u00b7\u25e6\u2013\u30fb#>|]|\[[ xX]?\]|\(?[0-9a-zA-Z]{1,3}[.)\u3001]\s|\d+(?:\.\d+)+\s|[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]{1,3}[\u3001.]|[\u00a7\u2190-\u2bff\U0001f300-\U0001faff]"
)
_OPENING: Final = _FILE.table("opening")
_HEADERS: Final = frozenset(_OPENING.lines("labels"))
_OPENING_LINE: Final = re.compile("|".join(_OPENING.lines("lines")))
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][\"'\u201d\u2019\u00bb\u300d)\]]{0,4}$")
_STOPS: Final = frozenset(".!?\u2026\u3002\uff01\uff1f\u0964\u061f")
_QUESTION_MARKS: Final = frozenset("?\uff1f\u061f")
_CLOSING: Final = frozenset("\"'\u201d\u2019\u00bb\u300d)]")
_QUOTES: Final = '"\u201c\u201e\u00ab\u300c>|'
_VALUE: Final = re.compile(
    "(?<!^)[0-9]|\"[^\"]{1,80}\"|(?<!\\w)'[^']{1,80}'(?!\\w)|\u201c[^\u201d]{1,80}\u201d|\u300c[^\u300d]{1,80}\u300d"
)
_MARK_WORDS: Final = re.compile(r"\w+")
# Most sentences have none of these characters, and a search for a set of characters is fast.
_VALUE_START: Final = re.compile("[0-9\"'\u201c\u300c]")
_SYMBOLS: Final = rb"{}()<>[]=;_$\/@|~^&%"
_SYMBOL: Final = re.compile(f"[{re.escape(_SYMBOLS.decode())}]")
_CELL: Final = re.compile(r"[,;\t|](?=\S)")
_LONG: Final = 160
# Only this many characters and words of a sentence are searched for cues.
_SEARCHED: Final = 400
_COUNTED: Final = 80


def features(sentence: Sentence) -> tuple[int, Sequence[tuple[int, float]], str]:
    """Return the features of a sentence and its language; the context adds features.

    :returns: features that are 1 as a bit for each place, places and values of the others, and the language. The language is a script or, of Latin letters, a language; empty where that is not clear.
    """
    text, found = sentence.text[:_SEARCHED], sentence.words[:_COUNTED]
    flags, counts = _BASE, 0
    for flag, count in filter(None, map(_CUES.get, found)):
        flags |= flag
        counts += count
    if flags > _FEATURE_BITS:
        flags = _with_places(flags, found)
    if flags & _ASKS_YOU:
        flags &= ~_YOU_BIT
    start = 0
    if mark := _BULLET.match(text):
        flags |= BULLET
        start = mark.end()
    label = _LABEL.match(text, start) if ":" in text or "\uff1a" in text else None
    if label:
        flags |= LABEL
    if found:
        if found[0] in _CONTINUING:
            flags |= CONTINUES
        elif found[0] in _QUESTION_STARTS:
            flags |= _QUESTION_START
    flags |= _command(found[len(_MARK_WORDS.findall(text, 0, start)) :] if start else found)
    if (label and found and found[0] in _HEADERS and len(_MARK_WORDS.findall(label[0])) == 1) or _OPENING_LINE.match(
        text
    ):
        flags |= OPENS
    if sentence.is_indented:
        flags |= _INDENTED
    if label and _command(found[len(_MARK_WORDS.findall(text, 0, label.end())) :]):
        flags |= _BIT["label_command"]
    language = ""
    if text.isascii():
        if len(found) <= 2:
            flags |= _SHORT
    else:
        flags |= _other_cues(text, flags, start, label.end() if label else 0)
        language = next((name for name, pattern in _SCRIPTS if pattern.search(text)), "")
    language = language or _latin_language(counts)
    last = sentence.text[-1]
    if last in _CLOSING:
        end = sentence.text[-6:]
        ends, asks = _FULL_STOP.search(end) is not None, is_question(end)
    else:
        ends, asks = last in _STOPS, last in _QUESTION_MARKS
    if not ends:
        flags |= OPEN_END
    elif asks:
        flags |= _QUESTION
    if len(sentence.text) > _LONG:
        flags |= _LONG_BIT
    if text[0] in _QUOTES:
        flags |= _QUOTED
    if (first := _VALUE_START.search(text)) and _VALUE.search(text, first.start()):
        flags |= _VALUE_BIT
    if not flags & _ADDRESSED:
        flags |= STATEMENT
    values: Sequence[tuple[int, float]] = ()
    if text.isascii():  # deleting characters is faster than finding them
        symbols = len(text) - len(text.encode().translate(None, _SYMBOLS))
    else:
        symbols = len(_SYMBOL.findall(text))
    if symbols:
        values = ((SYMBOLS, min(1.0, 10 * symbols / len(text))),)
    if symbols or text.count(",") > 1 or "\t" in text:
        cells = len(_CELL.findall(text))
        if cells > 1:
            values = (*values, (_PLACE["cells"], min(1.0, cells / 5)))
    return flags, values, language


def _with_places(flags: int, found: Sequence[str]) -> int:
    """Return the flags of words with those that depend on where the words are."""
    if flags & _STARTS_PAIR and not _PAIRS.keys().isdisjoint(pairwise(found)):
        for pair in pairwise(found):
            flags |= _PAIRS.get(pair, 0)
    if flags & _ADDRESSES_AT_START and not _ADDRESSING_WORDS.isdisjoint(found[:2]):
        flags |= _ASKS_YOU
    if flags & _LETTER_AT_START and not _LETTER.isdisjoint(found[:3]):
        flags |= LETTER
    return flags & _FEATURE_BITS


def _other_cues(text: str, flags: int, start: int, labelled: int) -> int:
    """Return the cues of languages whose words are not separated or not folded here.

    :param start: where the text begins after a list mark.
    :param labelled: where it begins after a label; 0 without one.
    """
    found, unspaced = 0, _unspaced_cues()
    for name, pattern in unspaced.cues.items():
        if pattern.search(text):
            found |= _BIT[name]
    if not flags & _BIT["command"] and unspaced.command.search(text[start:]):
        found |= _BIT["command"]
    if unspaced.inner_command.search(text[start:]):
        found |= _BIT["inner_command"]
    if labelled and unspaced.command.search(text[labelled:]):
        found |= _BIT["label_command"]
    return found


ASKING: Final = sum(
    _BIT[name] for name in ("command", "please", "asks_you", "wish", "question", "inner_command", "question_start")
)
"""The bits of features of which each alone makes a sentence a request."""
(
    BASE, LABEL, BULLET, LETTER, OPEN_END, STATEMENT, OTHER_TONGUE, ONE_OF_TONGUES, UNRELATED, DULL, CONTINUES, TURN,
    OUTSIDE_TURNS, OPENS,
) = (
    _BIT[name]
    for name in (
        "base", "label", "bullet", "letter", "open_end", "statement", "other_tongue", "one_of_tongues", "unrelated", "dull",
        "continues", "turn", "outside_turns", "opens",
    )
)  # fmt: skip
_ASKS_YOU, _YOU_BIT, _SHORT, _QUESTION, _LONG_BIT, _QUOTED, _VALUE_BIT, _QUESTION_START, _INDENTED = (
    _BIT[name]
    for name in ("asks_you", "you", "short", "question", "long", "quoted", "value", "question_start", "indented")
)
SYMBOLS, REPEATED, RELEVANCE = (_PLACE[name] for name in ("symbols", "repeated", "relevance"))


def _command(found: Sequence[str]) -> int:
    for position, word in enumerate(found):
        # "Directly open the folder"
        if word not in _BEFORE_COMMAND and (position or not word.endswith("ly") or word in VERBS):
            if word in VERBS:
                after = found[position + 1] if position + 1 < len(found) else ""
                return _BIT["command" if after in OBJECT_STARTS else "maybe_command"]
            return _BIT["command"] if word.partition("-")[0] in _COMMANDS else 0
    return 0


# -- the language of a sentence ------------------------------------------------------------------------------

_SCRIPTS: Final = (
    ("kana", re.compile("[\u3040-\u30ff\uff66-\uff9f]")),
    ("han", re.compile("[\u3400-\u9fff]")),
    ("hangul", re.compile("[\uac00-\ud7af]")),
    ("thai", re.compile("[\u0e00-\u0e7f]")),
    ("arabic", re.compile("[\u0600-\u06ff]")),
    ("cyrillic", re.compile("[\u0400-\u04ff]")),
    ("greek", re.compile("[\u0370-\u03ff]")),
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("indic", re.compile("[\u0900-\u0dff]")),
)
# Counters of words of each language are packed into one number; a sentence has at most _COUNTED words.
_COUNTER: Final = 8
_MASK: Final = 255
_LANGUAGES: Final = _FILE.rows("languages")


@lru_cache(4_096)
def _latin_language(counts: int) -> str:
    """Return the language with most words, of counters that are packed into one number."""
    if not counts:
        return ""
    rows = sorted([(counts >> _COUNTER * place & _MASK, name) for place, name in enumerate(_LANGUAGES)], reverse=True)
    return rows[0][1] if rows[0][0] > rows[1][0] else ""


def _cue_table() -> dict[str, tuple[int, int]]:
    """Return the flags and language counters of every word that is a cue."""
    table: dict[str, tuple[int, int]] = {}

    def add(words: Iterable[str], flags: int, counts: int) -> None:
        for word in words:
            before = table.get(word, (0, 0))
            table[word] = (before[0] | flags, before[1] + counts)

    for name, words in _FLAGGED.items():
        add(words, _BIT[name], 0)
    add({first for first, _ in _PAIRS}, _STARTS_PAIR, 0)
    add(_ADDRESSING_WORDS, _ADDRESSES_AT_START, 0)
    add(_LETTER, _LETTER_AT_START, 0)
    for place, text in enumerate(_LANGUAGES.values()):
        add(text.split(), 0, 1 << _COUNTER * place)
    return table


_CUES: Final = _cue_table()
