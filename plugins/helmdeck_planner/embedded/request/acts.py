"""Everyday verbs and the acts that they stand for: "scrap" for "delete". ``acts.toml`` holds the verbs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from helmdeck_language import ACTIONS, READING, WordFile


@cache
def _file() -> WordFile:
    return WordFile.beside(__file__, "acts.toml")


@cache
def acts() -> Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]:
    """Return the particles and the acts of each verb."""
    found: defaultdict[str, dict[tuple[str, ...], list[str]]] = defaultdict(dict)
    for act, phrases in _file().rows("verbs").items():
        for phrase in phrases.split():
            verb, *others = phrase.split("_")
            found[verb].setdefault(tuple(others), []).append(act)
    return {
        verb: tuple(sorted(((others, tuple(acts)) for others, acts in rows.items()), key=lambda row: -len(row[0])))
        for verb, rows in found.items()
    }


@cache
def does() -> Mapping[str, tuple[str, ...]]:
    """Return the verbs of catalogs that do each act."""
    return {act: tuple(verbs.split()) for act, verbs in _file().rows("does").items()}


def is_act(word: str) -> bool:
    """Whether a word is an everyday verb."""
    return word in acts()


def reads(verb: str) -> bool:
    """Whether a verb reads something: "show"."""
    return not ACTIONS.get(verb, frozenset()).isdisjoint(READING)
