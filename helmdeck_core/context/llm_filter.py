"""The second opinion on an unsure selection: what is asked, how the answer is read, how both are merged.

A filter call can only add to what the ranking chose and change its order. Whatever goes wrong with it, the selection by
rank stands.
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
from helmdeck_core.domain.questions import Answer, FilterCall, Question
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
    """The ids that a model named; what is no text among them is passed over."""

    ids: list[Any]


def filter_question(request: str, model: str) -> Question[FilterAnswer]:
    """Ask a model which entries of the whole catalog a request needs."""
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
    """Why a call failed, without a word of a provider's or a model's."""
    if not isinstance(error, CallFailed):
        return type(error).__name__
    return "/".join(filter(None, (error.failure_class.value, error.sub_cause)))


async def request_filter(
    ask: Callable[[Question[FilterAnswer]], Awaitable[Answer[FilterAnswer]]], request: str, model: str, catalog: Catalog
) -> FilterCall:
    """Make the filter call; a failure of any kind is part of what it returns."""
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
    """The ids that exist, each once, in the order in which they were named."""
    listed = {one_line(entry.id): entry.id for entry in catalog.entries}
    found = (listed.get(one_line(each)) for each in named if isinstance(each, str))
    return tuple(dict.fromkeys(entry_id for entry_id in found if entry_id is not None))


# -- reading -----------------------------------------------------------------------------------------------

_LIST = re.compile(r'["\']?ids["\']?\s*[:=]\s*\[')
_ELEMENT = re.compile(r'(?P<text>"(?:[^"\\]++|\\.)*+")|(?P<end>[\]"])|[^\]"]++', re.DOTALL)
"""A complete text, what ends the list (a bracket, or the quote of a text that was cut), or anything between."""


def salvage(text: str) -> FilterAnswer | None:
    """Read the complete texts of a list that is bare, cut, or holds other things as well.

    This is more than the decoder may do: an id that was named before the cut is as good as any, for nothing but ids that
    exist is used, and nothing is run because of it.
    """
    named = _LIST.search(text)
    # A bare list has no object around it: in an answer to another question, names are no answer to this one.
    start = named.end() if named else text.partition("{")[0].find("[") + 1
    if not start:
        return None
    ids = []
    while start < len(text) and (element := _ELEMENT.match(text, start)) and not element["end"]:
        if element["text"]:
            with contextlib.suppress(msgspec.DecodeError, UnicodeError):
                ids.append(msgspec.json.decode(element["text"]))
        start = element.end()
    return FilterAnswer(ids) if ids else None


# -- merging -----------------------------------------------------------------------------------------------


def merged(survivors: Iterable[int], picks: Iterable[int]) -> tuple[int, ...]:
    """Both, each entry once: the survivors first, in their order, then the picks that are new."""
    return tuple(dict.fromkeys((*survivors, *picks)))


def preferring(ranking: Ranking, survivors: Sequence[int], picks: Sequence[int]) -> Ranking:
    """The ranking that a selection is fitted to after a filter call.

    Those on which both agree come first. Then new picks and other survivors take turns, so that neither a model that
    names too much nor a ranking that was unsure has all the room to itself. The rest keeps its order.
    """
    agreed = [index for index in survivors if index in set(picks)]
    others = [index for index in survivors if index not in set(picks)]
    new = [index for index in picks if index not in set(survivors)]
    turns = [index for pair in zip(new, others, strict=False) for index in pair]
    head = [*agreed, *turns, *new[len(others) :], *others[len(new) :]]
    by_index = {score.index: score for score in ranking.scores}
    rest = [score.index for score in ranking.scores if score.index not in set(head)]
    # Whoever stands at a place has the score of that place: the order is what changed. No match at all is not what a
    # model that named an entry meant.
    floor = min((score.score for score in ranking.scores if score.score > 0), default=1.0)
    places = [score.score or (floor if place < len(head) else 0.0) for place, score in enumerate(ranking.scores)]
    scores = tuple(
        attrs.evolve(by_index[index], score=score) for index, score in zip([*head, *rest], places, strict=True)
    )
    return attrs.evolve(ranking, scores=scores)
