"""The sections of a LiteLLM configuration besides its models: routing, limits, the server, callbacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from helmdeck_gateway.imports.findings import Findings, Outcome
from helmdeck_gateway.imports.litellm_guards import GuardReader, Settings
from helmdeck_gateway.imports.litellm_models import ENVIRONMENT, ModelReader
from helmdeck_gateway.imports.yaml_source import Place, quoted

SINKS: Final[Mapping[str, str]] = {"prometheus": "prometheus", "otel": "otel", "opentelemetry": "otel"}
_PERIOD: Final = re.compile(r"(\d{1,6})([smhd])")
_DAYS: Final[Mapping[str, float]] = {"s": 1 / 86_400, "m": 1 / 1_440, "h": 1 / 24, "d": 1.0}

BUILT_IN: Final[Mapping[str, str]] = {
    "drop_params": "fields that a model does not know are left out, and named in x-helmdeck-dropped",
    "modify_params": "requests are adapted to each provider",
    "enable_pre_call_checks": "models whose context window is too small are skipped",
    "background_health_checks": "a circuit breaker watches the calls themselves",
    "health_check_interval": "a circuit breaker watches the calls themselves",
    "proxy_batch_write_at": "spend is settled with each call",
    "disable_retry_on_max_parallel_request_limit_error": "a refused request is not repeated",
    "enable_json_schema_validation": "answers are checked against the schema of their request",
    "disable_hf_tokenizer_download": "nothing is downloaded",
    "store_model_in_db": "models are part of the configuration, which is reloaded when the file changes",
    "add_function_to_prompt": "tools are sent as text to models without tool calls",
}
"""What needs no setting, by the name of the setting."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "alerting": "alert on the metrics of /metrics instead",
    "alerting_threshold": "alert on the metrics of /metrics instead",
    "alerting_args": "alert on the metrics of /metrics instead",
    "max_budget": "limits belong to keys: helmdeck keys create NAME --spend-per-month USD",
    "budget_duration": "limits belong to keys, per day or month: helmdeck keys create NAME --spend-per-day USD",
    "max_internal_user_budget": "limits belong to keys: helmdeck keys create NAME --spend-per-month USD",
    "default_internal_user_params": "limits belong to keys: helmdeck keys create NAME --spend-per-month USD",
    "custom_auth": "write a plugin, or use [gateway.sign_in] for tokens of the company",
    "enable_jwt_auth": "write [gateway.sign_in.NAME] with issuer and audience",
    "litellm_jwtauth": "write [gateway.sign_in.NAME] with issuer, audience, team_claim and role_claim",
    "pass_through_endpoints": "the gateway serves its own endpoints only",
    "key_management_system": "secrets are read from environment variables or files",
    "allowed_routes": "models of a key are limited with helmdeck keys create NAME --models",
    "routing_strategy_args": "routes have a weight, and [providers.NAME] routing",
    "ssl_verify": "certificates are always checked; SSL_CERT_FILE names the certificates of a company",
    "retry_policy": "retries depend on the cause of a failure",
    "allowed_fails_policy": "a circuit opens after cool_down_after failed calls of any cause",
    "success_callback": "", "failure_callback": "", "callbacks": "", "service_callbacks": "",
}  # fmt: skip
"""What has no equivalent, by the name of the setting."""


