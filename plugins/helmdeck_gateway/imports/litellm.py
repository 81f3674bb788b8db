"""Turns the configuration of a LiteLLM proxy into one of Helmdeck; every setting has an outcome."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from helmdeck_gateway.imports.findings import Finding, Findings
from helmdeck_gateway.imports.litellm_guards import Settings
from helmdeck_gateway.imports.litellm_models import EVERY_MODEL, Connection, Deployment, ModelReader
from helmdeck_gateway.imports.litellm_settings import SettingsReader
from helmdeck_gateway.imports.yaml_source import YamlSource, quoted

FALLBACKS: Final = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "default_fallbacks")


@attrs.frozen(kw_only=True)
class Imported:
    """A configuration.

    :ivar tables: its tables by path; a list of tables for routes.
    :ivar missing: environment variables with the secrets that were not copied.
    """

    tables: Mapping[tuple[str, ...], Any]
    findings: Sequence[Finding]
    missing: Sequence[str]


def import_litellm(path: Path) -> Imported:
    """Read a configuration of LiteLLM.

    :raises UsageError: the file cannot be read.
    """
    findings = Findings(YamlSource.read(path))
    models = ModelReader(findings)
    settings: Settings = {}
    reader = SettingsReader(findings, models, settings)
    deployments = models.read()
    reader.read()
    plan = _Plan(findings, deployments, settings)
    tables = plan.tables(reader.retries)
    return Imported(tables=tables, findings=findings.all(), missing=tuple(dict.fromkeys(models.missing)))


class _Plan:
    def __init__(self, findings: Findings, deployments: Sequence[Deployment], settings: Settings) -> None:
        self._findings, self._source = findings, findings.source
        self._settings = settings
        self._groups: dict[str, list[Deployment]] = collections.defaultdict(list)
        self._routes: dict[tuple[Connection, ...], str] = {}
        self._weights: dict[tuple[Connection, ...], tuple[float, ...]] = {}
        self._prices: dict[str, Mapping[str, float]] = {}
        for each in deployments:
            self._groups[each.group].append(each)

    def tables(self, retries: int | None) -> Mapping[tuple[str, ...], Any]:
        patterns = {name: self._groups.pop(name) for name in list(self._groups) if "*" in name}
        targets = {name: self._targets(rows) for name, rows in self._groups.items()}
        for name, rows in patterns.items():
            self._pattern(name, rows)
        chains = self._chains(targets)
        aliases = {name: self._alias(name, rows, chains.get(name, [])) for name, rows in targets.items()}
        for place, value in self._source.children("router_settings", "model_group_alias"):
            target = value.get("model") if isinstance(value, Mapping) else value
            if target in aliases:
                aliases[str(place[-1])] = aliases[target]
                self._findings.add(place, "carried over", f'[gateway.models] "{place[-1]}"')
            else:
                self._findings.add(place, "left out", "model_list has no such model that was carried over")
        tables: dict[tuple[str, ...], Any] = {}
        first = next((rows[0][0] for rows in targets.values()), "")
        tables[()] = ({"model": first} if first else {}) | self._settings.pop((), {})
        tables |= self._settings
        if retries is not None:
            longest = max((len(value) for value in aliases.values() if isinstance(value, list)), default=1)
            tables.setdefault(("recovery",), {})["max_attempts"] = retries + longest
        simple = {name: value for name, value in aliases.items() if not isinstance(value, Mapping)}
        tables[("gateway", "models")] = simple
        tables |= {
            ("gateway", "models", name): dict(value) for name, value in aliases.items() if isinstance(value, Mapping)
        }
        tables |= dict(self._providers())
        tables |= {("budgets", model): dict(values) for model, values in self._prices.items() if values}
        return {path: values for path, values in tables.items() if values}

    # -- models ------------------------------------------------------------------------------------------------

    def _targets(self, rows: Sequence[Deployment]) -> list[tuple[str, float, float | None]]:
        """The model ids of a group with their weights and orders; servers of the same model become one provider."""
        same: dict[tuple[Any, ...], list[Deployment]] = collections.defaultdict(list)
        for each in rows:
            shared = attrs.evolve(each.connection, base_url="", key="", max_concurrent=None)
            same[shared, each.model, each.order].append(each)
        found: dict[str, tuple[str, float, float | None]] = {}
        for (_, model, order), deployments in same.items():
            weights: dict[Connection, float] = collections.defaultdict(float)
            for deployment in deployments:
                weights[deployment.connection] += deployment.weight
            name = self._provider(tuple(weights), tuple(weights.values()))
            model_id = f"{name}/{model}"
            prices: Mapping[str, float] = next((row.prices for row in deployments if row.prices), {})
            self._prices.setdefault(model_id, prices)
            before = found.get(model_id, ("", 0.0, None))[1]
            found[model_id] = (model_id, before + sum(weights.values()), order)
        return list(found.values())

    def _provider(self, connections: tuple[Connection, ...], weights: tuple[float, ...]) -> str:
        """The name of the provider with these routes; the first one of a kind has the name of the kind, and so its prices."""
        key = tuple(sorted(connections, key=repr))
        if key not in self._routes:
            first = connections[0]
            base = first.kind
            if base == "openai-compatible":
                base = re.sub(r"[^a-z0-9]+", "-", (urlsplit(first.base_url).hostname or "server").lower()).strip("-")
            taken, number, name = set(self._routes.values()), 1, base
            while name in taken:
                number += 1
                name = f"{base}-{number}"
            self._routes[key] = name
            self._weights[key] = tuple(weights[connections.index(each)] for each in key)
        return self._routes[key]

    def _alias(self, name: str, rows: list[tuple[str, float, float | None]], chain: Sequence[str]) -> Any:
        orders = {order for _, _, order in rows}
        ordered = sorted(rows, key=lambda row: (row[2] if row[2] is not None else float("inf"), -row[1]))
        models = list(dict.fromkeys([*(row[0] for row in ordered), *chain]))
        if len(models) == 1:
            return models[0]
        if len(rows) > 1 and not chain and len(orders) == 1:
            return {model: weight for model, weight, _ in rows}
        if len(rows) > 1 and len(orders) == 1:
            place = self._groups[name][0].place
            note = "a chain with fallbacks has an order: the deployments of this model are not balanced, but called in the order of their weights"
            self._findings.add((*place, "model_name"), "approximated", note)
        return models

    def _pattern(self, name: str, rows: Sequence[Deployment]) -> None:
        for each in rows:
            provider = self._provider((each.connection,), (1.0,))
            if name == f"{provider}/*" and each.model == "*":
                self._findings.add((*each.place, "model_name"), "built in", EVERY_MODEL)
            else:
                note = f"clients name these models {provider}/MODEL; write other names in [gateway.models]"
                self._findings.add((*each.place, "model_name"), "action needed", note)

    # -- fallbacks ---------------------------------------------------------------------------------------------

    def _chains(self, targets: Mapping[str, list[tuple[str, float, float | None]]]) -> dict[str, list[str]]:
        """The fallback models of each group, those for all failures first."""
        chains: dict[str, list[str]] = collections.defaultdict(list)
        defaults: list[str] = []
        for setting in FALLBACKS:
            for section in ("router_settings", "litellm_settings"):
                if not isinstance(self._source.at(section, setting) or [], list):
                    self._findings.add((section, setting), "left out", "not a list, such as [{MODEL: [MODEL]}]")
                    continue
                for place, entry in self._source.children(section, setting):
                    if setting == "default_fallbacks":
                        defaults += self._known(place, entry, targets, "after the other fallbacks")
                        continue
                    for where, names in self._source.children(*place):
                        group = str(where[-1])
                        if group not in targets and group != "*":
                            self._findings.add(
                                where, "left out", f"model_list has no model {group[:60]!r} that was carried over"
                            )
                            continue
                        for index, each in enumerate(names if isinstance(names, list) else [names]):
                            leaf = (*where, index) if isinstance(names, list) else where
                            note = (
                                ""
                                if setting == "fallbacks"
                                else "called after every failure that has a fallback, not after this one alone"
                            )
                            found = self._known(leaf, each, targets, note)
                            if group == "*":
                                defaults += found
                            else:
                                chains[group] += found
        for group in targets:
            chains[group] += defaults
        return chains

    def _known(self, place: Any, name: Any, targets: Mapping[str, list[Any]], note: str) -> list[str]:
        if name not in targets if isinstance(name, str) else True:
            self._findings.add(place, "left out", f"model_list has no model {quoted(name)} that was carried over")
            return []
        self._findings.add(place, "approximated" if note else "carried over", note or "the list in [gateway.models]")
        return [row[0] for row in targets[name]]

    # -- providers ---------------------------------------------------------------------------------------------

    def _providers(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        for connections, name in self._routes.items():
            first = connections[0]
            values: dict[str, Any] = {} if name == first.kind else {"kind": first.kind}
            for field in ("timeout_s", "first_token_timeout_s"):
                if (seconds := getattr(first, field)) is not None:
                    values[field] = seconds
            if len(connections) == 1:
                values |= _route(first)
            elif self._source.at("router_settings", "routing_strategy") == "least-busy":
                values["routing"] = "least-busy"
            if values or len(connections) > 1:
                yield ("providers", name), values or {"routing": "weighted"}
            if first.options:
                yield ("providers", name, "options"), dict(first.options)
            if first.headers:
                yield ("providers", name, "headers"), dict(first.headers)
            if len(connections) > 1:
                weights = self._weights[connections]
                yield (
                    ("providers", name, "routes"),
                    [{**_route(each), "weight": weight} for each, weight in zip(connections, weights, strict=True)],
                )


def _route(connection: Connection) -> dict[str, Any]:
    values = {"base_url": connection.base_url, "api_key": connection.key, "max_concurrent": connection.max_concurrent}
    return {name: value for name, value in values.items() if value}
