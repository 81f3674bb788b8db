"""Simulated continuations of truncated responses: eight habits of models."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

import attrs

from benchmarks.continuation.payloads import Payload

OVERLAPS = (1, 2, 3, 4, 6, 9, 15, 40, 150, 600)
PREAMBLES = (
    "Sure, continuing from where I left off:\n\n",
    "Continuing:\n",
    "Certainly! Here is the rest of the answer:\n\n",
    "Apologies for the cut-off. I will continue exactly where it stopped.\n\n",
    "(continued)\n",
    "**Continued from the previous message:**\n\n",
    "Let me pick up where I left off...\n\n",
    "Natürlich, hier geht es weiter:\n\n",
    "Okay, resuming.\n",
)


@attrs.frozen
class Cut:
    """A truncated response and one continuation.

    :ivar more: text of the continuation.
    :ivar is_unique: the correct merge is unambiguous; otherwise a merge only must not lose text.
    """

    payload: Payload
    place: str
    at: int
    habit: str
    more: str
    is_unique: bool

    @property
    def answer(self) -> str:
        """The text up to the truncation."""
        return self.payload.text[: self.at]


# -- truncation points ------------------------------------------------------------------------------------------

_PLACES: dict[str, str] = {
    "inside a word": r"(?<=[^\W\d_]{2})(?=[^\W\d_]{2})",
    "after one letter": r"(?<=\b[^\W\d_])(?=[^\W\d_]{2})",
    "after a word": r"(?<=\w)(?=[ ,.;:])",
    "after a space": r"(?<= )(?=\S)",
    "after a sentence": r"(?<=[.!?。])(?=\s)",
    "after a line": r"(?<=\n)(?=.)",
    "before a line's end": r"(?<=\S)(?=\n)",
    "inside a number": r"(?<=\d)(?=\d)",
    "next to punctuation": r"(?<=[|`\"{}\[\](),:])(?=[|`\"{}\[\](),: ])",
    "inside indentation": r"(?<=\n  )(?= )",
}


def places(payload: Payload, each: int, rng: random.Random) -> Iterator[tuple[str, int]]:
    """Yield up to ``each`` truncation points of every kind, and as many at random."""
    text = payload.text
    for name, pattern in _PLACES.items():
        found = [match.start() for match in re.finditer(pattern, text) if 20 < match.start() < len(text) - 20]
        yield from ((name, at) for at in rng.sample(found, min(each, len(found))))
    yield from (("anywhere", rng.randrange(20, len(text) - 20)) for _ in range(each))


# -- continuations ------------------------------------------------------------------------------------------------


def cuts(payload: Payload, each: int = 6) -> Iterator[Cut]:
    """Yield every habit at every truncation point."""
    rng = random.Random(f"cuts-{payload.kind}-{payload.size}")
    for place, at in places(payload, each, rng):
        for habit, continue_text in HABITS.items():
            for more, is_unique in continue_text(payload.text[:at], payload.text[at:], rng):
                yield Cut(payload, place, at, habit, more, is_unique)


Continued = Iterator[tuple[str, bool]]


def _exact(_: str, rest: str, __: random.Random) -> Continued:
    yield rest, True


def _overlap(answer: str, rest: str, rng: random.Random) -> Continued:
    size = rng.choice(OVERLAPS)
    if size < len(answer):
        yield answer[-size:] + rest, size >= 4 and is_certain_repetition(answer, answer[-size:])


def _from_word(answer: str, rest: str, _: random.Random) -> Continued:
    prefix = re.search(r"[\w'’-]+\Z", answer)
    if prefix:
        word = prefix.group()
        yield word + rest, word.isalpha() and len(word) >= 2 and is_certain_repetition(answer, word, fewest=2)


def _from_line(answer: str, rest: str, _: random.Random) -> Continued:
    line = answer[answer.rfind("\n") + 1 :]
    if line.strip():
        yield line + rest, is_certain_repetition(answer, line)


def _from_block(answer: str, rest: str, _: random.Random) -> Continued:
    block = answer[answer.rfind("\n\n") + 2 if "\n\n" in answer else 0 :]
    if block.strip() and not block.endswith("\n"):
        yield block + rest, is_certain_repetition(answer, block)


def _from_start(answer: str, rest: str, _: random.Random) -> Continued:
    yield answer + rest, is_certain_repetition(answer, answer)


def _announced(answer: str, rest: str, rng: random.Random) -> Continued:
    preamble = rng.choice(PREAMBLES)
    line = answer[answer.rfind("\n") + 1 :]
    is_at_line = not line.strip()
    yield preamble + rest, not rest[:1].isspace()
    if not is_at_line:
        yield preamble + line + rest, is_certain_repetition(answer, line)
    if (language := fence_of(answer)) is not None and language:
        yield f"{preamble}```{language}\n{rest}", True


def _reshaped(answer: str, rest: str, rng: random.Random) -> Continued:
    """Change whitespace: a line break at the seam, other indentation, doubled spaces."""
    line = answer[answer.rfind("\n") + 1 :]
    is_inside_word = answer[-1].isalpha() and rest[:1].isalpha() and answer[-2:].islower() and rest[:1].islower()
    is_prose = len(line.split()) > 9 and not re.search(r"[(){}=_\[\]]", line[-60:])
    flows = fence_of(answer) is None and len(line) > 60 and is_prose and not re.match(r"\s*(?:[-*>|#]|\d+\.)", line)
    if is_inside_word:
        yield "\n" + rest, flows and _is_no_word(answer, rest)
    if len(re.findall(r"\w+", line)) >= 3:
        changed = rng.choice(
            ("  " + line, line.strip(), re.sub(" ", "  ", line), re.sub(" ", "\n", line.strip(), count=1))
        )
        yield (
            changed + rest,
            changed != line and is_certain_repetition(answer, line, fewest=10) and not answer[-1].isspace(),
        )


HABITS: dict[str, Callable[[str, str, random.Random], Continued]] = {
    "exact": _exact,
    "overlap": _overlap,
    "word again": _from_word,
    "line again": _from_line,
    "block again": _from_block,
    "all again": _from_start,
    "announcement": _announced,
    "white space": _reshaped,
}


# -- unambiguous cases -------------------------------------------------------------------------------------------------


def is_certain_repetition(answer: str, repeated: str, fewest: int = 3) -> bool:
    """Whether a repetition is certainly one: it contains letters, and the text never contains it twice in a row."""
    if sum(map(str.isalnum, repeated)) < fewest:
        return False
    if re.search("[\u3040-\u30ff\u3400-\u9fff]", repeated) and len(repeated) < 6:
        return False
    if repeated.endswith("\n") and repeated.count("\n") == 1:
        return False  # a complete line: either a refrain or a repetition
    if re.fullmatch(r"\s*[^\W_]+\s*", repeated) and (repeated[0].isspace() or repeated[-1].isspace()):
        return False  # a single word may be doubled in the text
    return len(repeated) > 200 or (repeated + repeated not in answer and not _is_periodic(repeated))


def _is_periodic(text: str) -> bool:
    return any(text[size:] == text[:-size] for size in range(1, len(text) // 2 + 1))


def _is_no_word(answer: str, rest: str) -> bool:
    prefix = re.search(r"[^\W\d_]+\Z", answer)
    following = re.match(r"[^\W\d_]+", rest)
    if prefix is None or following is None:
        return False
    known = set(re.findall(r"[^\W\d_]+", answer[: prefix.start()] + " " + rest[following.end() :]))
    return prefix.group() + following.group() in known or not known & {prefix.group(), following.group()}


def fence_of(answer: str) -> str | None:
    """Return the language of the code fence that is open at the end; ``None`` outside fences."""
    language = None
    for match in re.finditer(r"^```(\w*)\s*$", answer, flags=re.MULTILINE):
        language = match[1] if language is None else None
    return language
