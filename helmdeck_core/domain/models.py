"""Model ids, tiers and budgets."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping

import attrs

from helmdeck_core.errors import InvalidRequest

CHOSEN_BY_MODEL = "model"
"""``Budget.chooser`` of a model that chooses tools itself."""

MAX_MODEL_CHARS = 512
"""Characters of a model id; the longest known ones, ARNs of cloud providers, have about 250."""
KEPT_IDS = 1_024
"""Size of the caches of parsed model ids; bounded, since ids come from callers."""

_SHOWN_CHARS = 80


class Tier(enum.StrEnum):
    """How reliably a model returns structured output under load; independent of its context window."""

    A = "A"
    B = "B"
    C = "C"


@attrs.frozen
class ModelId:
    """``provider/model``, split at the first slash; the model part may contain further slashes.

    >>> from helmdeck_core import ModelId
    >>> ModelId.parse("router/acme/large")
    ModelId(provider='router', name='acme/large')
    """

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

        :raises InvalidRequest: a part is missing, or the id is too long or has a control character.
        """
        if len(text) > MAX_MODEL_CHARS or not text.strip().isprintable():
            raise InvalidRequest(
                f"model id {text[:_SHOWN_CHARS]!r}{'…' * (len(text) > _SHOWN_CHARS)} is not valid",
                sub_cause="model_id",
                detail=f"at most {MAX_MODEL_CHARS} characters are allowed, and all of them have to be printable",
            )
        provider, slash, name = (part.strip() for part in text.partition("/"))
        if not (provider and slash and name):
            raise InvalidRequest(
                f"model id {text!r} is not of the form provider/model",
                sub_cause="model_id",
                detail="give both parts, such as local/lexical; `helmdeck budgets` lists the known models",
            )
        return cls(provider, name)

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


def _no_limit(cap: int | None) -> int | None:
    """Convert 0 and negative limits, which mean no limit, to ``None``."""
    return cap if cap is not None and cap > 0 else None


@attrs.frozen(kw_only=True)
class Budget:
    """Limits and properties of a model.

    :ivar model: the model id; in a table row, its prefix.
    :ivar input_tokens: maximum prompt in tokens.
    :ivar output_tokens: ``max_tokens`` of a call with structured output, without reasoning.
    :ivar max_catalog_bytes: maximum catalog in UTF-8 bytes; ``None`` is no limit, and no compaction.
    :ivar allows_llm_filter: a filter call may narrow an unsure selection.
    :ivar filter_model: the model of filter calls; ``None`` is this model.
    :ivar is_hybrid_reasoning: the model may return reasoning before its answer, in the text or in a separate field.
    :ivar starts_in_reasoning: the chat template opens the reasoning block, so a text that the server does not separate
        starts inside it.
    :ivar reasoning_headroom_tokens: added to ``output_tokens`` if ``is_hybrid_reasoning``.
    :ivar wants_strict_json: JSON mode improves the output of this model.
    :ivar enforces_schema: the server keeps a JSON Schema while it generates, so that output is constrained in every tier.
    :ivar supports_prefix_cache: the provider discounts cached prompt prefixes.
    :ivar input_cost_usd_per_mtok: US dollars per million input tokens, where known.
    :ivar output_cost_usd_per_mtok: US dollars per million output tokens, where known.
    :ivar cached_input_cost_usd_per_mtok: US dollars per million cached input tokens, where known.
    :ivar prompt_variant: name of the prompt variant; ``None`` is the tier's default.
    :ivar first_token_timeout_s: seconds until the first token, and between two tokens of a text; ``None`` is the provider's
        or the tier's limit.
    :ivar chooser: what chooses the tool of a single step: ``model``, the model itself, or the name of a chooser, such as
        ``ranker`` for a model that is worth its time for text, but not for choosing.
    :ivar supports_logprobs: the server returns the log-probabilities of tokens; ``None`` is unknown.
    :ivar evidence: the source of the figures.
    """

    model: str
    tier: Tier = Tier.C
    input_tokens: int = 16_000
    output_tokens: int = 1_500
    max_catalog_bytes: int | None = attrs.field(default=10_000, converter=_no_limit)
    allows_llm_filter: bool = False
    filter_model: str | None = None
    is_hybrid_reasoning: bool = False
    starts_in_reasoning: bool = False
    reasoning_headroom_tokens: int = 0
    wants_strict_json: bool = False
    enforces_schema: bool = False
    supports_prefix_cache: bool = False
    input_cost_usd_per_mtok: float | None = None
    output_cost_usd_per_mtok: float | None = None
    cached_input_cost_usd_per_mtok: float | None = None
    prompt_variant: str | None = None
    first_token_timeout_s: float | None = None
    chooser: str = CHOSEN_BY_MODEL
    supports_logprobs: bool | None = None
    evidence: str = ""

    @property
    def max_tokens(self) -> int:
        """The output limit of a request: ``output_tokens``, plus the headroom of a reasoning model."""
        return self.output_tokens + (self.reasoning_headroom_tokens if self.is_hybrid_reasoning else 0)


