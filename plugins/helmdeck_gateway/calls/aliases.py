"""The names that clients send for models: one model, a chain of models, or several models with weights."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import Mistake

ALLOWED = "provider/model, a list of models, or a table of models and weights"


@attrs.frozen(kw_only=True)
class Chain:
    """A model and the models that are called after it fails.

    :ivar fallbacks: ``None`` for those of ``[fallback]``.
    """

    model: str
    fallbacks: tuple[str, ...] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """All models in order."""
        return (self.model, *(self.fallbacks or ()))


@attrs.frozen
class Alias:
    """What a client's name for a model stands for.

    :ivar chains: the choices; one of them for an alias without weights.
    :ivar shares: the weight of each choice and all choices before it, as a share of all weights; ascending to 1.
    """

    chains: tuple[Chain, ...]
    shares: tuple[float, ...] = (1.0,)

    @property
    def models(self) -> tuple[str, ...]:
        """All models of the alias, each once."""
        return tuple(dict.fromkeys(model for chain in self.chains for model in chain.models))

    def choose(self, share: float) -> Chain:
        """Return the choice at a share from 0 to below 1."""
        return self.chains[min(bisect.bisect_right(self.shares, share), len(self.chains) - 1)]


def read_aliases(models: Mapping[str, Any]) -> tuple[dict[str, Alias], list[Mistake]]:
    """Return the aliases of a table, and all its mistakes; aliases with mistakes are left out."""
    aliases: dict[str, Alias] = {}
    mistakes: list[Mistake] = []
    for name, value in models.items():
        found = list(_mistakes(f"gateway.models.{name}", value))
        mistakes += found
        if not found:
            aliases[name] = _alias(value)
    return aliases, mistakes


def _alias(value: Any) -> Alias:
    if isinstance(value, str):
        return Alias((Chain(model=value.strip()),))
    if isinstance(value, Mapping):
        rows = sorted(((model.strip(), weight) for model, weight in value.items()), key=lambda row: (-row[1], row[0]))
        names = [model for model, _ in rows]
        # The other models are the fallbacks, those with the highest weights first.
        chains = [Chain(model=name, fallbacks=tuple(each for each in names if each != name)) for name in names]
        total = sum(weight for _, weight in rows)
        return Alias(tuple(chains), tuple(itertools.accumulate(weight / total for _, weight in rows)))
    first, *others = (each.strip() for each in value)
    return Alias((Chain(model=first, fallbacks=tuple(others)),))


def _mistakes(where: str, value: Any) -> Iterator[Mistake]:
    if not isinstance(value, str | list | tuple | Mapping):
        yield Mistake(where, "not a model", repr(value), ALLOWED)
        return
    names = [value] if isinstance(value, str) else list(value)
    if not names:
        yield Mistake(where, "names no model", repr(value), ALLOWED)
    for name in names:
        if not isinstance(name, str) or not all(part.strip() for part in name.partition("/")):
            yield Mistake(where, "not a model id", repr(name), "provider/model")
    if len({str(name).strip() for name in names}) < len(names):
        yield Mistake(where, "a model is listed twice", repr(names), "each model once")
    if isinstance(value, Mapping):
        for name, weight in value.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e9:
                yield Mistake(f"{where}.{name}", "not a weight", repr(weight), "a number above 0")
