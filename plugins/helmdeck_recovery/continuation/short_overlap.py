"""Decides whether a short overlap, of less than a dozen characters, is a repetition where no structure of the text decides it.

How often texts repeat characters by themselves was counted in six million characters of documentation and source code: three
letters inside a word, or one word twice, occur less than 20 times per million characters; two letters inside a word 200 times;
"his is" and the like 200 times. Models repeat much more often, so only the frequent kinds need more evidence: words that
occur elsewhere in the text with one of the two joins.
"""

from __future__ import annotations

import re

from helmdeck_recovery.continuation.structure import Ending

_CERTAIN = 4
"""Characters from which an overlap is a repetition unless something else explains it."""
_FEWEST = 3
_NAME_END, _NAME = re.compile(r"\w+\Z"), re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_UNSPACED_SCRIPTS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LINE_MARKER = re.compile(r"[ \t]*(?:[-*+]|#{1,6}|\d+[.)])[ \t]+")
_PAUSE = re.compile(r"[,;:.!?،؛。、，；！？]\s+")
_STOPS = ",،、，。；;"
"""Marks that are never doubled in prose."""
_TRIVIAL = re.compile(r"(?:[\s,;|]*(?:\d|true|false|null|none|nil)\b)+[\s,;|]*", re.IGNORECASE)
"""Items that often occur twice in a row."""
_ALNUMS = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_INNER_MARKS = ".:'’-"
"""Marks inside words and numbers."""
_INNER_START = re.compile(rf"[{_INNER_MARKS}]?[^\W_]")
_DOUBLED_WORD = re.compile(r"\b([^\W\d_]+)[ \t]+\1\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_ITEM = re.compile(r"[ \t]*([-*+|>]|\d+[.)])")
_INDENTS = re.compile(r"\s{2,}")
_SPACES = re.compile(r"\S {2,}\S")
_BREAKS = re.compile(r"\n{2,}")
_BLANK_LINE = re.compile(r"\n[ \t]+\n")
_ONE_LETTER_WORDS = frozenset("aeiouyàáâèéêìíòóùúkswvzаиоуяквсіў")

_DOUBLE_WORDS = frozenset(
    """very had that so no ha ho la bye sehr die der das sie ja nous vous très non oui muy que sí não muito molto piano
    очень да нет чуть""".split()
)
"""Words that are doubled on purpose or by grammar: "a very, very long night" without its comma, "had had", "nous nous levons"."""


def is_short_restart(ending: Ending, rest: str, size: int) -> bool:
    """Whether a short overlap is a repetition of the model and not of the text.

    :param rest: the continuation, which starts with the overlap.
    """
    answer, repeated = ending.text, rest[:size]
    before = answer[-size - 1 : -size]
    if before in ("", "\n") and _LINE_MARKER.fullmatch(repeated):
        return repeated * 2 not in ending.recent and not rest[size : size + 1].isspace()
    if repeated.isspace():
        return _is_repeated_space(ending, rest, size)
    if not any(map(str.isalnum, repeated)):
        return _is_repeated_mark(ending, rest, size)
    if size > 1 and repeated[0] == answer[-1] == " " and not _SPACES.search(ending.recent):
        return True
    if _UNSPACED_SCRIPTS.search(repeated):
        return size >= _CERTAIN
    if answer[-1].isalnum() and repeated[0].isalnum():
        return _is_fused_restart(ending, rest, size)
    return _is_separate_restart(ending, rest, size)


def is_doubled_word(ending: Ending, rest: str, size: int) -> bool:
    """Whether an overlap is one whole word, in the answer and in the continuation."""
    repeated = rest[:size]
    if not repeated.strip().isalnum():
        return False
    is_inside = repeated[0].isalnum() and ending.text[-size - 1 : -size].isalnum()
    return not (is_inside or (repeated[-1].isalnum() and rest[size : size + 1].isalnum()))


def may_double(ending: Ending, word: str) -> bool:
    """Whether a word may be doubled on purpose: a usual one, or any word in a text that doubles words."""
    return word.casefold() in _DOUBLE_WORDS or _DOUBLED_WORD.search(ending.recent[-3_000:]) is not None


