"""Patterns of an operator: regular expressions whose matching time is limited."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import attrs

from helmdeck_core import EMPTY, ConfigError, Guard, GuardFinding, GuardServices, GuardSpec, Mistake

NAME: Final = re.compile("[a-z][a-z0-9_]{0,40}")
MATCH_S: Final = 0.05
"""Seconds that all matches of one pattern in one text may take; a pattern that takes longer has failed."""
_PROBES: Final = ("a" * 40 + "!", "1" * 40 + "!", " " * 40 + "!", "aA1 -_." * 8 + "!", "ab" * 20 + "!")


@attrs.frozen(kw_only=True)
class PatternOptions:
    """The options of ``patterns``.

    :ivar patterns: regular expressions by the name that errors, events and placeholders show.
    :ivar ignores_case: upper and lower case are equal.
    :ivar max_chars: characters of the longest match that is found in a stream.
    """

    patterns: Mapping[str, str] = EMPTY
    ignores_case: bool = False
    max_chars: int = 256


def _open(options: PatternOptions, _: GuardServices) -> Guard:
    compiled, mistakes = _compiled(options)
    if mistakes:
        raise ConfigError(tuple(mistakes))

    def find(text: str) -> list[GuardFinding]:
        found = list[GuardFinding]()
        for name, pattern in compiled.items():
            for match in pattern.finditer(text, timeout=MATCH_S):
                start, stop = match.span()
                if stop > start and all(stop <= each.start or start >= each.stop for each in found):
                    found.append(GuardFinding(name, start, stop))
        return sorted(found, key=lambda each: each.start)

    def held_from(text: str) -> int:
        held = min((_partial(pattern, text) for pattern in compiled.values()), default=len(text))
        return max(held, len(text) - options.max_chars)

    return Guard(find=find, held_from=held_from)


def _partial(pattern: Any, text: str) -> int:
    """Return where a match begins that more text may complete or extend."""
    at = 0
    while match := pattern.search(text, at, partial=True, timeout=MATCH_S):
        if match.partial or match.end() == len(text):
            return int(match.start())
        at = max(match.end(), match.start() + 1)
    return len(text)


def _compiled(options: PatternOptions) -> tuple[dict[str, Any], list[Mistake]]:
    if not options.patterns:
        return {}, [Mistake("patterns", "missing", "", 'a table such as { ticket = "TICKET-[0-9]{4,8}" }')]
    try:
        regex: Any = import_module("regex")  # it has no types of its own
    except ImportError:
        return {}, [Mistake("patterns", "the library regex is missing", "", "pip install 'helmdeck[guards]'")]
    compiled, mistakes = dict[str, Any](), list[Mistake]()
    flags = regex.IGNORECASE if options.ignores_case else 0
    for name, pattern in options.patterns.items():
        if not NAME.fullmatch(name):
            mistakes.append(Mistake("patterns", "not a name", repr(name), "lower-case letters, digits and _"))
        try:
            compiled[name] = regex.compile(pattern, flags)
        except (regex.error, OverflowError, RecursionError) as exc:
            mistakes.append(Mistake(f"patterns.{name}", f"not a regular expression: {exc}", repr(pattern)))
            continue
        if problem := _problem(compiled[name].search):
            mistakes.append(Mistake(f"patterns.{name}", problem, repr(pattern)))
    return compiled, mistakes


def _problem(search: Callable[..., Any]) -> str:
    """Return why a pattern cannot be used; empty if it can."""
    try:
        match = search("", timeout=MATCH_S)
        if match is not None:
            return "matches the empty string"
        for probe in _PROBES:
            search(probe, timeout=MATCH_S)
    except TimeoutError:
        return "takes too long; nested repetitions such as (a+)+ are the usual reason"
    return ""


PATTERNS: Final = GuardSpec(
    name="patterns",
    options=PatternOptions,
    open=_open,
    summary="regular expressions of your own, with limited matching time",
    order=20,
)
