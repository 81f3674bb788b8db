"""The response cache and the guardrails of a LiteLLM configuration, as ``[cache]`` and ``[guards]``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helmdeck_gateway.imports.findings import Findings
from helmdeck_gateway.imports.litellm_models import ModelReader
from helmdeck_gateway.imports.yaml_source import Place, quoted

Settings = dict[tuple[str, ...], dict[str, Any]]
"""The tables of a configuration by path."""

STORE: Final = "HELMDECK_CACHE_STORE"
SHARED: Final = "only calls of one caller share answers ([cache] tenant), and those with a temperature above 0 are not stored ([cache] sampled)"
OTHER_STORES: Final[Mapping[str, str]] = {
    "disk": "set [cache] store = \"sqlite:PATH\"",
    "redis-semantic": "install helmdeck-cache-semantic, which is off by default",
    "valkey-semantic": "install helmdeck-cache-semantic, which is off by default",
    "qdrant-semantic": "install helmdeck-cache-semantic, which is off by default",
}  # fmt: skip
STAGES: Final[Mapping[str, str]] = {"pre_call": "request", "during_call": "request", "post_call": "answer"}
ACTIONS: Final[Mapping[str, str]] = {"MASK": "redact", "BLOCK": "block"}
PERSONAL: Final[Mapping[str, str]] = {
    "EMAIL_ADDRESS": "email", "IBAN_CODE": "iban", "CREDIT_CARD": "card", "PHONE_NUMBER": "phone",
    "email": "email", "iban": "iban", "credit_card": "card", "phone": "phone", "us_phone": "phone",
}  # fmt: skip
"""Entities of Presidio and patterns of LiteLLM, by the name that they have here."""
ALWAYS: Final = "LiteLLM applies it where a request or key asks for it, this gateway to all requests; keys, teams and models limit it"


class GuardReader:
    """Reads ``cache``, ``cache_params`` and ``guardrails``."""

    def __init__(self, findings: Findings, models: ModelReader, settings: Settings) -> None:
        self._source, self._add, self._findings = findings.source, findings.add, findings
        self._models, self._settings = models, settings

    # -- the cache -----------------------------------------------------------------------------------------------

    def cache(self) -> None:
        """Read the response cache."""
        section = "litellm_settings"
        place, params = (section, "cache"), (section, "cache_params")
        has_params = self._source.at(*params) is not None
        if self._source.at(*place) is not True:
            if self._source.at(*place) is not None:
                self._add(place, "carried over", "no call is cached unless it asks for it")
            if has_params:
                self._add(params, "left out", "the cache is off")
            return
        kind = self._source.at(*params, "type") or "local"
        if kind not in ("local", "redis"):
            note = OTHER_STORES.get(str(kind), "answers are stored in memory, SQLite or Redis")
            self._add(place, "left out", f"there is no cache of the type {quoted(kind)}: {note}")
            if has_params:
                self._add(params, "left out", "the cache was left out")
            return
        table = self._settings.setdefault(("cache",), {})
        is_off = self._source.at(*params, "mode") == "default_off"
        table["mode"] = "off" if is_off else "on"
        self._add(place, "approximated", f'[cache] mode = "{table["mode"]}"; {SHARED}')
        for each, _ in self._source.children(*params):
            self._add(each, "left out", "[cache] has no such setting")
        for name in ("type", "mode"):
            if self._source.at(*params, name) is not None:
                self._add((*params, name), "carried over", "[cache]")
        if kind == "redis":
            self._redis(params, table)
        ttl = self._source.at(*params, "ttl")
        if isinstance(ttl, int | float) and not isinstance(ttl, bool) and 0 < ttl < 1e9:
            table["ttl_s"] = float(ttl)
            self._add((*params, "ttl"), "carried over", "[cache] ttl_s")
        elif ttl is not None:
            self._add((*params, "ttl"), "left out", "not a number above 0")

    def _redis(self, params: Place, table: dict[str, Any]) -> None:
        host, port = self._source.at(*params, "host"), self._source.at(*params, "port") or 6379
        has_secret = any(self._source.at(*params, name) is not None for name in ("password", "username", "url", "ssl"))
        names_host = isinstance(host, str) and bool(re.fullmatch(r"[\w.-]+", host))  # no reference to a variable
        is_plain = names_host and bool(re.fullmatch(r"\d{1,5}", str(port))) and not has_secret
        if is_plain:
            table["store"] = f"redis://{host}:{port}"
        else:
            table["store"] = f"env:{STORE}"
            self._models.missing.append(STORE)
        for name in ("host", "port", "password", "username", "url", "ssl"):
            if self._source.at(*params, name) is not None:
                note = "[cache] store" if is_plain else f"[cache] store; set {STORE} to redis://:PASSWORD@HOST:PORT"
                self._add((*params, name), "carried over" if is_plain else "action needed", note)

    # -- guardrails ----------------------------------------------------------------------------------------------

    def guardrails(self) -> None:
        """Read the guardrails."""
        for place, item in self._source.children("guardrails"):
            values = item.get("litellm_params") if isinstance(item, Mapping) else None
            values = values if isinstance(values, Mapping) else {}
            kind = values.get("guardrail")
            name = item.get("guardrail_name") if isinstance(item, Mapping) else None
            name = name[:60] if isinstance(name, str) and name else str(kind)
            stages = self._stages(values.get("mode"))
            readers = {
                "presidio": self._presidio, "hide-secrets": self._secrets, "hide_secrets": self._secrets,
                "litellm_content_filter": self._filter,
            }  # fmt: skip
            if not isinstance(kind, str) or kind not in readers:
                note = (
                    f"there is no guard for {quoted(kind)}: a plugin can use the service, with the hook helmdeck_guards"
                )
                self._add(place, "left out", note)
                continue
            if not stages:
                self._add(place, "left out", "a guard checks requests (pre_call, during_call) or answers (post_call)")
                continue
            made = list(readers[kind]((*place, "litellm_params"), name, stages))
            if not made:
                self._add(
                    place,
                    "left out",
                    "nothing that it detects has a guard; use a service, with the hook helmdeck_guards",
                )
                continue
            for each, _ in self._source.children(*place, "litellm_params"):
                if each not in self._findings:
                    self._add(each, "left out", "[guards] has no such setting")
            tables = ", ".join(f"[guards.{each}]" for each in made)
            note = tables if values.get("default_on") is True else f"{tables}; {ALWAYS}"
            self._add(place, "approximated", note)
            for field in ("guardrail", "mode", "default_on"):
                if field in values:
                    self._add((*place, "litellm_params", field), "approximated", tables)

    def _stages(self, mode: Any) -> list[str]:
        modes = mode if isinstance(mode, list) else [mode]
        return list(dict.fromkeys(STAGES[each] for each in modes if isinstance(each, str) and each in STAGES))

    def _guard(
        self,
        name: str,
        kind: str,
        action: str,
        stages: list[str],
        options: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> str:
        """Add a table, under a name that is free."""
        free, number = name, 1
        while ("guards", free) in self._settings:
            number += 1
            free = f"{name}-{number}"
        self._settings[("guards", free)] = {"kind": kind, "when": stages, "action": action, **values}
        for key, value in (options or {}).items():
            if isinstance(value, Mapping):
                self._settings[("guards", free, "options", key)] = dict(value)
            else:
                self._settings.setdefault(("guards", free, "options"), {})[key] = value
        return free

    def _presidio(self, place: Place, name: str, stages: list[str]) -> Iterator[str]:
        parses = self._source.at(*place, "output_parse_pii")
        if parses is not None:
            self._add((*place, "output_parse_pii"), "carried over", "restores")
        entities = self._source.at(*place, "pii_entities_config")
        if isinstance(entities, Mapping):
            rows = [((*place, "pii_entities_config", key), key, action) for key, action in entities.items()]
            yield from self._personal(rows, name, stages, restores=parses is True)
        else:
            yield self._guard(name, "personal_data", "redact", stages, restores=parses is True)

    def _personal(
        self, rows: Sequence[tuple[Place, Any, Any]], name: str, stages: list[str], *, restores: bool
    ) -> Iterator[str]:
        """Add one guard for each action of entities, which are rows of a place, a name and an action."""
        by_action: dict[str, list[str]] = {}
        for place, entity, action in rows:
            found = PERSONAL.get(entity) if isinstance(entity, str) else None
            wanted = ACTIONS.get(action) if isinstance(action, str) else None
            if found is None or wanted is None:
                note = "personal_data detects mail addresses, IBANs, card and phone numbers; the actions are MASK and BLOCK"
                self._add(place, "left out", note)
                continue
            self._add(place, "carried over", f'action = "{wanted}"')
            detected = by_action.setdefault(wanted, [])
            detected += [found] if found not in detected else []
        for action, detected in by_action.items():
            values = {"restores": restores} if action == "redact" else {}
            yield self._guard(name, "personal_data", action, stages, {"detect": detected}, **values)

    def _secrets(self, _: Place, name: str, stages: list[str]) -> Iterator[str]:
        yield self._guard(name, "secrets", "redact", stages, restores=False)

    def _filter(self, place: Place, name: str, stages: list[str]) -> Iterator[str]:
        personal: list[tuple[Place, Any, Any]] = []
        custom: dict[tuple[str, bool], dict[str, str]] = {}
        for at, row in self._source.children(*place, "patterns"):
            row = row if isinstance(row, Mapping) else {}
            if row.get("pattern_type") == "regex" and isinstance(row.get("pattern"), str):
                self._pattern(at, row.get("name"), row["pattern"], row.get("action"), custom, ignores_case=False)
            else:
                personal.append((at, row.get("pattern_name"), row.get("action")))
        for at, row in self._source.children(*place, "blocked_words"):
            row = row if isinstance(row, Mapping) else {}
            if isinstance(word := row.get("keyword"), str) and word:
                self._pattern(at, word, re.escape(word), row.get("action"), custom, ignores_case=True)
            else:
                self._add(at, "left out", "not a keyword")
        yield from self._personal(personal, name, stages, restores=False)
        for (action, ignores_case), patterns in custom.items():
            options: dict[str, Any] = ({"ignores_case": True} if ignores_case else {}) | {"patterns": patterns}
            yield self._guard(name, "patterns", action, stages, options)

    def _pattern(
        self, place: Place, name: Any, pattern: str, action: Any, custom: dict[tuple[str, bool], dict[str, str]], *,
        ignores_case: bool,
    ) -> None:  # fmt: skip
        wanted = ACTIONS.get(action) if isinstance(action, str) else None
        if wanted is None:
            self._add(place, "left out", "the action is neither MASK nor BLOCK")
            return
        patterns = custom.setdefault((wanted, ignores_case), {})
        base = re.sub(r"[^a-z0-9]+", "_", str(name or "").lower()).strip("_")[:30]
        base = base if base[:1].isalpha() else f"pattern_{base}".rstrip("_")
        free, number = base, 1
        while free in patterns:
            number += 1
            free = f"{base}_{number}"
        patterns[free] = pattern
        self._add(place, "carried over", f"the pattern {free} of [guards]; needs pip install 'helmdeck[guards]'")
