"""What failures mean and what to do about them: the rules of ``hints.toml``."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Collection, Mapping
from importlib import resources

import attrs

from helmdeck_core.errors.causes import FailureClass

ANY_PROVIDER = "providers.NAME"
"""The provider's table in hints of a failure without a provider."""


@attrs.frozen
class Hint:
    """One rule: what was seen, and what would change it; see ``hints.toml``."""

    cause: str
    hint: str
    next: str
    sub_causes: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    when: tuple[str, ...] = attrs.field(default=(), converter=tuple)

    def matches(self, cause: str, sub_cause: str, facts: Collection[str]) -> bool:
        """Whether the rule is for a failure with these facts."""
        is_for = self.cause == cause and (not self.sub_causes or sub_cause in self.sub_causes)
        return is_for and all(fact in facts for fact in self.when)


@functools.cache
def hints() -> tuple[Hint, ...]:
    """Return all rules; read at the first failure that is shown."""
    text = resources.files("helmdeck_core.errors").joinpath("hints.toml").read_text("utf-8")
    return tuple(Hint(**rule) for rule in tomllib.loads(text)["rule"])


def find_hint(
    cause: FailureClass, sub_cause: str, facts: Collection[str], values: Mapping[str, str]
) -> tuple[str, str]:
    """Return the hint and the next action of the first rule that matches.

    :param values: the values of the placeholders.
    """
    found = next(rule for rule in hints() if rule.matches(cause, sub_cause, facts))
    return found.hint.format(**values), found.next.format(**values)
