"""Texts that the core adds to prompts and answers; their wording is contributed by plugins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs

from helmdeck_core.domain.continuation import TerminalReason

NOTICE: Final = "notice."
"""Prefix of the names of notices; a terminal reason follows."""

TEXTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "catalog.heading": (),
        "catalog.details_heading": (),
        "schema.heading": (),
        "ask.instructions": (),
        "retry.problem": ("problem",),
        "retry.call": (),
        "done.label": (),
        "continuation.hint": (),
        "continuation.repair_hint": (),
        "continuation.repair_error": ("error",),
        "continuation.repair_calls": ("calls",),
        **{
            NOTICE + reason.value: ("attempts", "cause")
            for reason in TerminalReason
            if reason not in (TerminalReason.COMPLETED, TerminalReason.NOT_CONTINUED)
        },
    }
)
"""Every text by name, with the placeholders that it may contain. A text that no plugin contributes is empty."""


@attrs.frozen(kw_only=True)
class PromptText:
    """The wording of one text that the core adds to a prompt or to an answer.

    :ivar name: which text; contributing the same name again replaces the wording.

        - ``catalog.heading``, ``catalog.details_heading``: headings of a prompt variant that has none of its own.
        - ``schema.heading``: above the JSON Schema of the answer, where it is part of the prompt.
        - ``ask.instructions``: above the JSON Schema, where ``ask`` requests a typed answer.
        - ``retry.problem``: repeats a question after an answer of the wrong shape; placeholder ``{problem}``.
        - ``retry.call``: repeats a request that requires a tool call, after an answer without one.
        - ``done.label``: before each executed step, for a question without prompt variants.
        - ``continuation.hint``: asks a model to continue a truncated answer. Without it, only models that support prefill
          continue.
        - ``continuation.repair_hint``: asks a model to repeat a truncated tool call. Without it, no call is repaired.
        - ``continuation.repair_error``: one line per problem of the call; placeholder ``{error}``.
        - ``continuation.repair_calls``: the complete calls before the truncated one; placeholder ``{calls}``.
        - ``notice.REASON``: describes a partial answer to the caller, by terminal reason; placeholders ``{attempts}`` and
          ``{cause}``.
    :ivar text: the wording.
    """

    name: str
    text: str
    order: int = 0

    @property
    def problem(self) -> str:
        """Why the text cannot be used; empty where it can."""
        if self.name not in TEXTS:
            return f"unknown text; allowed: {', '.join(TEXTS)}"
        if not TEXTS[self.name]:
            return ""
        try:
            self.text.format(**dict.fromkeys(TEXTS[self.name], ""))
        except (LookupError, ValueError, AttributeError):
            return f"the placeholders of {self.text!r} are wrong; allowed: {', '.join(TEXTS[self.name])}"
        return ""
