"""Failures of packs: the codes, and what to do about each."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.encoding import printable
from helmdeck_core.errors.base import HelmdeckError


class PackErrorCode(enum.StrEnum):
    """The closed set of codes with which a pack fails.

    ``invalid_output``: the pack breaks its own schema, ``schema_mismatch``: data of another system, such as a program, does
    not fit; only handlers raise it. ``artifact_failed``: the context refused a file, or a handler found it unusable.
    """

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
    "invalid_input": "correct the input named in the detail, and run the pack again",
    "invalid_output": "report to the pack's author that the output does not match the output schema",
    "handler_failed": "check the detail; if the pack is at fault, report it to the pack's author",
    "schema_mismatch": "use the same version of the schema named in the detail on both sides",
    "artifact_failed": "check the detail and the inputs of the artifact",
    "timeout": "run it again with a longer deadline or a smaller task",
    "internal": "check the detail and the log; report both if the reason is not clear",
}


def known_code(code: str) -> PackErrorCode:
    """Return the code of that name; ``internal`` for an unknown one."""
    try:
        return PackErrorCode(code)
    except ValueError:
        return PackErrorCode.INTERNAL


@attrs.frozen
class PackError(HelmdeckError):
    """A pack failed; ``detail`` names the field and the value where there is one.

    :ivar code: one of the closed set; any other value becomes ``internal``.
    :ivar output: what the pack produced nevertheless, such as its ``findings`` and ``artifacts``.
    """

    pack: str
    code: PackErrorCode = attrs.field(converter=known_code)
    detail: str = attrs.field(converter=printable)
    output: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.pack}: {self.code.value}: {self.detail}"

    @property
    def retryable(self) -> bool:
        """Whether the same input may succeed in another run."""
        return self.code is PackErrorCode.TIMEOUT

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as plain data, with the same first fields as a failed call."""
        return {
            "class": type(self).__name__,
            "cause": self.code.value,
            "code": self.code.value,
            "retryable": self.retryable,
            "message": str(self),
            "next_action": self.code.next_action,
            "pack": self.pack,
            "detail": self.detail,
            **({"output": dict(self.output)} if self.output else {}),
        }
