"""The formats of API keys, which plugins contribute so that keys are redacted."""

from __future__ import annotations

import attrs

from helmdeck_core.domain.patterns import pattern_problem


@attrs.frozen(kw_only=True)
class SecretPattern:
    """The format of the keys of a service, so that keys that are not configured are redacted as well.

    :ivar name: unique; contributing the same name again replaces the pattern.
    :ivar pattern: regular expression that matches a whole key, case-sensitive.
    """

    name: str
    pattern: str
    order: int = 0

    @property
    def problem(self) -> str:
        """Why the value cannot be used; empty if it can."""
        return pattern_problem(self.pattern)
