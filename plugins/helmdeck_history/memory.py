"""The packs ``helmdeck.memory_store`` and ``helmdeck.memory_search``: facts of a caller, kept in the history store."""

from __future__ import annotations

import asyncio
import math
import re
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode

if TYPE_CHECKING:
    from helmdeck_history.service import LearningHistory
    from helmdeck_history.store_types import Fact

STORE = "helmdeck.memory_store"
SEARCH = "helmdeck.memory_search"

MAX_BYTES = 8_192
MAX_FACTS = 10_000
"""Facts of one caller."""

HOUR_S = 3_600.0
DAY_S = 86_400.0
DEFAULT_DAYS = 365
RESERVED_TAG = "helmdeck"
"""Tags that start with it are reserved."""

_WORD = re.compile(r"[^\W_]+")


def packs() -> Sequence[Pack]:
    """The packs. The example catalog lists them; catalogs of deployments decide whether plans may use them."""
    return (
        Pack(
            name=STORE,
            version="1",
            description="Store a fact, preference or note so that later conversations can recall it.",
            metadata={
                "accepts": ["text"],
                "produces": ["memory_id"],
                "intent_keywords": ["remember this", "remember that", "keep in mind", "save this fact"],
                "limitations": ["Text only, 8 KB per entry"],
            },
            input_schema={
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "What to remember."},
                    "tags": {"type": "array", "items": {"type": "string", "maxLength": 64}, "maxItems": 20},
                    "days": {"type": "number", "description": "Days until it is deleted, 1/24 to 365."},
                },
                "required": ["text"],
                "additionalProperties": False,
            },
            output_schema={
                "type": "object",
                "properties": {"memory_id": {"type": "string"}, "expires": {"type": "string"}},
                "required": ["memory_id", "expires"],
            },
            annotations={"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
            run=store_fact,
            is_listed=False,
        ),
        Pack(
            name=SEARCH,
            version="1",
            description="Look up facts and notes that were stored earlier.",
            metadata={
                "accepts": ["text"],
                "produces": ["memory_entries"],
                "intent_keywords": ["what did I tell you", "do you remember", "recall"],
            },
            input_schema={
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words of the fact; empty for the newest facts."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
            output_schema={
                "type": "object",
                "properties": {"entries": {"type": "array", "items": {"type": "object"}}},
                "required": ["entries"],
            },
            annotations={"readOnlyHint": True, "openWorldHint": False},
            run=search_facts,
            is_listed=False,
        ),
    )


async def store_fact(context: PackContext, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Store a fact of the caller.

    :raises PackError: ``invalid_input`` for an empty or too large text, a reserved tag, or a lifetime out of range.
    """
    text, tags = data["text"].strip(), tuple(dict.fromkeys(data.get("tags", ())))
    lifetime_s = data.get("days", DEFAULT_DAYS) * DAY_S
    if not text:
        raise PackError(STORE, PackErrorCode.INVALID_INPUT, "text is empty")
    if (size := len(text.encode("utf-8", "replace"))) > MAX_BYTES:
        raise PackError(
            STORE, PackErrorCode.INVALID_INPUT, f"text has {size:,} bytes; at most {MAX_BYTES:,} are stored"
        )
    if reserved := [tag for tag in tags if tag.casefold().startswith(RESERVED_TAG)]:
        raise PackError(STORE, PackErrorCode.INVALID_INPUT, f"tags: {reserved[0]!r} is reserved; choose another tag")
    if not HOUR_S <= lifetime_s <= 365 * DAY_S:
        detail = f"days: {data['days']} is out of range; 1/24 (an hour) to 365"
        raise PackError(STORE, PackErrorCode.INVALID_INPUT, detail)
    from helmdeck_history.store_types import Fact

    history, now = _history(context, STORE), time.time()
    fact = Fact(id=uuid.uuid4().hex, caller=context.caller, text=text, tags=tags, time=now, expires=now + lifetime_s)
    if len(await asyncio.to_thread(history.facts, context.caller)) >= MAX_FACTS:
        detail = f"there are {MAX_FACTS:,} facts already; delete some with `helmdeck history forget`"
        raise PackError(STORE, PackErrorCode.INVALID_INPUT, detail)
    if not await asyncio.to_thread(history.add_fact, fact):
        raise PackError(STORE, PackErrorCode.HANDLER_FAILED, "the configured history store does not keep facts")
    return {"memory_id": fact.id, "expires": _shown(fact.expires)}


async def search_facts(context: PackContext, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts of the caller that share words with the query, the best match first."""
    history = _history(context, SEARCH)
    facts = await asyncio.to_thread(history.facts, context.caller)
    found = ranked(facts, data["query"])[: data.get("limit", 10)]
    entries = [
        {"memory_id": fact.id, "text": fact.text, "tags": list(fact.tags), "time": _shown(fact.time), "score": score}
        for fact, score in found
    ]
    return {"entries": entries}


def ranked(facts: Sequence[Fact], query: str) -> list[tuple[Fact, float]]:
    """Return the facts that share a word with a query, with scores; all of them, newest first, for an empty query.

    A word counts more the fewer facts have it; facts that share more of the query come first, then newer ones.
    """
    wanted = _words(query)
    if not wanted:
        return [(fact, 0.0) for fact in facts]
    words = [_words(f"{fact.text} {' '.join(fact.tags)}") for fact in facts]
    frequency = Counter(word for each in words for word in each)
    rarity = {word: math.log(1 + len(facts) / frequency[word]) if frequency[word] else 0.0 for word in wanted}
    scores = [sum(rarity[word] for word in wanted & each) for each in words]
    found = [(fact, round(score, 3)) for fact, score in zip(facts, scores, strict=True) if score > 0]
    return sorted(found, key=lambda each: -each[1])


def _words(text: str) -> set[str]:
    from helmdeck_history.sketch import stem

    return {stem(word) for word in _WORD.findall(text.casefold())}


def _history(context: PackContext, pack: str) -> LearningHistory:
    from helmdeck_history.service import LearningHistory

    if not isinstance(context.history, LearningHistory):
        detail = 'no history store is configured; set [history] url, such as "sqlite:~/.helmdeck/history.db"'
        raise PackError(pack, PackErrorCode.HANDLER_FAILED, detail)
    return context.history


def _shown(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
