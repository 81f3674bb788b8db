"""The codes with which a pack fails, and what to do about each."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class PackErrorCode(enum.StrEnum):
    """The closed set of codes with which a pack fails."""

    INVALID_INPUT = "invalid_input"
    INVALID_OUTPUT = "invalid_output"
    HANDLER_FAILED = "handler_failed"
    SCHEMA_MISMATCH = "schema_mismatch"
    ARTIFACT_FAILED = "artifact_failed"
    TIMEOUT = "timeout"
    INTERNAL = "internal"

    @property
    def next_action(self) -> str:
        """What to do about it."""
        return _NEXT_ACTIONS[self]


_NEXT_ACTIONS: Mapping[str, str] = {
    "invalid_input": "correct the input that the detail names, and run the pack again",
    "invalid_output": "report it to the pack's author; what the pack made does not fit its output schema",
    "handler_failed": "look at the detail; if it is a fault of the pack, report it to the pack's author",
    "schema_mismatch": "bring both sides to the same version of the schema that the detail names",
    "artifact_failed": "look at the detail and at what the artifact was made from",
    "timeout": "run it again with a longer deadline, or with less to do",
    "internal": "look at the detail and at the log; if it says nothing, report it with both",
}


def known_code(code: str) -> PackErrorCode:
    """The code of that name; ``internal`` for one that nobody knows."""
    try:
        return PackErrorCode(code)
    except ValueError:
        return PackErrorCode.INTERNAL