class SettingsReader:
    """Reads the sections besides ``model_list``.

    :ivar settings: what was carried over.
    :ivar retries: retries of a call; ``None`` for the default.
    """

    def __init__(self, findings: Findings, models: ModelReader, settings: Settings) -> None:
        self._source, self._add = findings.source, findings.add
        self._findings, self._models = findings, models
        self.settings = settings
        self.retries: int | None = None

    def read(self) -> None:
        """Read all sections."""
        for section in ("litellm_settings", "general_settings", "router_settings"):
            for place, value in self._source.children(section):
                self._setting(place, str(place[-1]), value)
        for place, _ in self._source.children("environment_variables"):
            note = f"set the variable {str(place[-1])[:80]} where the gateway is started; its value was not copied"
            self._add(place, "action needed", note)
        guards = GuardReader(self._findings, self._models, self.settings)
        guards.cache()
        guards.guardrails()
        for place, _ in self._source.children("policies"):
            self._add(place, "left out", "keys, teams and models of [guards.NAME] limit a guard")
        for name, note in (
            ("include", "import that file as well, and join the results"),
            ("mcp_servers", "[catalog.mcp] has the MCP servers of plans; the gateway does not serve them to clients"),
            ("callback_settings", "[events.options] has the options of sinks"),
            ("vector_store_registry", "vector stores are not served"),
        ):
            if self._source.at(name) is not None:
                self._add((name,), "left out", note)

    def _setting(self, place: Place, name: str, value: Any) -> None:
        if (handle := self._handlers().get(name)) is not None:
            handle(place, value)
        elif name.endswith(("callbacks", "_callback")):
            self._callbacks(place, value)
        elif name in BUILT_IN:
            self._add(place, "built in", BUILT_IN[name])
        elif name in LEFT_OUT:
            self._add(place, "left out", LEFT_OUT[name])

    def _handlers(self) -> Mapping[str, Callable[[Place, Any], None]]:
        return {
            "num_retries": self._retries, "allowed_fails": self._number("recovery", "cool_down_after", int),
            "cooldown_time": self._number("recovery", "cool_down_s", float), "disable_cooldowns": self._cooldowns,
            "timeout": self._number("recovery", "deadline_s", float, "it limits a call with its retries and fallbacks"),
            "request_timeout": self._number("recovery", "deadline_s", float, "it limits a call with its retries and fallbacks"),
            "global_max_parallel_requests": self._number("gateway", "max_requests", int, "per process"),
            "max_request_size_mb": self._number("gateway", "max_request_bytes", lambda mb: int(mb * 1_000_000)),
            "max_response_size_mb": self._number("gateway", "max_response_bytes", lambda mb: int(mb * 1_000_000)),
            "routing_strategy": self._strategy, "master_key": self._master_key, "database_url": self._database,
            "redis_host": self._redis, "redis_url": self._redis, "redis_port": self._redis, "redis_password": self._redis,
            "set_verbose": self._verbose, "json_logs": self._verbose,
            "maximum_spend_logs_retention_period": self._retention,
        }  # fmt: skip

    def _set(self, table: str, name: str, value: Any) -> None:
        self.settings.setdefault(tuple(table.split(".")), {})[name] = value

    def _number(
        self, table: str, name: str, convert: Callable[[float], float], note: str = ""
    ) -> Callable[[Place, Any], None]:
        def carry(place: Place, value: Any) -> None:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
                self._add(place, "left out", "not a number above 0")
                return
            self._set(table, name, convert(value))
            outcome: Outcome = "approximated" if note else "carried over"
            self._add(place, outcome, f"[{table}] {name}" + (f"; {note}" if note else ""))

        return carry

    def _retries(self, place: Place, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100:
            self._add(place, "left out", "not a number of retries")
            return
        self.retries = value
        self._add(place, "approximated", "[recovery] max_attempts, which counts the attempts of all models of a call")

    def _cooldowns(self, place: Place, value: Any) -> None:
        if value is True:
            self._set("recovery", "cool_down_after", 0)
        self._add(place, "carried over", "[recovery] cool_down_after = 0" if value is True else "")

    def _strategy(self, place: Place, value: Any) -> None:
        if value == "simple-shuffle":
            self._add(place, "carried over", "weights")
        elif value == "least-busy":
            self._add(place, "approximated", "routes of one provider are least-busy; several providers share by weight")
        else:
            note = f"{quoted(value)} is not available: models and routes are chosen by weight; helmdeck chain advise orders chains by cost"
            self._add(place, "approximated", note)

    def _master_key(self, place: Place, _: Any) -> None:
        self._set("gateway", "key", self._models.reference(place, "HELMDECK_MASTER_KEY"))
        outcome: Outcome = "action needed" if "HELMDECK_MASTER_KEY" in self._models.missing else "approximated"
        note = (
            "[gateway] key, of at least 16 characters, without limits; virtual keys are made anew: helmdeck keys create"
        )
        if outcome == "action needed":
            note += "; the secret in the file was not copied: set the environment variable HELMDECK_MASTER_KEY to it"
        self._add(place, outcome, note)

    def _database(self, place: Place, _: Any) -> None:
        self._set("gateway", "store", self._models.reference(place, "HELMDECK_DATABASE_URL"))
        tail = (
            "; the URL in the file was not copied: set HELMDECK_DATABASE_URL"
            if "HELMDECK_DATABASE_URL" in self._models.missing
            else ""
        )
        note = f"[gateway] store; Helmdeck makes its own tables, and keys and spend of LiteLLM are not migrated{tail}"
        self._add(place, "action needed" if tail else "approximated", note)

    def _redis(self, place: Place, _: Any) -> None:
        general = self._source.at("general_settings", "database_url")
        if general is not None:
            self._add(place, "left out", "the store is the database")
            return
        at = self._source.at
        host, port = at("router_settings", "redis_host"), at("router_settings", "redis_port") or 6379
        has_secret = any(at("router_settings", each) is not None for each in ("redis_password", "redis_url"))
        values = (host, str(port))
        if has_secret or any(not isinstance(each, str) or each.startswith(ENVIRONMENT) for each in values):
            self._set("gateway", "store", "env:HELMDECK_STORE")
            if "HELMDECK_STORE" not in self._models.missing:
                self._models.missing.append("HELMDECK_STORE")
            self._add(place, "action needed", "[gateway] store; set HELMDECK_STORE to redis://:PASSWORD@HOST:PORT")
            return
        self._set("gateway", "store", f"redis://{host}:{port}")
        self._add(place, "carried over", "[gateway] store")

    def _verbose(self, place: Place, value: Any) -> None:
        if value is True and place[-1] == "set_verbose":
            self.settings.setdefault((), {})["log_level"] = "DEBUG"
        self._add(place, "carried over" if place[-1] == "set_verbose" else "left out", "log_level; log lines are text")

    def _retention(self, place: Place, value: Any) -> None:
        match = _PERIOD.fullmatch(str(value))
        if match is None:
            self._add(place, "left out", "not a period such as 30d")
            return
        self._set("events.options.requests", "days", max(1.0, int(match[1]) * _DAYS[match[2]]))
        self._add(place, "carried over", "[events.options.requests] days")

    def _callbacks(self, place: Place, value: Any) -> None:
        names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        for index, name in enumerate(names):
            where = (*place, index) if isinstance(value, list) else place
            if isinstance(name, str) and name in SINKS:
                sinks: list[str] = self.settings.setdefault(("events",), {}).setdefault("sinks", [])
                sinks += [SINKS[name]] if SINKS[name] not in sinks else []
                self._add(where, "carried over", f"the sink {SINKS[name]!r} of [events]")
            else:
                note = f"{quoted(name)} has no sink; services that read OpenTelemetry get spans with the sink 'otel'"
                self._add(where, "left out", note)
