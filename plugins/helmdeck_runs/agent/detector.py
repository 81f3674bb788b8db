"""Detects calls that make no progress: repeated ones, two that alternate, and different ones with the same result."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

REPEATED = 3
"""The same call for the third time is a warning, for the fourth time it is not executed, for the fifth time the run ends."""

ALTERNATING_CYCLES = 4
"""Two calls that alternate for the fourth time are a warning, and so on."""

FRUITLESS = 5
"""Five calls of one tool with different arguments and the same result are a warning, and so on."""


class Severity(enum.IntEnum):
    """What follows from a call that makes no progress."""

    NONE = 0
    WARN = 1
    BLOCK = 2
    STOP = 3


@attrs.frozen
class Verdict:
    """The judgement of one call.

    :ivar reason: for the model and the report; empty for ``NONE``.
    """

    severity: Severity = Severity.NONE
    reason: str = ""


def digest(value: Any) -> str:
    """Return a hash of JSON data that does not depend on the order of keys."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]


class LoopDetector:
    """Judges calls before they are executed; failed calls count like successful ones."""

    def __init__(self) -> None:
        self._calls: list[str] = []
        self._results: list[tuple[str, str, str]] = []

    def judge(self, tool: str, arguments: Mapping[str, Any]) -> Verdict:
        """Take a call that is about to be executed; return the most severe finding."""
        call = f"{tool} {digest(arguments)}"
        self._calls.append(call)
        times = self._calls.count(call)
        cycles = self._cycles()
        same, others = self._same_results(tool)
        findings = [
            _verdict(times - REPEATED, f"{tool} was called with the same arguments {times} times"),
            _verdict(cycles - ALTERNATING_CYCLES, f"{tool} and another call alternate, {cycles} times so far"),
        ]
        if others > 1:
            text = f"{same} calls of {tool} with different arguments had the same result"
            findings.append(_verdict(same - FRUITLESS, text))
        return max(findings, key=lambda verdict: verdict.severity)

    def record(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Take the output or the failure of an executed call."""
        self._results.append((tool, digest(arguments), digest(result)))

    def _cycles(self) -> int:
        """How often the last two calls, if they differ, alternate at the end."""
        calls = self._calls
        if len(calls) < 2 or calls[-1] == calls[-2]:
            return 0
        length = 0
        while length < len(calls) and calls[-1 - length] == calls[-1 - length % 2]:
            length += 1
        return length // 2

    def _same_results(self, tool: str) -> tuple[int, int]:
        """The last calls of a tool with the same result, and how many different arguments they had."""
        results = [each for each in self._results if each[0] == tool]
        same = [each for each in reversed(results) if each[2] == results[-1][2]] if results else []
        return len(same), len({each[1] for each in same})


def _verdict(excess: int, reason: str) -> Verdict:
    if excess < 0:
        return Verdict()
    return Verdict(Severity(min(excess + 1, Severity.STOP)), reason)
