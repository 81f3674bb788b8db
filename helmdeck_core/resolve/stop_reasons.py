"""Normalises native stop reasons by the tables that plugins contribute, one per wire format."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TypeVar

from helmdeck_core.domain.chat import DISPOSITIONS, Disposition, StopReason, StopReasonTable
from helmdeck_core.suggestions import nearest

T = TypeVar("T")


class StopReasons:
    """The tables of all wire formats, and one merged table for stop reasons without a wire format."""

    def __init__(self, tables: Iterable[StopReasonTable]) -> None:
        tables = tuple(tables)
        self._reasons = {table.name: _casefolded(table.reasons) for table in tables}
        self._dispositions = {table.name: _casefolded(table.dispositions) for table in tables}
        self._merged: dict[str, StopReason] = {}
        for table in tables:
            for native, reason in table.reasons.items():
                self._merged.setdefault(_squashed(native), reason)
        # Normalised names are valid input too: a recorded answer may be read again.
        self._merged |= {_squashed(reason.value): reason for reason in StopReason}

    def normalise(self, raw: str | None, wire_format: str) -> StopReason:
        """Return the normalised reason; an unknown or missing one is ``UNKNOWN``, never a clean end.

        :param wire_format: a table's name. ``""`` searches all tables in their order, ignoring separators and a prefix that
            ends in a dot, as in ``FinishReason.MAX_TOKENS``.
        """
        if raw is None:
            return StopReason.UNKNOWN
        if wire_format:
            return self._reasons.get(wire_format, {}).get(raw.strip().casefold(), StopReason.UNKNOWN)
        return self._merged.get(_squashed(raw.rpartition(".")[2]), StopReason.UNKNOWN)

    def near(self, raw: str) -> str | None:
        """Return the known reason that an unknown one may mean, such as ``max_tokens`` for ``max``; ``None`` without one."""
        known = sorted(
            {native for table in self._reasons.values() for native in table}, key=lambda each: (len(each), each)
        )
        word = raw.strip().casefold()
        return next((native for native in known if word and native.startswith(word)), None) or nearest(word, known)

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """Return what can be done about a turn that ended.

        :param reason: the reason of the whole answer; the table's disposition applies only if ``raw`` normalises to it.
        """
        if raw is not None and self.normalise(raw, wire_format) is reason:
            found = self._dispositions.get(wire_format, {}).get(raw.strip().casefold())
            if found is not None:
                return found
        return DISPOSITIONS[reason]


def _casefolded(table: Mapping[str, T]) -> dict[str, T]:
    return {native.casefold(): value for native, value in table.items()}


@functools.lru_cache(1024)
def _squashed(native: str) -> str:
    return "".join(char for char in native.casefold() if char.isalnum() or char == ":")
