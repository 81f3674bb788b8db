"""Finds the part of a request that the next step is for, and the candidates for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_core import PIPELINE_RUN, ChoiceTask, Entry, Ranking, Score
from helmdeck_language import read

PART_CONFIDENCE: Final = 0.5
"""Confidence from which a clause of a request is a step of its own. At 0.4, a second sentence that only explains the first one became a
step of its own in 4 % of 1,344 requests for one tool, at 0.5 in 2 %."""

MAX_CLAUSES: Final = 12

NUMBER_WORDS: Final = frozenset(
    "half one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million".split()
)
"""A number says how many, not what: of the requests examined, three match their best entry by numbers alone, and none of these is right."""

WEAK_FIELD: Final = "description"
"""A single word of the description is a weak match: in 30 % of 69 requests, the entry is the right one."""

DESCRIPTION_CHARS: Final = 160
"""Characters of the description of a candidate; each token of it is read for every request."""

_FIRST_PERSON: Final = re.compile(r"(?i)(?:i|we)(?:['’](?:m|re|ve)| am| are| have| had| was| were)\b")


@attrs.frozen
class Candidate:
    """An entry that may be chosen, and the score of the ranker.

    :ivar is_weak: whether it matches by one word of its description alone.
    """

    entry: Entry
    score: float
    is_weak: bool = False


@attrs.frozen
class Part:
    """What the next step is for.

    :ivar text: the words of the part; the whole request if it has one part.
    :ivar has_more: whether other parts are left.
    """

    text: str
    ranking: Ranking
    has_more: bool


def next_part(task: ChoiceTask) -> Part | None:
    """Return the first part of a request that is not done; ``None`` if all are."""
    parts = _parts(task)
    done = [step.tool for step in task.done if not step.failure]
    left: list[tuple[str, Ranking]] = []
    for text, ranking in parts:
        names = _tools(task, ranking)
        executed = next((tool for tool in done if tool in names), None)
        if executed is None:
            left.append((text, ranking))
        else:
            done.remove(executed)
    # What is left of the executed steps ran another entry than the ranker's first one, for the first parts.
    left = left[len(done) :]
    if not left:
        return None
    return Part(*left[0], has_more=len(left) > 1)


def candidates(task: ChoiceTask, part: Part, count: int) -> Sequence[Candidate]:
    """Return the ranker's best entries for a part, at most ``count``; those that match by numbers alone are left out."""
    entries = task.catalog.entries
    scores = part.ranking.scores[: len(part.ranking.leading(count))]
    return [Candidate(entries[each.index], each.score, _is_weak(each)) for each in scores if not _is_by_number(each)]


def leading(task: ChoiceTask, part: Part, count: int) -> Sequence[Entry]:
    """Return the first ``count`` entries of the ranking of a part, also those that do not match: a model may know better."""
    return [task.catalog.entries[index] for index in part.ranking.order[:count]]


def described(entry: Entry) -> str:
    """Return id and description of an entry on one line, as models are shown candidates."""
    return f"{entry.id}: {' '.join(entry.description.split())[:DESCRIPTION_CHARS]}"


def _is_by_number(score: Score) -> bool:
    words = [word for _, word in _matches(score)]
    return bool(words) and all(word in NUMBER_WORDS or word.isdigit() for word in words)


def _is_weak(score: Score) -> bool:
    return [field for field, _ in _matches(score)] == [WEAK_FIELD]


def _matches(score: Score) -> list[tuple[str, str]]:
    """The fields and words that match; labels such as "same server" have no field."""
    return [(field, word) for field, colon, word in (match.partition(":") for match in score.matched) if colon]


def _parts(task: ChoiceTask) -> list[tuple[str, Ranking]]:
    """The clauses with a clear best entry each, if there are several and one of them is the best for the whole request."""
    whole = task.ranking
    found: dict[int, tuple[str, Ranking]] = {}
    for text in _requested(task.request) if len(whole.clauses) > 1 else ():
        ranking = task.rank(text)
        if ranking.leading(1) and ranking.is_confident(PART_CONFIDENCE):
            found.setdefault(ranking.leading(1)[0][0], (text, ranking))
    best = [index for index, _ in whole.leading(1)]
    return list(found.values()) if len(found) > 1 and found.keys() & {*best} else [(task.request, whole)]


def _requested(request: str) -> Sequence[str]:
    """The clauses that request an action; others describe a situation, as in "I am working on a book. Can you ...?"."""
    clauses = [clause for clause in read(request).clauses if clause.is_request]
    told = [clause for clause in clauses if _FIRST_PERSON.match(clause.text)]
    return [clause.text for clause in clauses if clause not in told][:MAX_CLAUSES]


def _tools(task: ChoiceTask, ranking: Ranking) -> tuple[str, ...]:
    """The tool names that an executed step of a part can have."""
    entries = task.catalog.entries
    return (*(entries[index].id for index, _ in ranking.leading(1)), PIPELINE_RUN)