def _is_fused_restart(ending: Ending, rest: str, size: int) -> bool:
    """Decide about "harb" + "bour", where both joins form one word or number."""
    answer, repeated = ending.text, rest[:size]
    begun, following = _NAME_END.search(answer[-64:]), _NAME.match(rest[:64])
    if (
        begun is None or following is None or not (begun.group() + following.group()).isalpha()
    ):  # a number, an identifier
        if repeated.isdigit() and begun is not None and begun.group() == repeated and size > 1:
            return size >= _FEWEST or _is_too_long(ending, 2 * size)
        # The indentation between numbers is no evidence.
        return len(_INDENTS.sub("", repeated)) >= _CERTAIN or (size == _FEWEST and repeated.isdigit())
    known = ending.words | set(_word_list(rest[following.end() :]))
    kept = (begun.group() + following.group()).casefold()
    if kept in known and (repeated.isalpha() or size < _CERTAIN):
        return False  # "coco" + "conut" in a text about coconuts
    if not repeated.isalpha():
        return size >= _CERTAIN or (size == _FEWEST and " " in repeated and not any(map(str.isdigit, repeated)))
    without = (begun.group() + following.group()[size:]).casefold()
    is_whole_start = len(begun.group()) == size
    if size >= _FEWEST or (size == 2 and is_whole_start):
        return True
    if is_whole_start:
        return without in known
    return without in known and len(without) >= _CERTAIN + (size == 1)


def _is_too_long(ending: Ending, digits: int) -> bool:
    """Whether all other numbers of the text have fewer digits."""
    sizes = [len(number) for number in _DIGITS.findall(ending.recent)][:-1]
    return len(sizes) > 1 and max(sizes) < digits


def _is_separate_restart(ending: Ending, rest: str, size: int) -> bool:
    """Decide about " mirror" + " mirror", "49, " + "49, ", and parts of words with a space or a mark."""
    answer, repeated = ending.text, rest[:size]
    values = _ALNUMS.findall(repeated)
    before, after = answer[-size - 1 : -size], rest[size : size + 1]
    cuts_start = before.isalnum() and _INNER_START.match(repeated) is not None
    if before and before in _INNER_MARKS:
        cuts_start = answer[-size - 2 : -size - 1].isalnum() and repeated[0].isalnum()
    cuts_end = after.isalnum() and repeated[-1].isalnum()
    if not (cuts_start or cuts_end):
        if _TRIVIAL.fullmatch(repeated) or ending.doubles_items:
            return False
        if is_doubled_word(ending, rest, size):
            return not may_double(ending, values[0])
        if len(values) == 1 and len(values[0]) > 1:  # a whole item: "49," + "49, 50"
            return True
    if size >= _CERTAIN:
        return True
    if any(map(str.isdigit, repeated)):
        return False
    if cuts_start:  # "this " + "is "
        return size == 2 and values[0].casefold() not in _ONE_LETTER_WORDS
    if not (repeated[0].isspace() or _PAUSE.match(repeated)):
        return False
    word = values[-1].casefold()
    return not (word in ending.words or word in _ONE_LETTER_WORDS) if cuts_end else size == _FEWEST or word.isalpha()


def _is_repeated_mark(ending: Ending, rest: str, size: int) -> bool:
    """Decide about punctuation without letters and digits."""
    repeated, line = rest[:size], ending.last_line
    if line.strip() == repeated.strip() and size < _CERTAIN:
        starts = [text.lstrip()[:2] for text in ending.recent.splitlines()[:-1]]
        with_mark, without = (line + rest).lstrip()[:2], (line + rest[size:]).lstrip()[:2]
        return with_mark not in starts and starts.count(without) >= 2
    if repeated * 2 in ending.recent:
        return False
    if size == 1:
        return (
            repeated in _STOPS
            and (rest[1:2].isspace() or not repeated.isascii())
            and repeated + rest[1:2] in ending.recent
        )
    if _PAUSE.fullmatch(repeated):
        return True
    if size < _CERTAIN:
        return False
    start = repeated.lstrip()
    if "\n" in start and not line.strip() and start[0] not in "])}":  # it would begin a line
        return not any(each.lstrip().startswith(start[:2]) for each in ending.recent.splitlines())
    return not ending.flows_into(repeated)


def _is_repeated_space(ending: Ending, rest: str, size: int) -> bool:
    """Decide about whitespace: it is doubled only in texts that have such whitespace elsewhere."""
    repeated, following = rest[:size], rest[size : size + 1]
    if not following:
        return False
    if "\n" not in repeated:
        is_inside_line = bool(ending.last_line.strip()) and following.isalnum()
        return (
            size == 1 and is_inside_line and ending.recent.count(" ") > _CERTAIN and not _SPACES.search(ending.recent)
        )
    if repeated.strip("\n"):
        return repeated[0] == "\n" != following and not _BLANK_LINE.search(ending.recent)
    items = [_ITEM.match(line) for line in (*ending.text[-3_000:].splitlines()[-2:], rest[size:])]
    if size == 1 and all(items) and ending.text[-1] == "\n":  # a blank line between the items of a list
        return True
    breaks = len(ending.text) - len(ending.text.rstrip("\n")) + size
    runs = [len(run) for run in _BREAKS.findall(ending.text[:-size].rstrip("\n")[-3_000:])]
    return breaks > 2 and not following.isspace() and runs.count(breaks - size) >= _FEWEST and max(runs) < breaks


def _word_list(text: str) -> list[str]:
    return _LETTERS.findall(text[:400].casefold())