@attrs.frozen(kw_only=True)
class TierDefaults:
    """Defaults for the models of one tier; budgets and the configuration override them.

    :ivar tier: contributing the same tier again replaces its defaults.
    :ivar max_catalog_bytes: catalog limit in UTF-8 bytes of a model that the configuration moves to this tier; ``None`` is
        no limit.
    :ivar prompt_variant: name of the prompt variant; empty is the first one of the task.
    :ivar max_entries: maximum number of entries in a ranked selection; 0 is no limit.
    :ivar has_prefix_index: whether a cached prefix lists every entry if the catalog itself does not fit.
    :ivar allows_json_mode: whether JSON mode is requested from models that want it; a server that keeps schemas gets one in any case.
    :ivar continues_typed: whether a truncated typed answer is continued where the server keeps schemas. No schema constrains a
        continuation, so a weak model rarely completes the value.
    :ivar first_token_timeout_s: ``Budget.first_token_timeout_s`` of models in a fallback chain; ``None`` is no limit.
    :ivar reasoning_first_token_timeout_s: the same for reasoning models, some of which stream nothing while they reason.
    """

    tier: Tier
    max_catalog_bytes: int | None = attrs.field(default=None, converter=_no_limit)
    prompt_variant: str = ""
    max_entries: int = 0
    has_prefix_index: bool = True
    allows_json_mode: bool = True
    continues_typed: bool = True
    first_token_timeout_s: float | None = None
    reasoning_first_token_timeout_s: float | None = None
    order: int = 0

    @property
    def name(self) -> str:
        """The tier."""
        return self.tier.value


@attrs.frozen(kw_only=True)
class BudgetRow:
    """A row of the budget table: the budget of every model id that starts with ``prefix``.

    :ivar prefix: prefix of model ids; the longest matching prefix applies. ``""`` is the fallback.
    :ivar providers: other providers that serve the same models, in place of the first part of ``prefix``.
    :ivar order: position in listings; it has no effect on lookups.
    """

    prefix: str
    budget: Budget
    providers: tuple[str, ...] = ()
    order: int = 0

    @property
    def name(self) -> str:
        """The prefix; contributing the same one again replaces the row."""
        return self.prefix


@functools.lru_cache(1024)
def _named(row: BudgetRow) -> BudgetRow:
    """The row with its prefix in its budget; a plugin contributes the same rows to every deck."""
    return attrs.evolve(row, budget=attrs.evolve(row.budget, model=row.prefix))


class BudgetTable:
    """All contributed rows, indexed for longest-prefix lookup.

    >>> from helmdeck_core import Budget, BudgetRow, BudgetTable, Tier
    >>> table = BudgetTable([BudgetRow(prefix="acme/", budget=Budget(model="", tier=Tier.B, evidence="an example"))])
    >>> len(table.rows)
    1
    """

    def __init__(self, rows: Iterable[BudgetRow]) -> None:
        self.rows: tuple[BudgetRow, ...] = tuple(sorted(map(_named, rows), key=lambda row: (row.order, row.prefix)))
        aliases = {f"{name}/{row.prefix.partition('/')[2]}": row for row in self.rows for name in row.providers}
        by_prefix = aliases | {row.prefix: row for row in self.rows}
        self._by_prefix = {prefix.strip().casefold(): row for prefix, row in by_prefix.items()}
        self._lengths = tuple(sorted({len(prefix) for prefix in self._by_prefix}, reverse=True))

    def find(self, model_id: str) -> BudgetRow | None:
        """Return the row with the longest matching prefix, ignoring case; ``None`` without a match.

        The empty prefix of the fallback row matches every id.
        """
        key = model_id.strip().casefold()
        for length in self._lengths:
            if length <= len(key) and (row := self._by_prefix.get(key[:length])) is not None:
                return row
        return None

    def ids(self, name: str, providers: Iterable[str]) -> tuple[str, ...]:
        """Return the ids under which providers serve a model that is named without its provider, by rows for those ids."""
        found: dict[str, tuple[int, str]] = {}
        providers = tuple(providers)
        for provider in providers:
            row = self.find(f"{provider}/{name}")
            vendor, _, model = row.prefix.partition("/") if row is not None else ("", "", "")
            if row is not None and model:
                found[f"{provider}/{name}"] = ((vendor, *row.providers, provider).index(provider), provider)
        direct = sorted(found, key=lambda each: found[each])
        relayed = (f"{provider}/{each}" for provider in providers for each in direct)
        return (*direct, *(each for each in relayed if (row := self.find(each)) and row.prefix.count("/") > 1))


@attrs.frozen
class BudgetLookup:
    """A budget and the source of each field.

    :ivar row: prefix of the matching row; ``""`` for the fallback.
    :ivar sources: source by field name, such as ``row 'acme/large' of plugin 'budgets'``.
    :ivar prompt_variant: the budget's prompt variant, else the default of its tier.
    :ivar asks_for_json: whether JSON is requested by the API, not in words alone.
    :ivar notice: for a model without a row, the limits that apply and the line of the configuration that sets them.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     lookup = deck.budget("acme/large")
    >>> lookup.row, lookup.budget.tier
    ('', <Tier.C: 'C'>)
    """

    budget: Budget
    row: str
    sources: Mapping[str, str]
    prompt_variant: str = ""
    asks_for_json: bool = attrs.field(default=False, kw_only=True)
    notice: str = ""

    @property
    def is_fallback(self) -> bool:
        """Whether only the fallback row matched."""
        return not self.row
