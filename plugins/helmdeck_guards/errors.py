"""The error of a request or an answer that a guard blocked."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from helmdeck_core import HelmdeckError


@attrs.frozen
class GuardBlocked(HelmdeckError):
    """A guard blocked a request or an answer.

    :ivar guard: the name of the guard in the configuration.
    :ivar stage: ``request``, ``answer`` or ``stream``.
    :ivar kinds: number of findings by kind.
    :ivar failure: why the guard could not decide; empty where it found something.
    :ivar is_refusal: the configuration asks for a refusal instead of an error.
    """

    guard: str
    stage: str
    kinds: Mapping[str, int]
    failure: str = ""
    is_refusal: bool = False

    def __str__(self) -> str:
        subject = "request" if self.stage == "request" else "answer"
        if self.failure:
            return f"the guard {self.guard!r} failed, and blocks the {subject} when it fails: {self.failure}; send the request again later"
        found = ", ".join(f"{kind} ({count})" for kind, count in self.kinds.items())
        advice = "remove it from the request" if subject == "request" else "the answer is not shown"
        return f"the guard {self.guard!r} blocked the {subject}, found {found}; {advice}"
