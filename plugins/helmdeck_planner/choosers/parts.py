"""Finds the part of a request that the next step is for, and the candidates for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs

from helmdeck_core import PIPELINE_RUN, Choice, ChoiceTask, Entry, Ranking, Score

if TYPE_CHECKING:
    from helmdeck_planner.choosers.reading import Reading

PART_CONFIDENCE: Final = 0.5
"""Confidence from which a clause of a request is a step of its own. At 0.4, a second sentence that only explains the first one became a
step of its own in 4 % of 1,344 requests for one tool, at 0.5 in 2 %."""

BESIDE_CONFIDENCE: Final = 0.3
"""The same for a clause beside another one that the embedded planner relates to an entry."""

MAX_CLAUSES: Final = 12

WEAK_FIELD: Final = "description"
"""A single word of the description is a weak match: in 30 % of 69 requests, the entry is the right one."""

HISTORY_FIELD: Final = "history"
"""The field of a match that the history contributes."""

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
    :ivar read: the reading of the embedded planner, where it settles the choice.
    :ivar is_gap: whether nothing fits the part.
    """

    text: str
    ranking: Ranking
    has_more: bool = False
    read: Reading | None = None
    is_gap: bool = False


async def next_part(task: ChoiceTask) -> Part | None:
    """Return the first part of a request that is not done; ``None`` if all are."""
    done = [step.tool for step in task.done if not step.failure]
    left: list[Part] = []
    for part in await _parts(task):
        names = _tools(task, part)
        executed = next((tool for tool in done if tool in names), None)
        if executed is None:
            left.append(part)
        else:
            done.remove(executed)
    # What is left of the executed steps ran another entry than the expected one, for the first parts.
    left = left[len(done) :]
    return attrs.evolve(left[0], has_more=len(left) > 1) if left else None


def read_choice(part: Part) -> Choice | None:
    """The choice that the embedded planner alone makes: an entry that it is sure of, or none; ``None`` if others choose."""
    if part.is_gap:
        return gap(part)
    if part.read is None:
        return None
    return Choice(
        entry_id=part.read.entry_id,
        probabilities={part.read.entry_id: part.read.probability},
        part=part.text,
        has_more=part.has_more,
        reason="matched by words and inputs, as local/lexical does",
    )


def gap(part: Part) -> Choice:
    """The choice for a part that nothing fits."""
    return Choice(part=part.text, has_more=part.has_more, is_sure=False, reason="no entry fits this part")


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
    """Whether an entry matches by numbers alone: of three such requests that were examined, none is right."""
    from helmdeck_planner.embedded.request.word_lists import word_list

    words = [word for _, word in _matches(score)]
    return bool(words) and all(word in word_list("number_words") or word.isdigit() for word in words)


def _is_weak(score: Score) -> bool:
    return [field for field, _ in _matches(score)] == [WEAK_FIELD]


def _matches(score: Score) -> list[tuple[str, str]]:
    """The fields and words that match; labels such as "same server" have no field."""
    return [(field, word) for field, colon, word in (match.partition(":") for match in score.matched) if colon]


async def _parts(task: ChoiceTask) -> Sequence[Part]:
    from helmdeck_planner.choosers.reading import read_parts  # most decks choose without a chooser

    read = await read_parts(task.request, task.catalog)
    match read:
        case [one] if one.is_evident:
            return [Part(one.text, task.ranking, read=one)]
        case [_, _, *_] if any(each.entry_id for each in read):
            return _read(task, read)
        case _:
            return _ranked(task)


def _read(task: ChoiceTask, read: Sequence[Reading]) -> Sequence[Part]:
    """The parts of a reading; those that nothing fits are last, since they hold no other step up."""
    fitting, gaps = list[Part](), list[Part]()
    for each in read:
        part = Part(each.text, task.rank(each.text), read=each if each.entry_id else None)
        if part.read or _fits(part.ranking):
            fitting.append(part)
        else:
            gaps.append(attrs.evolve(part, is_gap=True))
    return [*fitting, *gaps]


def _fits(ranking: Ranking) -> bool:
    """Whether the first entry fits a part of a request: what was planned before for the whole of it does not show that."""
    first = ranking.scores[0] if ranking.leading(1) else None
    is_known_alone = first is not None and {field for field, _ in _matches(first)} == {HISTORY_FIELD}
    return first is not None and not is_known_alone and ranking.is_confident(BESIDE_CONFIDENCE)


def _ranked(task: ChoiceTask) -> Sequence[Part]:
    """The clauses with a clear best entry each, if there are several and one of them is the best for the whole request."""
    whole = task.ranking
    found: dict[int, Part] = {}
    for text in _requested(task.request) if len(whole.clauses) > 1 else ():
        ranking = task.rank(text)
        if ranking.leading(1) and ranking.is_confident(PART_CONFIDENCE):
            found.setdefault(ranking.leading(1)[0][0], Part(text, ranking))
    best = [index for index, _ in whole.leading(1)]
    is_split = len(found) > 1 and bool(found.keys() & {*best})
    return list(found.values()) if is_split else [Part(task.request, whole)]


def _requested(request: str) -> Sequence[str]:
    """The clauses that request an action; others describe a situation, as in "I am working on a book. Can you ...?"."""
    from helmdeck_language import read

    clauses = [clause for clause in read(request).clauses if clause.is_request]
    told = [clause for clause in clauses if _FIRST_PERSON.match(clause.text)]
    return [clause.text for clause in clauses if clause not in told][:MAX_CLAUSES]


def _tools(task: ChoiceTask, part: Part) -> tuple[str, ...]:
    """The tool names that an executed step of a part can have."""
    entries = task.catalog.entries
    expected = [part.read.entry_id] if part.read else []
    return (*expected, *(entries[index].id for index, _ in part.ranking.leading(1)), PIPELINE_RUN)
