"""Data about vendors that plugins contribute: rules for error responses, and the format of keys."""

from __future__ import annotations

import attrs

from helmdeck_core.domain.patterns import pattern_problem


@attrs.frozen(kw_only=True)
class ErrorRuleSet:
    """Rules that map error responses of one vendor to failure classes.

    The core only selects the rules of a provider; the provider interprets them. Providers that are based on
    ``helmdeck_providers`` use its subclass ``ErrorRules``.

    :ivar name: name of the set, such as the vendor's; empty for rules that are not contributed.
    :ivar providers: providers that the rules apply to, by name or by kind; empty for all.
    """

    name: str = ""
    providers: tuple[str, ...] = ()
    order: int = 0


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
