"""Extracts of a text without a model: sentences are copied, never written."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

MAX_SENTENCES: Final = 2_000
_MIN_WORD_CHARS: Final = 4
_END = re.compile(r"(?<=[.!?。！？…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\s\da-z])|(?<=[。！？])")
_INITIAL = re.compile(r"[A-ZÀ-ÖØ-Þ]\.")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FIRST_BONUS: Final = 0.2


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order; a line break between paragraphs ends one.

    >>> from helmdeck_runs import sentences
    >>> sentences("The tide turns at nine. The harbour opens then.")
    ['The tide turns at nine.', 'The harbour opens then.']
    """
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[-*#•]|\S+:)|(?<=[.!?])\n", text):
        clean = " ".join(paragraph.split()).lstrip("#*-• ")
        found += _joined(part.strip() for part in _END.split(clean) if part.strip())
        if len(found) > MAX_SENTENCES:
            break
    return found[:MAX_SENTENCES]


def _joined(parts: Iterable[str]) -> list[str]:
    """Join parts that end with an abbreviation or an initial to the next one."""
    found: list[str] = []
    pieces: list[str] = []  # of the sentence that has not ended
    before = ""
    for part in parts:
        words = part.split()
        is_inside = _ends_inside(words[-2] if len(words) > 1 else before, words[-1])
        pieces.append(part)
        before = words[-1]
        if not is_inside:
            found.append(" ".join(pieces))
            pieces, before = [], ""
    return [*found, " ".join(pieces)] if pieces else found


def _ends_inside(before: str, last: str) -> bool:
    """Whether a sentence continues behind a word.

    :param before: the word before the last one; empty where a sentence begins.
    """
    last = last.lstrip("\"'“‘([")
    # "George W. Bush", but not "plan B. Then".
    is_initial = _INITIAL.fullmatch(last) is not None and (not before or before[0].isupper())
    return is_initial or last.lower() in _abbreviations()


@cache
def _abbreviations() -> frozenset[str]:
    text = (files("helmdeck_runs.packs") / "abbreviations.toml").read_text(encoding="utf-8")
    return frozenset(word for words in tomllib.loads(text).values() for word in words)


def title_of(text: str) -> str:
    """Return a heading for a text: its first line if that is short and no sentence, else its first words.

    >>> from helmdeck_runs import title_of
    >>> title_of("Tides of the harbour" + chr(10) + "The tide turns at nine.")
    'Tides of the harbour'
    """
    first = next((line.strip().lstrip("#").strip() for line in text.splitlines() if line.strip()), "")
    words = first.split()
    return first if len(words) <= 16 and len(first) <= 120 else " ".join(words[:10]) + " …"


def best_sentences(found: Sequence[str], count: int, focus: str = "") -> list[str]:
    """Return the sentences whose words occur most often in the text, in their order.

    :param focus: words that count more.

    >>> from helmdeck_runs import best_sentences
    >>> best_sentences(["The tide turns at nine.", "Lunch was good.", "After nine, the tide falls."], 2)
    ['The tide turns at nine.', 'After nine, the tide falls.']
    """
    texts = [[word.lower() for word in _WORD.findall(sentence)] for sentence in found]
    frequency = Counter(word for words in texts for word in set(words) if len(word) >= _MIN_WORD_CHARS)
    wanted = {word.lower() for word in _WORD.findall(focus)}
    scores: list[float] = []
    for place, words in enumerate(texts):
        known = [word for word in words if len(word) >= _MIN_WORD_CHARS]
        # Divided by the root of the length: long sentences would win otherwise, or very short ones without it.
        score = sum(frequency[word] for word in known) / (len(known) ** 0.5 or 1)
        score += len(found) * sum(word in wanted for word in words)
        scores.append(score * (1 + _FIRST_BONUS if place == 0 else 1))
    best = sorted(range(len(found)), key=lambda place: -scores[place])[:count]
    return [found[place] for place in sorted(best)]


def new_numbers(text: str, source: str) -> list[str]:
    """Return the numbers of a text that its source does not contain."""
    known = set(_NUMBER.findall(source))
    return list(dict.fromkeys(number for number in _NUMBER.findall(text) if number not in known))
