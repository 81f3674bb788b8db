"""Orders search results by effect: a request to delete something prefers tools that delete, a question those that read.

A ranker compares words. The tools of one server often share all of them but the verb, such as *read the graph* and *delete from
the graph*, and requests rarely use the verb of the tool.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence

from helmdeck_core import Catalog, Entry, Score
from helmdeck_mcp.server.entries import annotations_of


class Effect(enum.Enum):
    """What a tool does to the data that it works on."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"


_START = re.compile(
    r"^(?:please|kindly|now|then|just|hey|ok|okay|can you|could you|would you|i want to|i need to|let's|lets)\b[\s,]*"
)
"""What precedes the verb of a request."""

_PHRASES = (
    ("tell me", Effect.READ),
    ("let me know", Effect.READ),
    ("get rid of", Effect.DELETE),
    ("look up", Effect.READ),
)

_WORDS: Mapping[Effect, str] = {
    Effect.READ: """are check compare count describe did do does download explain fetch find get give has have how hows inspect is list
        load look open print query read retrieve search show summarise summarize view what whats when where wheres which who
        whos whose why""",
    Effect.WRITE: """add append apply approve archive assign book change choose click close comment commit compress connect convert
        copy create disable drag draft edit enable enter execute fill fix fork generate go insert install invite join label make
        mark merge move navigate note notify open_a open_an order pay pin place post press publish push put record register
        remember rename replace reply reschedule resize restore save schedule select send set share stage start stop store submit
        switch tag tell toggle translate type update upload write""",
    Effect.DELETE: "cancel clear delete discard drop erase forget purge remove revoke trash unassign uninstall unshare unstage wipe",
}
_OF_REQUEST = {word.replace("_", " "): effect for effect, words in _WORDS.items() for word in words.split()}

_VERBS_OF_TOOLS: Mapping[Effect, str] = {
    Effect.READ: """check compare count describe download explain fetch find get inspect list lookup open query read resolve retrieve
        search show summarize view""",
    Effect.WRITE: """add append apply archive assign create edit enable disable execute fill fork insert install invite merge modify
        move navigate patch publish push put rename replace run save send set start stop submit type update upload upsert write""",
    Effect.DELETE: "clear delete drop erase purge remove reset revoke uninstall",
}
_OF_TOOL = {word: effect for effect, words in _VERBS_OF_TOOLS.items() for word in words.split()}
"""The verbs of tool names. A name without one, such as ``directions``, does not show its effect."""
_FIRST_WORDS = 3
"""Words of a name that may be its verb: two names of the server can precede it, as in ``acme_web_search``."""

_FACTORS: Mapping[tuple[Effect, Effect], float] = {
    (Effect.READ, Effect.WRITE): 0.8,
    (Effect.READ, Effect.DELETE): 0.8,
    (Effect.WRITE, Effect.READ): 0.8,
    (Effect.WRITE, Effect.DELETE): 0.7,
    (Effect.DELETE, Effect.READ): 0.8,
    (Effect.DELETE, Effect.WRITE): 0.9,
}
"""By the effect of the request and that of the tool, what a score is multiplied by."""
_EQUAL = 1.4
_UNKNOWN = 1.1
"""For a tool whose effect is unknown: between those that fit and those that do not."""

RERANKED = 20
"""Best entries of the ranking that are reordered."""


def effect_of_request(request: str) -> Effect | None:
    """Return the effect that the first words of a request ask for; ``None`` if they do not show it."""
    text = " ".join(request.lower().split())
    while match := _START.match(text):
        text = text[match.end() :]
    for phrase, effect in _PHRASES:
        if text.startswith(phrase):
            return effect
    words = re.findall(r"[a-z']+", text)[:2]
    return _OF_REQUEST.get(" ".join(words)) or (_OF_REQUEST.get(words[0].partition("'")[0]) if words else None)


def effect_of_tool(entry: Entry) -> Effect | None:
    """Return the effect of a tool, by its annotations, else by the first verb of its name; ``None`` if neither shows it."""
    if annotations_of(entry).get("readOnlyHint") is True:
        return Effect.READ
    name = re.split(r"\.|__|/", entry.id)[-1]
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())
    return next((_OF_TOOL[word] for word in words[:_FIRST_WORDS] if word in _OF_TOOL), None)


def by_effect(scores: Iterable[Score], catalog: Catalog, request: str) -> Sequence[Score]:
    """Return scores in the order of their value and of how well the effects fit."""
    listed = list(scores)
    wanted = effect_of_request(request)
    if wanted is None:
        return listed

    def value(score: Score) -> float:
        entry = catalog.get(score.id)
        found = effect_of_tool(entry) if entry is not None else None
        return -score.score * (_UNKNOWN if found is None else _EQUAL if found is wanted else _FACTORS[wanted, found])

    return sorted(listed, key=value)
