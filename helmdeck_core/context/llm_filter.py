"""The filter call for an unsure selection: its question, the reading of its answer, and the merge with the ranking.

A filter call can only add entries and change their order. If it fails, the selection by rank is used.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core.context.catalog_digest import one_line
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.decode import Decoded
from helmdeck_core.domain.questions import SALVAGE, Answer, FilterCall, Question
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.errors import CallFailed, HelmdeckError

FILTER_TASK = "filter"
"""The task that the prompt variants of a filter call serve."""

FILTER_CALLER = "helmdeck.filter"

ANSWER_SCHEMA = {
    "type": "object",
    "properties": {
        "ids": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 20},
    },
    "required": ["ids"],
    "additionalProperties": False,
}
"""Closed and bounded, so that constrained decoding comes to an end."""


class FilterAnswer(msgspec.Struct):
    """The ids that a model named; values that are not strings are ignored."""

    ids: list[Any]


def filter_question(request: str, model: str) -> Question[FilterAnswer]:
    """Return the question which entries of the whole catalog a request needs."""
    return Question(
        caller=FILTER_CALLER,
        task=FILTER_TASK,
        type=FilterAnswer,
        request=request,
        model=model,
        lists_catalog=True,
        schema=ANSWER_SCHEMA,
        salvage=salvage,
    )


NAMED_NOTHING = "it named no entry of the catalog"


def _cause(error: HelmdeckError) -> str:
    """The cause of a failure, without text of a provider or model."""
    if not isinstance(error, CallFailed):
        return type(error).__name__
    return "/".join(filter(None, (error.failure_class.value, error.sub_cause)))


async def request_filter(
    ask: Callable[[Question[FilterAnswer]], Awaitable[Answer[FilterAnswer]]], request: str, model: str, catalog: Catalog
) -> FilterCall:
    """Make the filter call; a failure is part of the result."""
    start = time.perf_counter()
    try:
        answer = await ask(filter_question(request, model))
    except HelmdeckError as exc:
        return FilterCall(model=model, failure=str(exc), cause=_cause(exc), latency_s=time.perf_counter() - start)
    picks = known_ids(answer.value.ids, catalog)
    return FilterCall(
        model=model,
        picks=picks,
        failure="" if picks else NAMED_NOTHING,
        cause="" if picks else NAMED_NOTHING,
        usage=answer.usage,
        latency_s=answer.latency_s,
    )


def known_ids(named: Iterable[object], catalog: Catalog) -> tuple[str, ...]:
    """Return the ids that exist, each once, in the order in which they were named."""
    listed = {one_line(entry.id): entry.id for entry in catalog.entries}
    found = (listed.get(one_line(each)) for each in named if isinstance(each, str))
    return tuple(dict.fromkeys(entry_id for entry_id in found if entry_id is not None))


# -- reading -----------------------------------------------------------------------------------------------

_LIST = re.compile(r'["\']?ids["\']?\s*[:=]\s*\[')
_ELEMENT = re.compile(r'(?P<text>"(?:[^"\\]++|\\.)*+")|(?P<end>[\]"])|[^\]"]++', re.DOTALL)
"""A complete string, the end of the list (a bracket, or the quote of a truncated string), or anything between."""


def salvage(text: str) -> Decoded[FilterAnswer] | None:
    """Read the complete strings of a list that is bare, truncated or mixed.

    The decoder must not do this. Here it is safe: only ids that exist are used, and nothing is executed because of them.
    """
    named = _LIST.search(text)
    # A bare list must not be inside an object, which would be the answer to another question.
    start = named.end() if named else text.partition("{")[0].find("[") + 1
    if not start:
        return None
    ids = []
    while start < len(text) and (element := _ELEMENT.match(text, start)) and not element["end"]:
        if element["text"]:
            with contextlib.suppress(msgspec.DecodeError, UnicodeError):
                ids.append(msgspec.json.decode(element["text"]))
        start = element.end()
    return Decoded(FilterAnswer(ids), SALVAGE, (SALVAGE,)) if ids else None


# -- merging -----------------------------------------------------------------------------------------------


def preferring(ranking: Ranking, survivors: Sequence[int], picks: Sequence[int]) -> Ranking:
    """Return the ranking that a selection is fitted to after a filter call.

    Entries on which both agree come first. Then new picks and other survivors alternate, so that neither a model that names
    too many entries nor an unsure ranking takes all the room. The rest keeps its order.
    """
    agreed = [index for index in survivors if index in set(picks)]
    others = [index for index in survivors if index not in set(picks)]
    new = [index for index in picks if index not in set(survivors)]
    turns = [index for pair in zip(new, others, strict=False) for index in pair]
    head = [*agreed, *turns, *new[len(others) :], *others[len(new) :]]
    by_index = {score.index: score for score in ranking.scores}
    rest = [score.index for score in ranking.scores if score.index not in set(head)]
    # An entry gets the score of its new position. An entry that the model named does not get a score of 0.
    floor = min((score.score for score in ranking.scores if score.score > 0), default=1.0)
    places = [score.score or (floor if place < len(head) else 0.0) for place, score in enumerate(ranking.scores)]
    scores = tuple(
        attrs.evolve(by_index[index], score=score) for index, score in zip([*head, *rest], places, strict=True)
    )
    return attrs.evolve(ranking, scores=scores)
