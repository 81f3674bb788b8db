"""What a deployment can say, as frozen classes. How it is read and merged is in ``configuring``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.models import Tier
from helmdeck_core.domain.ranking import CONFIDENCE
from helmdeck_core.redaction import hidden, hidden_texts, shown_url, speaks_of_secrets


def _shown_url(url: str | None) -> str:
    return repr(url and shown_url(url))


def is_hidden(path: Sequence[str]) -> bool:
    """Whether what stands under a key is not shown, since it may be a secret, or belong to a table of which one was made."""
    match tuple(path):
        case ("providers", _) | ("providers", _, "api_key" | "headers", *_):
            return True
        case ("providers", _, "options", *names) | ("events", "options", _, *names):
            return not names or any(map(speaks_of_secrets, names))
        case _:
            return False


@attrs.frozen
class SecretRef:
    """A reference to a secret: ``env:NAME`` or ``file:PATH``. The value is read when it is used and never kept."""

    kind: str
    target: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"

    def read(self) -> str | None:
        """Return the secret, or ``None`` when the variable is not set or the file cannot be read."""
        import os
        from pathlib import Path

        if self.kind == "env":
            return os.environ.get(self.target) or None
        try:
            return Path(self.target).expanduser().read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError, RuntimeError):  # the last one is a home that nobody has
            return None


@attrs.frozen(kw_only=True)
class PluginsConfig:
    """Which plugins are used.

    :ivar disable: names that are not loaded, built-ins too.
    :ivar first: names that answer before all others, the most important one first.
    :ivar autoload: whether installed plugins are looked for.
    """

    disable: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    autoload: bool = True


CATALOG_SUFFIXES = (".json", ".toml")


def is_catalog_file(source: str) -> bool:
    """Whether a catalog source is the path of a file, and not the name of a source."""
    return source.lower().endswith(CATALOG_SUFFIXES)


@attrs.frozen(kw_only=True)
class CatalogConfig:
    """Where the catalog comes from.

    :ivar sources: names of sources, or paths of JSON or TOML files, which a configuration file gives from its own folder;
        later ones override by id.
    """

    sources: tuple[str, ...] = ("example", "packs")


@attrs.frozen(kw_only=True)
class LadderConfig:
    """How a catalog is trimmed.

    :ivar order: the trim steps that run, in this order; left out: all, in their own order.
    :ivar drop: steps that do not run.
    """

    order: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class CompactionConfig:
    """The ladder globally, per tier, and per prefix of a model id; the most specific rule that is given counts alone.

    :ivar order: the trim steps that run, in this order; left out: all, in their own order.
    :ivar drop: steps that do not run.
    :ivar tiers: rules by tier.
    :ivar models: rules by prefix of a model id.
    """

    order: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    tiers: Mapping[Tier, LadderConfig] = attrs.field(factory=dict)
    models: Mapping[str, LadderConfig] = EMPTY


@attrs.frozen(kw_only=True)
class SelectionRule:
    """What is said of selection for a tier or for models; what is left out comes from the rule below.

    :ivar ranker: who orders the entries.
    :ivar max_entries: most entries that are kept; 0 is no limit.
    :ivar bare_names: most entries that follow behind those by their names alone; 0 is none.
    :ivar confidence: below this the ranking counts as unsure, 0 to 1.
    :ivar shortlist: how many likely entries stand behind a cached catalog.
    :ivar filter: whether an unsure ranking is settled by a second model call.
    :ivar prefix_index: whether a cached prefix lists every entry when the catalog itself does not fit.
    :ivar rankers: options of rankers, by the ranker's name.
    """

    ranker: str | None = None
    max_entries: int | None = None
    bare_names: int | None = None
    confidence: float | None = None
    shortlist: int | None = None
    filter: bool | None = None
    prefix_index: bool | None = None
    rankers: Mapping[str, Mapping[str, Any]] = EMPTY


@attrs.frozen(kw_only=True)
class SelectionConfig:
    """How entries are chosen when a trimmed catalog is still too large.

    :ivar ranker: who orders the entries.
    :ivar max_entries: most entries that are kept, by tier; 0 is no limit; left out: the default of the tier.
    :ivar bare_names: most entries that follow behind those by their names alone; 0 is none.
    :ivar confidence: below this the ranking counts as unsure, 0 to 1.
    :ivar shortlist: how many likely entries stand behind a cached catalog.
    :ivar filter: whether an unsure ranking is settled by a second model call; left out: as the model's budget says.
    :ivar prefix_index: whether a cached prefix lists every entry when the catalog itself does not fit; left out: the
        default of the tier.
    :ivar rankers: options of rankers, by the ranker's name.
    :ivar tiers: rules by tier; they outrank the ones above, field by field.
    :ivar models: rules by prefix of a model id; the longest prefix outranks the others, and all of them the tier's rule.
    """

    ranker: str = "lexical"
    max_entries: Mapping[Tier, int] = attrs.field(factory=dict)
    bare_names: int = 0
    confidence: float = CONFIDENCE
    shortlist: int = 8
    filter: bool | None = None
    prefix_index: bool | None = None
    rankers: Mapping[str, Mapping[str, Any]] = EMPTY
    tiers: Mapping[Tier, SelectionRule] = attrs.field(factory=dict)
    models: Mapping[str, SelectionRule] = EMPTY


@attrs.frozen(kw_only=True)
class HistoryConfig:
    """What is remembered of plans: hashes and names, no request and no argument.

    :ivar url: where, such as ``sqlite:~/.helmdeck/history.db``; left out: nowhere.
    :ivar keep_days: for how long.
    """

    url: str | None = attrs.field(default=None, repr=_shown_url)
    keep_days: float = 30.0


@attrs.frozen(kw_only=True)
class EventsConfig:
    """Who is told what happens.

    :ivar sinks: names of sinks of plugins that are switched on, such as ``prometheus``. Log lines have a switch of their
        own: ``log_level``.
    :ivar options: options of sinks, by the sink's name.
    """

    sinks: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = attrs.field(default=EMPTY, converter=hidden)


@attrs.frozen(kw_only=True)
class RecoveryConfig:
    """How far a failed call is pursued. What is done about which cause is decided by rules of plugins.

    :ivar max_attempts: how often one call asks for its answer from the beginning, at most.
    :ivar deadline_s: seconds until a call has ended, one way or the other; 0 is no limit.
    :ivar max_cost_usd: once a call has spent this much, it asks only models that are known to cost nothing; nor does it send
        a request whose input alone would go beyond it. What one answer costs may. Left out: no limit.
    :ivar backoff_s: seconds before a provider is asked again that does not say how long to wait; doubles each time.
    :ivar max_wait_s: where a provider asks for a longer wait, it is not waited for.
    :ivar attempt_share: the part of what is left of the deadline that an attempt may take while another model could
        still be asked, 0 to 1.
    :ivar think_share: the part of its time, and of its output limit, that a model may think before it says a word,
        0 to 1.
    :ivar drop_turns: whether the oldest turns of a conversation that is too large for a model may be left out.
    :ivar fallback_on: the causes after which the next model may be asked; left out: those that the rules say.
    :ivar cool_down_after: failures in a row after which a provider rests; 0 is never.
    :ivar cool_down_s: seconds that it rests.
    """

    max_attempts: int = 8
    deadline_s: float = 300.0
    max_cost_usd: float | None = None
    backoff_s: float = 0.5
    max_wait_s: float = 60.0
    attempt_share: float = 0.6
    think_share: float = 0.8
    drop_turns: bool = True
    fallback_on: tuple[str, ...] | None = None
    cool_down_after: int = 3
    cool_down_s: float = 30.0


@attrs.frozen(kw_only=True)
class AgentConfig:
    """How far an answer is pursued that its output limit cut.

    :ivar continuation_max_attempts: continuations of one answer at most; 0 is none.
    :ivar continuation_max_total_completion_tokens: output tokens of one answer with its continuations; 0 is four times
        the first output limit.
    :ivar continuation_max_output_chars: characters of an answer at which nothing more is asked for.
    :ivar continuation_tool_repair_attempts: how often tool calls that were cut are asked for once more; counted apart.
    """

    continuation_max_attempts: int = 3
    continuation_max_total_completion_tokens: int = 0
    continuation_max_output_chars: int = 120_000
    continuation_tool_repair_attempts: int = 1


@attrs.frozen(kw_only=True)
class HttpConfig:
    """How requests reach providers that are served over HTTP.

    :ivar transport: the transport of every provider that names none; left out: the one with the lowest order, ``httpx``.
    """

    transport: str | None = None


@attrs.frozen(kw_only=True)
class ProviderConfig:
    """One provider; whatever is left out comes from the plugin that serves ``kind``.

    :ivar kind: the provider that a plugin contributes; left out: the table's own name.
    :ivar base_url: where it is served.
    :ivar api_key: where its key is kept: ``env:NAME`` or ``file:PATH``.
    :ivar headers: sent with every request; not shown anywhere.
    :ivar timeout_s: limit of a whole request in seconds.
    :ivar connect_timeout_s: limit of connecting in seconds.
    :ivar idle_timeout_s: limit between two pieces of a streamed answer in seconds.
    :ivar max_response_bytes: a larger answer is an error.
    :ivar transport: its HTTP transport; left out: ``[http] transport``.
    :ivar options: keys of the provider's own.
    """

    kind: str | None = None
    base_url: str | None = attrs.field(default=None, repr=_shown_url)
    api_key: SecretRef | None = None
    headers: Mapping[str, str] = attrs.field(default=EMPTY, converter=hidden_texts)
    timeout_s: float | None = None
    connect_timeout_s: float | None = None
    idle_timeout_s: float | None = None
    max_response_bytes: int | None = None
    transport: str | None = None
    options: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)


@attrs.frozen(kw_only=True)
class BudgetConfig:
    """Fields of a budget that a deployment sets; their meaning is that of the budget's own.

    :ivar tier: A, B or C; a tier that is moved brings its own catalog limit and prompt variant, unless they are set.
    :ivar max_catalog_bytes: 0 is no limit.
    """

    tier: Tier | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    max_catalog_bytes: int | None = None
    allows_llm_filter: bool | None = None
    filter_model: str | None = None
    is_hybrid_reasoning: bool | None = None
    reasoning_headroom_tokens: int | None = None
    wants_strict_json: bool | None = None
    supports_prefix_cache: bool | None = None
    input_cost_usd_per_mtok: float | None = None
    output_cost_usd_per_mtok: float | None = None
    cached_input_cost_usd_per_mtok: float | None = None
    prompt_variant: str | None = None
    evidence: str | None = None


@attrs.frozen(kw_only=True)
class Config:
    """Everything that a deployment can say.

    :ivar model: the model that is asked when a caller names none.
    :ivar log_level: write log lines of at least this level to standard error; left out: none.
    :ivar budgets: by prefix of a model id; ``fallback`` for models that no row knows.
    :ivar fallback: by prefix of a model id, ``""`` for every model: the models that are asked when it fails, in order.
    """

    model: str = "local/lexical"
    log_level: str | None = None
    plugins: PluginsConfig = PluginsConfig()
    catalog: CatalogConfig = CatalogConfig()
    compaction: CompactionConfig = CompactionConfig()
    selection: SelectionConfig = SelectionConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    agent: AgentConfig = AgentConfig()
    history: HistoryConfig = HistoryConfig()
    events: EventsConfig = EventsConfig()
    http: HttpConfig = HttpConfig()
    fallback: Mapping[str, tuple[str, ...]] = EMPTY
    providers: Mapping[str, ProviderConfig] = EMPTY
    budgets: Mapping[str, BudgetConfig] = EMPTY
