"""Model ids, tiers and budgets: what a model can be asked for."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping

import attrs

from helmdeck_core.errors import InvalidRequest

KEPT_IDS = 1_024
"""Parsed model ids that are kept; callers choose the ids, so memory needs a bound."""


class Tier(enum.StrEnum):
    """How reliably a model answers in the asked-for structure under load; not how large its window is."""

    A = "A"
    B = "B"
    C = "C"


@attrs.frozen
class ModelId:
    """``provider/model``, split at the first slash; the model part may hold further slashes."""

    provider: str
    name: str

    @staticmethod
    @functools.lru_cache(KEPT_IDS)
    def provider_of(text: str) -> str:
        """Return the provider part of a model id, also of an id that is not valid."""
        return text.partition("/")[0].strip()

    @classmethod
    @functools.lru_cache(KEPT_IDS)
    def parse(cls, text: str) -> ModelId:
        """Split ``text``; whitespace around the parts is ignored.

        :raises InvalidRequest: when a part is missing.
        """
        return _parsed(text)

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


@functools.lru_cache(1024)
def _parsed(text: str) -> ModelId:
    """Several steps of a call ask for the same id."""
    provider, slash, name = (part.strip() for part in text.partition("/"))
    if not (provider and slash and name):
        raise InvalidRequest(
            f"model id {text!r} is not of the form provider/model",
            sub_cause="model_id",
            detail="give both parts, such as local/lexical; `helmdeck budgets` lists the models that are known",
        )
    return ModelId(provider, name)


def _no_limit(cap: int | None) -> int | None:
    """0 and less is how configurations and tables write "no limit"."""
    return cap if cap is not None and cap > 0 else None


@attrs.frozen(kw_only=True)
class Budget:
    """What one model is asked to take and to give.

    :ivar model: the caller's model id; in a row of a table, the row's prefix.
    :ivar input_tokens: the largest prompt that is sent, in tokens.
    :ivar output_tokens: ``max_tokens`` of a call that wants structured output.
    :ivar max_catalog_bytes: the largest catalog that is sent, in UTF-8 bytes; ``None`` is no limit: no compaction.
    :ivar allows_llm_filter: an unsure selection may be settled by a second model call.
    :ivar filter_model: who answers that call; ``None`` is the planning model.
    :ivar is_hybrid_reasoning: the model thinks before it answers, in its text or beside it.
    :ivar reasoning_headroom_tokens: added to ``output_tokens`` when the model thinks.
    :ivar wants_strict_json: the provider's JSON mode helps this model.
    :ivar supports_prefix_cache: the provider discounts a prompt prefix that it has seen.
    :ivar input_cost_usd_per_mtok: US dollars per million input tokens, where known.
    :ivar output_cost_usd_per_mtok: US dollars per million output tokens, where known.
    :ivar cached_input_cost_usd_per_mtok: US dollars per million cached input tokens, where known.
    :ivar prompt_variant: name of the prompt variant; ``None`` is the tier's default.
    :ivar evidence: why these figures are what they are.
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
        """The output limit to send: visible output and, for a thinking model, its headroom."""
        return self.output_tokens + (self.reasoning_headroom_tokens if self.is_hybrid_reasoning else 0)


@attrs.frozen(kw_only=True)
class TierDefaults:
    """What holds for the models of one tier where neither their budget nor the configuration says otherwise.

    :ivar tier: contributing the same tier again replaces its defaults.
    :ivar max_catalog_bytes: catalog limit of a model that a deployment moves to this tier, in UTF-8 bytes; ``None`` is no
        limit.
    :ivar prompt_variant: name of the prompt variant; empty is the first one of the task.
    :ivar max_entries: most entries that a ranked selection keeps; 0 is no limit.
    :ivar has_prefix_index: whether a cached prefix lists every entry when the catalog itself does not fit.
    :ivar allows_json_mode: whether a provider may be asked to constrain the output.
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

    :ivar prefix: start of a model id, or a whole one; an exact hit outranks every prefix. ``""`` is the fallback.
    :ivar order: position in listings only; look-up is by length.
    """

    prefix: str
    budget: Budget
    order: int = 0

    @property
    def name(self) -> str:
        """Rows of the same prefix override one another, the last registered plugin winning."""
        return self.prefix


class BudgetTable:
    """All rows that plugins contribute, indexed once for exact and longest-prefix look-up."""

    def __init__(self, rows: Iterable[BudgetRow]) -> None:
        named = (attrs.evolve(row, budget=attrs.evolve(row.budget, model=row.prefix)) for row in rows)
        self.rows = tuple(sorted(named, key=lambda row: (row.order, row.prefix)))
        self._by_prefix = {row.prefix.strip().casefold(): row for row in self.rows}
        self._lengths = tuple(sorted({len(prefix) for prefix in self._by_prefix}, reverse=True))

    def find(self, model_id: str) -> BudgetRow | None:
        """Return the row of the longest prefix of ``model_id``, letter case aside; ``None`` without any.

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

    :ivar row: the prefix of the table row that answered; ``""`` for the fallback.
    :ivar sources: field name to a short text, such as ``row 'acme/large' of plugin 'budgets'``.
    :ivar prompt_variant: the budget's prompt variant, else the default of its tier.
    :ivar asks_for_json: whether the provider is asked to constrain the output to JSON.
    """

    budget: Budget
    row: str
    sources: Mapping[str, str]
    prompt_variant: str = ""
    asks_for_json: bool = False

    @property
    def is_fallback(self) -> bool:
        """Whether no row knew the model."""
        return not self.row
