"""The results of an examination: one row for each ability, and the facts that configuration rows follow from."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import EMPTY


class Verdict(enum.StrEnum):
    """How a probe ended."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    NOT_TRIED = "not tried"


@attrs.frozen
class Result:
    """The result of one probe.

    :ivar name: the ability, such as ``json schema``.
    :ivar text: what was seen, in words.
    :ivar facts: figures, for configuration rows and ``--json``.
    """

    name: str
    verdict: Verdict
    text: str
    facts: Mapping[str, Any] = EMPTY


@attrs.frozen(kw_only=True)
class Examination:
    """What a model can do.

    :ivar seconds: duration of all probes.
    """

    model: str
    results: Sequence[Result]
    calls: int
    output_tokens: int
    seconds: float

    def result(self, name: str) -> Result | None:
        """Return the result of a probe; ``None`` if it did not run."""
        return next((each for each in self.results if each.name == name), None)

    def fact(self, name: str) -> Any:
        """Return a fact of any probe; ``None`` if it is unknown."""
        return next((each.facts[name] for each in self.results if name in each.facts), None)

    def is_able(self, *names: str) -> bool:
        """Whether one of these probes ended with yes."""
        return any(each.verdict is Verdict.YES for each in self.results if each.name in names)

    @property
    def is_usable(self) -> bool:
        """Whether anything that the model returned can be used."""
        return self.is_able("text", "json schema", "json mode", "json in words", "native tools")
