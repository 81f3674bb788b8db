"""Model ids, tiers and budgets: what a model can be asked for."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping

import attrs

from helmdeck_core.errors import InvalidRequest


class Tier(enum.StrEnum):
    """How reliably a model returns structured output with a large prompt; not the size of its context window."""

    A = "A"
    B = "B"
    C = "C"


@attrs.frozen
class ModelId:
    """``provider/model``, split at the first slash; the model part may contain further slashes."""

    provider: str
    name: str

    @classmethod
    def parse(cls, text: str) -> ModelId:
        """Split ``text``; surrounding whitespace of the parts is ignored.

        :raises InvalidRequest: when a part is missing.
        """
        return _parsed(text)

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


@functools.lru_cache(1024)
def _parsed(text: str) -> ModelId:
    """Parse with a cache, since several steps of a call need the same id."""
    provider, slash, name = (part.strip() for part in text.partition("/"))
    if not (provider and slash and name):
        raise InvalidRequest(
            f"model id {text!r} is not of the form provider/model",
            sub_cause="model_id",
            detail="give both parts, such as local/lexical; `helmdeck budgets` lists the known models",
        )
    return ModelId(provider, name)


def _no_limit(cap: int | None) -> int | None:
    """Return ``None`` for 0 or less, which mean "no limit" in configurations and tables."""
    return cap if cap is not None and cap > 0 else None


@attrs.frozen(kw_only=True)
class Budget:
    """The limits, features and prices of one model.

    :ivar model: the caller's model id; in a row of a table, the row's prefix.
    :ivar input_tokens: maximum size of a prompt in tokens.
    :ivar output_tokens: ``max_tokens`` of a call with structured output.
    :ivar max_catalog_bytes: maximum size of a catalog in UTF-8 bytes; ``None`` is no limit.
    :ivar allows_llm_filter: a filter call may reduce an unsure selection.
    :ivar filter_model: the model of the filter call; ``None`` is the planning model.
    :ivar is_hybrid_reasoning: the model reasons before it answers, in its text or in a field of its own.
    :ivar reasoning_headroom_tokens: added to ``output_tokens`` of a reasoning model.
    :ivar wants_strict_json: whether to use the provider's JSON mode with this model.
    :ivar supports_prefix_cache: whether the provider has a prompt cache with discounts.
    :ivar input_cost_usd_per_mtok: US dollars per million input tokens, if known.
    :ivar output_cost_usd_per_mtok: US dollars per million output tokens, if known.
    :ivar cached_input_cost_usd_per_mtok: US dollars per million cached input tokens, if known.
    :ivar prompt_variant: name of the prompt variant; ``None`` is the tier's default.
    :ivar evidence: the source of these values.
    """

    model: str
    tier: Tier = Tier.C
    input_tokens: int = 16_000
    output_tokens: int = 1_500
    max_catalog_bytes: int | None = attrs.field(default=10_000, converter=_no_limit)
    allows_llm_filter: bool = False
    filter_model: str | None = None
    is_hybrid_reasoning: bool = False
    reasoning_headroom_tokens: int = 0
    wants_strict_json: bool = False
    supports_prefix_cache: bool = False
    input_cost_usd_per_mtok: float | None = None
    output_cost_usd_per_mtok: float | None = None
    cached_input_cost_usd_per_mtok: float | None = None
    prompt_variant: str | None = None
    evidence: str = ""

    @property
    def max_tokens(self) -> int:
        """The output limit of a request: ``output_tokens`` and, for a reasoning model, its headroom."""
        return self.output_tokens + (self.reasoning_headroom_tokens if self.is_hybrid_reasoning else 0)


@attrs.frozen(kw_only=True)
class TierDefaults:
    """Defaults of the models of one tier, unless their budget or the configuration has other values.

    :ivar tier: contributing the same tier again replaces its defaults.
    :ivar max_catalog_bytes: catalog limit of a model that a deployment moves to this tier, in UTF-8 bytes; ``None`` is no
        limit.
    :ivar prompt_variant: name of the prompt variant; empty is the first one of the task.
    :ivar max_entries: maximum number of entries of a ranked selection; 0 is no limit.
    :ivar has_prefix_index: whether a cached prefix lists every entry when the catalog itself does not fit.
    :ivar allows_json_mode: whether constrained decoding may be requested.
    """

    tier: Tier
    max_catalog_bytes: int | None = attrs.field(default=None, converter=_no_limit)
    prompt_variant: str = ""
    max_entries: int = 0
    has_prefix_index: bool = True
    allows_json_mode: bool = True
    order: int = 0

    @property
    def name(self) -> str:
        """The tier."""
        return self.tier.value


@attrs.frozen(kw_only=True)
class BudgetRow:
    """One row of a budget table: a budget for every model id that starts with ``prefix``.

    :ivar prefix: start of a model id, or a whole one; an exact match takes precedence over every prefix. ``""`` is the fallback.
    :ivar order: position in listings only; look-up is by length.
    """

    prefix: str
    budget: Budget
    order: int = 0

    @property
    def name(self) -> str:
        """The prefix; of rows with the same prefix, that of the last registered plugin wins."""
        return self.prefix


class BudgetTable:
    """All rows that plugins contribute, indexed once for exact and longest-prefix look-up."""

    def __init__(self, rows: Iterable[BudgetRow]) -> None:
        named = (attrs.evolve(row, budget=attrs.evolve(row.budget, model=row.prefix)) for row in rows)
        self.rows = tuple(sorted(named, key=lambda row: (row.order, row.prefix)))
        self._by_prefix = {row.prefix.strip().casefold(): row for row in self.rows}
        self._lengths = tuple(sorted({len(prefix) for prefix in self._by_prefix}, reverse=True))

    def find(self, model_id: str) -> BudgetRow | None:
        """Return the row of the longest prefix of ``model_id``, case-insensitive; ``None`` without any.

        The fallback row, whose prefix is empty, is a prefix of everything.
        """
        key = model_id.strip().casefold()
        for length in self._lengths:
            if length <= len(key) and (row := self._by_prefix.get(key[:length])) is not None:
                return row
        return None


@attrs.frozen
class BudgetLookup:
    """A budget and where each of its fields comes from.

    :ivar row: the prefix of the matching table row; ``""`` for the fallback.
    :ivar sources: the source of each field, such as ``row 'acme/large' of plugin 'budgets'``.
    :ivar prompt_variant: the budget's prompt variant, otherwise the default of its tier.
    :ivar asks_for_json: whether constrained decoding to JSON is requested.
    """

    budget: Budget
    row: str
    sources: Mapping[str, str]
    prompt_variant: str = ""
    asks_for_json: bool = False

    @property
    def is_fallback(self) -> bool:
        """Whether no row matched the model."""
        return not self.row
