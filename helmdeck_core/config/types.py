"""The types of the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from helmdeck_core.config.call_types import ChainsConfig as ChainsConfig
from helmdeck_core.config.call_types import RecoveryConfig as RecoveryConfig
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.models import Tier
from helmdeck_core.domain.ranking import CONFIDENCE
from helmdeck_core.redaction import hidden, hidden_texts
from helmdeck_core.secret_places import shown_url, speaks_of_secrets


def _shown_url(url: str | None) -> str:
    return repr(url and shown_url(url))


def is_hidden(path: Sequence[str]) -> bool:
    """Whether the value of a key is never shown, because it or a table that contains it may be a secret.

    >>> from helmdeck_core import is_hidden
    >>> is_hidden(("providers", "acme", "api_key")), is_hidden(("providers", "acme", "base_url"))
    (True, False)
    """
    match tuple(path):
        case ("providers", _) | ("providers", _, "api_key" | "api_keys" | "headers", *_):
            return True
        case ("providers", _, "routes", *names):
            return len(names) < 2 or names[1] in ("api_key", "headers")
        case ("catalog", _, _) | ("catalog", _, _, "headers" | "env" | "args", *_):
            return True
        case (("providers" | "guards"), _, "options", *names) | (("events" | "packs"), "options", _, *names):
            return not names or "headers" in names or any(map(speaks_of_secrets, names))
        case _:
            return False


MAX_SECRET_BYTES = 65_536
"""A larger file contains no API key."""


@attrs.frozen
class SecretRef:
    """A reference to a secret: ``env:NAME`` or ``file:PATH``. The value is read on every use and never stored."""

    kind: str
    target: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"

    def read(self) -> str | None:
        """Return the secret, or ``None`` if the variable is not set or the file cannot be read."""
        import os
        from pathlib import Path

        if self.kind == "env":
            return os.environ.get(self.target) or None
        try:
            path = Path(self.target).expanduser()
            if not path.is_file() or path.stat().st_size > MAX_SECRET_BYTES:  # such as /dev/zero, which has no end
                return None
            return path.read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError, RuntimeError):  # RuntimeError: there is no home directory
            return None


@attrs.frozen(kw_only=True)
class PluginsConfig:
    """Which plugins are used.

    :ivar disable: names of plugins that are not loaded, built-ins included.
    :ivar first: names of plugins that take precedence over all others, highest precedence first.
    :ivar autoload: whether installed plugins are loaded.
    :ivar files: paths of plugins that are single files, relative to the folder of the configuration file.
    :ivar required: names of installed plugins and files that are not left out if they cannot be loaded or fail: the start fails instead.
    :ivar load_timeout_s: seconds for the import of an installed plugin or file, and for each of its hooks at the start.
    """

    disable: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    autoload: bool = True
    files: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    load_timeout_s: float = 15.0


CATALOG_SUFFIXES = (".json", ".toml")


def is_catalog_file(source: str) -> bool:
    """Whether a catalog source is the path of a file, and not the name of a source.

    >>> from helmdeck_core import is_catalog_file
    >>> is_catalog_file("tools.json"), is_catalog_file("acme")
    (True, False)
    """
    return source.lower().endswith(CATALOG_SUFFIXES)


@attrs.frozen(kw_only=True)
class CatalogConfig:
    """Where the catalog comes from.

    :ivar mcp: MCP servers by name, whose tools become entries; the guide "Use the tools of MCP servers" has their keys.
    :ivar sources: names of sources, or paths of JSON or TOML files, relative to the folder of the configuration file;
        later sources override earlier ones by id. With ``mcp``, the default is ``packs`` alone.
    """

    mcp: Mapping[str, Mapping[str, Any]] = attrs.field(default=EMPTY, converter=hidden)
    sources: tuple[str, ...] = attrs.Factory(
        lambda self: ("packs",) if self.mcp else ("example", "packs"), takes_self=True
    )


@attrs.frozen(kw_only=True)
class LadderConfig:
    """How a catalog is trimmed.

    :ivar order: the trim steps that run, in this order; left out: all, in their own order.
    :ivar drop: steps that do not run.
    """

    order: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class CompactionConfig(LadderConfig):
    """The global trim rule, and rules per tier and per prefix of a model id; only the most specific one applies.

    :ivar tiers: rules by tier.
    :ivar models: rules by prefix of a model id.
    """

    tiers: Mapping[Tier, LadderConfig] = attrs.field(factory=dict)
    models: Mapping[str, LadderConfig] = EMPTY


@attrs.frozen(kw_only=True)
class SelectionFields:
    """How entries are selected from a catalog that is too large after trimming: what every rule can set.

    :ivar ranker: the ranker that orders the entries.
    :ivar bare_names: maximum number of further entries that are listed by name only; 0 is none.
    :ivar confidence: a ranking below this confidence is unsure, 0 to 1.
    :ivar shortlist: number of likely entries that follow a cached catalog.
    :ivar filter: whether a filter call reduces an unsure selection; left out: as the model's budget says.
    :ivar prefix_index: whether a cached prefix lists every entry if the catalog itself does not fit; left out: the default
        of the tier.
    :ivar rankers: options of rankers, by the ranker's name.
    """

    ranker: str | None = None
    bare_names: int | None = None
    confidence: float | None = None
    shortlist: int | None = None
    filter: bool | None = None
    prefix_index: bool | None = None
    rankers: Mapping[str, Mapping[str, Any]] = EMPTY


@attrs.frozen(kw_only=True)
class SelectionRule(SelectionFields):
    """A selection rule for a tier or for models; fields that are left out come from the next more general rule.

    :ivar max_entries: maximum number of entries; 0 is no limit.
    """

    max_entries: int | None = None


@attrs.frozen(kw_only=True)
class SelectionConfig(SelectionFields):
    """The global selection rule, and more specific ones.

    :ivar max_entries: maximum number of entries by tier; 0 is no limit; left out: the default of the tier.
    :ivar tiers: rules by tier; each field overrides the global rule.
    :ivar models: rules by prefix of a model id; each field overrides the rules of the tier and of shorter prefixes.
    """

    ranker: str = "lexical"
    max_entries: Mapping[Tier, int] = attrs.field(factory=dict)
    bare_names: int = 0
    confidence: float = CONFIDENCE
    shortlist: int = 8
    tiers: Mapping[Tier, SelectionRule] = attrs.field(factory=dict)
    models: Mapping[str, SelectionRule] = EMPTY


@attrs.frozen(kw_only=True)
class HistoryConfig:
    """The history of plans: hashes, names and values of enumerations, without requests and free-text arguments.

    :ivar url: the store, such as ``sqlite:~/.helmdeck/history.db``; ``off`` disables it. Left out: no history for Python,
        and a file in the user's data directory for the command line.
    :ivar keep_days: days until a record is deleted.
    :ivar secret: reference to the key of the sketches of requests; left out: a file in the user's data directory.
    :ivar project: keeps the records of each caller apart from those of other projects in the same store; ``*`` shares them
        with all projects. Left out: the folder of the configuration file for the default file of the command line, none for a
        ``url``.
    """

    url: str | None = attrs.field(default=None, repr=_shown_url)
    keep_days: float = 30.0
    secret: SecretRef | None = None
    project: str | None = None

    @property
    def is_off(self) -> bool:
        """Whether nothing is recorded."""
        return (self.url or "off").strip().lower() == "off"


@attrs.frozen(kw_only=True)
class PacksConfig:
    """Packs.

    :ivar artifacts: the folder for the files that packs write; left out: a new folder per run in the user's data directory.
    :ivar options: options of packs; the packs contribute the names of the tables and their keys.
    """

    artifacts: str | None = None
    options: Mapping[str, Mapping[str, Any]] = attrs.field(default=EMPTY, converter=hidden)


@attrs.frozen(kw_only=True)
class PipelinesConfig:
    """Pipelines in addition to those of the catalog sources.

    :ivar files: paths of catalog files, relative to the folder of the configuration file.
    :ivar folder: a folder whose ``.toml`` and ``.json`` files are read, too.
    """

    files: tuple[str, ...] = ()
    folder: str | None = None


@attrs.frozen(kw_only=True)
class RunsConfig:
    """Runs of pipelines and agents.

    :ivar engine: ``local`` executes them in this process; ``dbos`` lets other processes continue them.
    :ivar url: the database of their records; left out: that of the history if it is SQLite or PostgreSQL, else memory.
    :ivar keep_days: days until the record of an ended run is deleted.
    :ivar worker_concurrency: maximum number of queued runs at the same time in one worker.
    :ivar global_concurrency: the same for all workers together; left out: no limit.

    >>> from helmdeck_core import Config, RunsConfig
    >>> Config(runs=RunsConfig(keep_days=7)).runs.keep_days
    7
    """

    engine: str = "local"
    url: str | None = attrs.field(default=None, repr=_shown_url)
    keep_days: float = 30.0
    worker_concurrency: int = 8
    global_concurrency: int | None = None


@attrs.frozen(kw_only=True)
class EventsConfig:
    """Event sinks.

    :ivar sinks: names of the sinks that are enabled, such as ``prometheus``. Logging is enabled by ``log_level``.
    :ivar options: options of sinks, by the sink's name.
    """

    sinks: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = attrs.field(default=EMPTY, converter=hidden)


@attrs.frozen(kw_only=True)
class AgentConfig:
    """Limits of the agent loop, and of the continuation of truncated answers.

    :ivar max_steps: maximum number of steps of an agent run; 0 is no limit, as for the next three.
    :ivar max_seconds: seconds of all calls and steps of a run.
    :ivar max_tokens: input and output tokens of all planning calls of a run.
    :ivar max_cost_usd: US dollars of all model calls of a run.
    :ivar policy: by id of an entry, or its start followed by ``*``: ``allow`` runs it without a confirmation, ``confirm``
        always asks, ``deny`` never runs it. Left out: entries that are annotated as read-only need no confirmation.
    :ivar continuation_max_attempts: maximum number of continuations of one answer; 0 is none.
    :ivar continuation_max_total_completion_tokens: maximum output tokens of one answer with its continuations; 0 is four
        times the first output limit.
    :ivar continuation_max_output_chars: characters of an answer after which it is not continued.
    :ivar continuation_tool_repair_attempts: maximum number of requests for truncated tool calls; counted separately.
    """

    max_steps: int = 20
    max_seconds: float = 600.0
    max_tokens: int = 0
    max_cost_usd: float = 0.0
    policy: Mapping[str, Literal["allow", "confirm", "deny"]] = EMPTY
    continuation_max_attempts: int = 3
    continuation_max_total_completion_tokens: int = 0
    continuation_max_output_chars: int = 120_000
    continuation_tool_repair_attempts: int = 1


@attrs.frozen(kw_only=True)
class HttpConfig:
    """HTTP settings of all providers.

    :ivar transport: the default transport; left out: the one with the lowest order, ``httpx``.
    """

    transport: str | None = None


@attrs.frozen(kw_only=True)
class RouteConfig:
    """One API key or server of a provider; fields that are left out come from the provider.

    :ivar base_url: the URL of the server.
    :ivar api_key: reference to the API key: ``env:NAME`` or ``file:PATH``.
    :ivar headers: sent with every request, those of a route besides those of the provider; always redacted.
    :ivar weight: share of the requests of a route, relative to the other routes; left out: 1.
    :ivar max_concurrent: maximum number of requests at the same time, per route; left out: no limit.
    """

    base_url: str | None = attrs.field(default=None, repr=_shown_url)
    api_key: SecretRef | None = None
    headers: Mapping[str, str] = attrs.field(default=EMPTY, converter=hidden_texts)
    weight: float | None = None
    max_concurrent: int | None = None


@attrs.frozen(kw_only=True)
class ProviderConfig(RouteConfig):
    """One provider; fields that are left out come from the plugin that contributes ``kind``, or from ``ProviderSettings``.

    :ivar kind: the contributed provider; left out: the name of the table.
    :ivar first_token_timeout_s: seconds until the first token of a model, and between two tokens of a text; left out: that
        of the model's tier, if the model is part of a fallback chain.
    :ivar transport: the HTTP transport; left out: ``[http] transport``.
    :ivar options: options of this kind of provider.
    :ivar api_keys: references to several API keys, instead of ``routes`` that differ in the key alone.
    :ivar routes: several API keys or servers that serve the same models.
    :ivar routing: how a route is chosen; left out: ``weighted``.
    """

    kind: str | None = None
    timeout_s: float | None = None
    connect_timeout_s: float | None = None
    idle_timeout_s: float | None = None
    first_token_timeout_s: float | None = None
    max_response_bytes: int | None = None
    transport: str | None = None
    options: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)
    api_keys: tuple[SecretRef, ...] = ()
    routes: tuple[RouteConfig, ...] = ()
    routing: str | None = None

    @property
    def by_route(self) -> tuple[ProviderConfig, ...]:
        """The same provider once per route, with the fields of that route; itself without any."""
        routes = self.routes or tuple(RouteConfig(api_key=key) for key in self.api_keys) or (RouteConfig(),)
        tables = [attrs.asdict(route, recurse=False, filter=lambda _, value: value is not None) for route in routes]
        return tuple(attrs.evolve(self, **{**each, "headers": {**self.headers, **each["headers"]}}) for each in tables)


@attrs.frozen(kw_only=True)
class BudgetConfig:
    """Fields of ``Budget`` that override those of the table.

    :ivar tier: A, B or C; another tier brings its own catalog limit and prompt variant, unless they are set.
    :ivar max_catalog_bytes: 0 is no limit.

    >>> from helmdeck_core import BudgetConfig, Tier
    >>> BudgetConfig(tier=Tier.C, max_catalog_bytes=6_000).tier
    <Tier.C: 'C'>
    """

    tier: Tier | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    max_catalog_bytes: int | None = None
    allows_llm_filter: bool | None = None
    filter_model: str | None = None
    is_hybrid_reasoning: bool | None = None
    starts_in_reasoning: bool | None = None
    reasoning_headroom_tokens: int | None = None
    wants_strict_json: bool | None = None
    enforces_schema: bool | None = None
    supports_prefix_cache: bool | None = None
    input_cost_usd_per_mtok: float | None = None
    output_cost_usd_per_mtok: float | None = None
    cached_input_cost_usd_per_mtok: float | None = None
    prompt_variant: str | None = None
    first_token_timeout_s: float | None = None
    chooser: str | None = None
    supports_logprobs: bool | None = None
    evidence: str | None = None


@attrs.frozen(kw_only=True)
class Config:
    """The whole configuration.

    :ivar model: the default model.
    :ivar log_level: minimum level of the log lines on standard error; left out: no log.
    :ivar budgets: by prefix of a model id; ``fallback`` for models without a row in the budget table.
    :ivar fallback: fallback models in order, by prefix of a model id; ``""`` for every model.
    :ivar guards: checks of requests and answers, by name; the guide "Guard requests and answers" has their keys.
    :ivar cache: settings of response caches; the guide "Cache answers" has their keys.
    :ivar gateway: settings of ``helmdeck serve``; the guide "Put a gateway in front of your clients" has their keys.

    >>> from helmdeck_core import Config
    >>> Config(model="acme/large").recovery.max_attempts
    8
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
    packs: PacksConfig = PacksConfig()
    pipelines: PipelinesConfig = PipelinesConfig()
    runs: RunsConfig = RunsConfig()
    events: EventsConfig = EventsConfig()
    http: HttpConfig = HttpConfig()
    fallback: Mapping[str, tuple[str, ...]] = EMPTY
    chains: ChainsConfig = ChainsConfig()
    providers: Mapping[str, ProviderConfig] = EMPTY
    budgets: Mapping[str, BudgetConfig] = EMPTY
    guards: Mapping[str, Mapping[str, Any]] = attrs.field(default=EMPTY, converter=hidden)
    cache: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)
    gateway: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)
