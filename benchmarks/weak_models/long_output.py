"""Long output under a small output limit: the first answer, against one that is continued, at temperature 0."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from benchmarks.weak_models.session import Found, Session
from helmdeck_core import CallLimits, ChatRequest, Message, Role, TextPart

LIMITS = (64, 128, 256)
"""Output tokens of one request."""

ENOUGH = 1_200
"""Output tokens of an uncut answer."""

STORIES = (
    "a lighthouse keeper who finds a bottle", "a clock that runs backwards", "two neighbours and one pear tree",
    "a bus driver's last day", "a dog that learns to swim", "the first snow in a small town", "a baker who loses a recipe",
    "a girl and a borrowed bicycle", "a map with a mistake", "an old radio that speaks", "a ferry in the fog",
    "a letter that came too late", "a cat in a library", "the longest queue", "a boy who collects buttons",
    "a bridge between two villages", "a lost suitcase", "a singer without a voice", "a garden on a roof", "the quiet carpenter",
)  # fmt: skip
LISTS = (
    "fruits", "countries in Europe", "musical instruments", "colours", "professions", "animals of the sea", "sports",
    "kitchen tools", "trees", "planets and moons", "school subjects", "vegetables", "furniture", "birds",
    "means of transport", "words for weather", "parts of a house", "insects", "languages", "things in an office",
)  # fmt: skip


@attrs.frozen
class LongCase:
    """A story or a JSON list, with the output limit of one request."""

    id: str
    prompt: str
    is_json: bool
    limit: int


def load() -> list[LongCase]:
    """Return 40 cases; the limits and both kinds in turn."""
    found = []
    for number, (story, topic) in enumerate(zip(STORIES, LISTS, strict=True)):
        limit = LIMITS[number % len(LIMITS)]
        found.append(LongCase(f"story-{number + 1}", f"Write a short story about {story}.", False, limit))
        found.append(
            LongCase(f"list-{number + 1}", f"Write a JSON list of 20 {topic}. Answer with JSON only.", True, limit)
        )
    return found


Way = Callable[[LongCase], Found]


def raw(session: Session) -> Way:
    """The first answer, however it ends."""

    def write(case: LongCase) -> Found:
        body = {"messages": [{"role": "user", "content": case.prompt}], "max_tokens": case.limit}
        text, cause = session.chat(body)
        return Found(value=text, cause=cause, answer=text, detail={"digest": digest(text)})

    return write


def uncut(session: Session) -> Way:
    """One answer with all the output that it needs: what the model itself writes, and ends or does not end."""
    write = raw(session)
    return lambda case: write(attrs.evolve(case, limit=ENOUGH))


def digest(text: str) -> str:
    """Return a digest of a text without surrounding whitespace, to compare it with the uncut one."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:16]


class Helped:
    """``deck.complete``, which continues a truncated answer."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._deck = session.deck()

    def __call__(self, case: LongCase) -> Found:
        """Return the merged text."""
        message = Message(Role.USER, (TextPart(case.prompt),))
        request = ChatRequest(model=self._session.model_id, messages=(message,), max_tokens=case.limit)
        response = self._deck.complete(request, limits=CallLimits(deadline_s=self._session.request_s))
        detail: dict[str, Any] = {"digest": digest(response.text)}
        if response.continuation is not None:
            detail["continuations"] = response.continuation.attempts
        return Found(
            value=response.text, cause="" if response.is_complete else "cut", answer=response.text, detail=detail
        )

    def close(self) -> None:
        """Close the deck."""
        self._deck.close()


WAYS: Mapping[str, Callable[[Session], Any]] = {"helped": Helped, "raw": raw, "uncut": uncut}


def judge(case: LongCase, found: Found) -> dict[str, Any]:
    """Valid is an answer that ended by itself; right is one without damage: a list that is JSON, a story without a repetition."""
    if not found.value:
        return {"cause": found.cause or "empty answer"}
    if found.cause:
        return {"cause": found.cause}
    damage = ("" if json_list(found.value) is not None else "no JSON") if case.is_json else repetition(found.value)
    return {"valid": True, "right": not damage, "cause": damage}


def json_list(text: str) -> Any:
    """Return the list or object in a text, alone or in a code fence; ``None`` if there is none."""
    fenced = re.search(r"```(?:json)?\s*\n(.*?)\n?```", text, re.DOTALL)
    try:
        return json.loads(fenced[1] if fenced else text)
    except ValueError:
        return None


def repetition(text: str, words: int = 12) -> str:
    """Return a cause if a passage of so many words is followed by itself, as at a seam that does not fit."""
    found = text.split()
    for length in range(words, len(found) // 2 + 1):
        for start in range(len(found) - 2 * length + 1):
            if found[start : start + length] == found[start + length : start + 2 * length]:
                return "repeated passage"
    return ""
