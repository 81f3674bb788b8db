"""Seams by length of the overlap: how many characters a continuation repeats, in seven kinds of text.

The texts are split into two fixed parts: ``open`` ones, by which rules may be judged, and ``held out`` ones.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from benchmarks.continuation.habits import PREAMBLES

TEXTS = Path(__file__).parent / "texts"
LENGTHS = range(1, 21)
PARTS = ("open", "held out")
_CUTS = 12
_NAMES = {
    "open": "cedar maple willow aspen birch linden poplar alder hazel rowan elm spruce juniper".split(),
    "held out": "copper silver nickel cobalt carbon sulphur argon helium iodine radium zinc tin boron".split(),
}
_KEYS = {
    "open": ("name", "height", "planted", "notes", "rings"),
    "held out": ("label", "mass", "found", "remark", "samples"),
}


@attrs.frozen
class Document:
    """A complete response.

    :ivar part: ``open`` or ``held out``.
    :ivar kind: ``prose``, ``unspaced``, ``json``, ``code``, ``table``, ``list`` or ``numbers``.
    """

    part: str
    kind: str
    text: str


# -- documents --------------------------------------------------------------------------------------------------


def documents(part: str) -> Iterator[Document]:
    """Yield all documents of a part."""
    names = ("prose.txt", "mixed.txt") if part == "open" else ("seams.txt",)
    for paragraph in "\n\n".join((TEXTS / name).read_text(encoding="utf-8").strip() for name in names).split("\n\n"):
        yield Document(part, "unspaced" if re.search("[\u3040-\u30ff\u4e00-\u9fff]", paragraph) else "prose", paragraph)
    for kind, make in _MAKERS.items():
        for number in range(5):
            yield Document(part, kind, make(part, random.Random(f"{part}-{kind}-{number}")))


def _phrase(part: str, rng: random.Random, words: int) -> str:
    fillers, words_so_far = ("of", "the", "and", "near", "a", "with", "under", "from", "two", "old"), [""]
    for at in range(words):
        candidates = _NAMES[part] if at % 3 == 0 else fillers
        words_so_far.append(rng.choice([word for word in candidates if word != words_so_far[-1]]))
    return " ".join(words_so_far[1:])


def _record(part: str, number: int, rng: random.Random) -> dict[str, object]:
    name, size, year, notes, rings = _KEYS[part]
    return {
        "id": number,
        name: rng.choice(_NAMES[part]),
        size: round(rng.uniform(1, 90), rng.randint(1, 2)),
        year: f"{rng.randint(1890, 2020)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        notes: _phrase(part, rng, rng.randint(4, 9)),
        rings: [rng.randint(10, 400) for _ in range(rng.randint(2, 5))],
        "ok": rng.random() < 0.5,
        "parent": None if rng.random() < 0.3 else {"id": rng.randint(1, 99), "tags": rng.sample(_NAMES[part], 2)},
    }


def _json(part: str, rng: random.Random) -> str:
    rows = [_record(part, number, rng) for number in range(1, 12)]
    return json.dumps({"rows": rows, "total": len(rows)}, indent=rng.choice((None, 2, 4)))


def _code(part: str, rng: random.Random) -> str:
    text = (TEXTS / "code.py.txt").read_text(encoding="utf-8")
    if part == "open":
        start = rng.randrange(len(text) // 3)
        return text[text.find("\n", start) + 1 :]
    functions = []
    for number in range(8):
        first, second = rng.sample(_NAMES[part], 2)
        functions.append(
            f"function {first}{number}({second}, limit = {rng.randint(2, 99)}) {{\n"
            f"  const {first} = new Map();\n  for (const [key, value] of Object.entries({second})) {{\n"
            f"    if (value > limit && !{first}.has(key)) {{\n      {first}.set(key, `${{value}} {second}`);\n    }}\n  }}\n"
            f'  console.log("{first} has", {first}.size, "entries");\n  return {first};\n}}\n'
        )
    return "\n".join(functions)


def _table(part: str, rng: random.Random) -> str:
    name, size, year, *_ = _KEYS[part]
    lines = [f"| {name} | {size} | {year} | share |", "| --- | --: | --- | --: |"]
    for _ in range(16):
        place = " ".join(rng.sample(_NAMES[part], rng.randint(1, 2)))
        lines.append(f"| {place} | {rng.randint(2, 120)} | {rng.randint(1890, 2020)} | {rng.uniform(0, 60):.1f} % |")
    return "\n".join(lines) + "\n"


def _list(part: str, rng: random.Random) -> str:
    mark = rng.choice(("{}. ", "{}) ", "- ", "* ", "- [ ] "))
    lines = [f"{mark.format(at)}{_phrase(part, rng, rng.randint(3, 9)).capitalize()}" for at in range(1, 25)]
    return "\n".join(lines) + "\n"


def _numbers(_: str, rng: random.Random) -> str:
    if rng.random() < 0.5:
        step = rng.randint(1, 12)
        return ", ".join(str(7 + step * at) for at in range(80)) + "\n"
    separator = rng.choice((", ", ",", " ", "\n", ";"))
    return separator.join(str(rng.randint(10, 9_999)) for _ in range(90)) + "\n"


_MAKERS: dict[str, Callable[[str, random.Random], str]] = {
    "json": _json, "code": _code, "table": _table, "list": _list, "numbers": _numbers,
}  # fmt: skip
KINDS = ("prose", "unspaced", *_MAKERS)


# -- cases ------------------------------------------------------------------------------------------------------


@attrs.frozen
class Case:
    """A response in parts.

    :ivar label: the row of the table.
    :ivar first: the response up to its truncation.
    :ivar more: the continuations, in order.
    """

    document: Document
    label: str
    first: str
    more: tuple[str, ...]


def overlaps(part: str) -> Iterator[Case]:
    """Yield continuations that repeat 1 to 20 characters."""
    for at_document, document in enumerate(documents(part)):
        rng, text = random.Random(f"overlaps-{part}-{at_document}"), document.text
        for length in LENGTHS:
            for at in rng.sample(range(len(text) // 4, len(text) - 8), _CUTS):
                yield Case(document, str(length), text[:at], (text[at - length :],))


def exact(part: str) -> Iterator[Case]:
    """Yield exact continuations: at random places, and wherever the text repeats its last characters by itself."""
    for at_document, document in enumerate(documents(part)):
        rng, text = random.Random(f"exact-{part}-{at_document}"), document.text
        for at in rng.sample(range(len(text) // 4, len(text) - 8), 40):
            yield Case(document, "exactly, anywhere", text[:at], (text[at:],))
        for at in range(len(text) // 4, len(text) - 8):
            if any(text.startswith(text[at - size : at], at) for size in range(1, 13)):
                yield Case(document, "exactly, where characters repeat by themselves", text[:at], (text[at:],))


LEGITIMATE = (
    ("It was a very", " very long night, and no one slept."),
    ("She said that", " that was the reason for the delay."),
    ("By then he had", " had enough of the noise."),
    ("Demain nous", " nous levons avant le soleil."),
    ("Das sind die Leute, die", " die Brücke gebaut haben."),
    ("The palm bears coco", "nuts all the year round."),
    ("The drums go bum", "bum, and the crowd follows."),
    ("matrix = [[0, 0], [0, 0]]\nother = [", "[0, 1], [1, 0]]\n"),
    ('{"a": "", "b": "', '", "c": 1}'),
    ('{"rows": [[1, 2], [2, 2], [', "[3]]]}"),
    ("if (a &", "& b) {\n  run();\n}\n"),
    ("std:", ":vector<int> values;\n"),
    ("x = f(g(1)", ") + 2\n"),
    ("| a | b | c |\n|---|---|---|\n| 1 |", " | 3 |\n"),
    ("The code is 20", "20 and the gate opens."),
    ("Wait for it.", ".. and there it is."),
    ("1. one\n2. two\n1", "1. eleven\n"),
    ("Title\n==", "==\n\nText follows here."),
    ("def run():\n    ", "    nested = 1\n"),
    ("Call 555-", "5555 between nine and noon."),
)
"""Exact continuations of texts that repeat characters or words by themselves."""


def legitimate() -> Iterator[Case]:
    """Yield the exact continuations of ``LEGITIMATE``."""
    for first, more in LEGITIMATE:
        yield Case(Document("open", "legitimate", first + more), "exactly, doubled on purpose", first, (more,))


def changing(part: str) -> Iterator[Case]:
    """Yield responses in three parts: the second model has another habit of continuing than the first one."""
    for at_document, document in enumerate(documents(part)):
        rng, text = random.Random(f"changing-{part}-{at_document}"), document.text
        for label, habits in _CHANGES.items():
            for _ in range(_CUTS):
                first, second = sorted(rng.sample(range(len(text) // 4, len(text) - 8), 2))
                places, more = (first, second), []
                for number, habit in enumerate(habits):
                    end = second if number == 0 else len(text)
                    more.append(habit(text[: places[number]], text[places[number] : end], rng))
                yield Case(document, label, text[:first], tuple(more))


_Habit = Callable[[str, str, random.Random], str]


def _repeat(fewest: int, most: int) -> _Habit:
    return lambda answer, rest, rng: answer[-rng.randint(fewest, most) :] + rest


def _exactly(_: str, rest: str, __: random.Random) -> str:
    return rest


def _word_again(answer: str, rest: str, _: random.Random) -> str:
    """Start again at the last word of at least four characters."""
    words = list(re.finditer(r"\S{4,}", answer))
    return answer[words[-1].start() :] + rest if words else rest


def _line_announced(answer: str, rest: str, rng: random.Random) -> str:
    line = answer[answer.rfind("\n") + 1 :]
    return rng.choice(PREAMBLES) + line + rest if len(line) > 12 else rest


_CHANGES: dict[str, tuple[_Habit, _Habit]] = {
    "exactly, then 4 to 12 characters": (_exactly, _repeat(4, 12)),
    "4 to 12 characters, then exactly": (_repeat(4, 12), _exactly),
    "4 to 12 characters, then 4 to 12 others": (_repeat(4, 12), _repeat(4, 12)),
    "the last word, then 4 to 12 characters": (_word_again, _repeat(4, 12)),
    "4 to 12 characters, then announced, line again": (_repeat(4, 12), _line_announced),
    "1 to 3 characters, then exactly": (_repeat(1, 3), _exactly),
}
