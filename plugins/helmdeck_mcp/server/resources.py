"""The resources of the server: budgets, models, a routing guide, and what the caller planned before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from helmdeck_core import Entry, Helmdeck, HelmdeckError, Pack
from helmdeck_history import history_of
from helmdeck_mcp.server.entries import wire_name
from helmdeck_mcp.server.facade import first_sentence
from helmdeck_mcp.server.tools import LOCAL_USER, NO_HISTORY

SCHEME = "helmdeck://"

FIXED_TTL_MS = 300_000
"""Milliseconds for which clients may keep what only a new configuration changes."""

CATALOG_TTL_MS = 60_000
"""Milliseconds for which clients may keep what follows the catalog."""

PERSONAL_TTL_MS = 0
"""The same for what follows the calls of the caller: a plan that is forgotten must not be shown again."""


@attrs.frozen(kw_only=True)
class Resource:
    """One resource.

    :ivar is_personal: whether it differs between callers.
    :ivar read: returns the content for a caller; ``None`` is the local user. It may block.
    """

    name: str
    title: str
    description: str
    ttl_ms: int
    is_personal: bool = False
    read: Callable[[Helmdeck, str | None], Mapping[str, Any]]

    @property
    def uri(self) -> str:
        """The URI."""
        return f"{SCHEME}{self.name}"

    def text(self, deck: Helmdeck, caller: str | None) -> str:
        """Return the content as JSON; the order of keys and rows is stable, so that prompts with it can be cached."""
        return json.dumps(self.read(deck, caller), ensure_ascii=False, separators=(",", ":"), default=str)


def _budgets(deck: Helmdeck, caller: str | None) -> Mapping[str, Any]:  # noqa: ARG001
    rows = []
    for lookup in deck.budgets():
        fields = attrs.asdict(lookup.budget, filter=lambda field, value: value not in (None, "", False, field.default))
        fields.pop("model", None)
        rows.append(
            {
                "row": lookup.row or "fallback",
                **fields,
                "tier": lookup.budget.tier.value,
                "prompt_variant": lookup.prompt_variant,
            }
        )
    return {"budgets": sorted(rows, key=lambda row: row["row"])}


def _models(deck: Helmdeck, caller: str | None) -> Mapping[str, Any]:  # noqa: ARG001
    config = deck.runtime.config
    chain = {model for models in config.fallback.values() for model in models}
    names = sorted({config.model, *chain})
    models = []
    for name in names:
        lookup = deck.budget(name)
        models.append(
            {
                "model": name,
                "tier": lookup.budget.tier.value,
                "max_catalog_bytes": lookup.budget.max_catalog_bytes,
                "is_default": name == config.model,
                **({"notice": lookup.notice} if lookup.notice else {}),
            }
        )
    fallback = {prefix or "*": list(chain) for prefix, chain in sorted(config.fallback.items())}
    return {"default": config.model, "models": models, "fallback": fallback, "providers": sorted(config.providers)}


def _routing_guide(deck: Helmdeck, caller: str | None) -> Mapping[str, Any]:  # noqa: ARG001
    guide: dict[str, Any] = {
        "use": "Call helmdeck__plan for a request that may need several tools, helmdeck__route for a single one.",
        "packs": [],
        "pipelines": [],
    }
    try:
        catalog = deck.catalog
    except HelmdeckError as exc:
        packs = [owned.value for owned in deck.runtime.contributed(Pack).values() if owned.value.is_listed]
        rows = [{"name": wire_name(pack.name), "use": first_sentence(pack.description)} for pack in packs]
        return {
            **guide,
            "packs": sorted(rows, key=lambda row: row["name"]),
            "note": f"the catalog is incomplete: {exc}",
        }
    guide["packs"] = sorted((_guide_row(entry, "name") for entry in catalog.packs), key=lambda row: row["name"])
    guide["pipelines"] = sorted((_guide_row(entry, "id") for entry in catalog.pipelines), key=lambda row: row["id"])
    return guide


def _guide_row(entry: Entry, key: str) -> dict[str, Any]:
    row: dict[str, Any] = {key: entry.id, "use": first_sentence(entry.description)}
    return {**row, "supersedes": list(entry.supersedes)} if entry.supersedes else row


def _my_plans(deck: Helmdeck, caller: str | None) -> Mapping[str, Any]:
    history = history_of(deck)
    groups = [group.to_dict() for group in history.plans(caller or LOCAL_USER, limit=MAX_GROUPS)]
    return {"plans": groups, **_note(history.is_enabled, bool(groups))}


def _my_defaults(deck: Helmdeck, caller: str | None) -> Mapping[str, Any]:
    history = history_of(deck)
    defaults = [each.to_dict() for each in history.defaults(caller or LOCAL_USER)]
    return {"defaults": defaults, **_note(history.is_enabled, bool(defaults))}


def _note(is_enabled: bool, has_rows: bool) -> dict[str, str]:
    if has_rows:
        return {}
    return {"note": "nothing is recorded yet" if is_enabled else NO_HISTORY}


MAX_GROUPS = 25

RESOURCES: tuple[Resource, ...] = (
    Resource(
        name="context-budgets",
        title="Context budgets",
        description="What every known model can take: tier, tokens, catalog limit, capabilities and the evidence.",
        ttl_ms=FIXED_TTL_MS,
        read=_budgets,
    ),
    Resource(
        name="routing-guide",
        title="Routing guide",
        description="All packs and pipelines with what each is for.",
        ttl_ms=CATALOG_TTL_MS,
        read=_routing_guide,
    ),
    Resource(
        name="models",
        title="Models",
        description="The default model, the fallback chains and the configured providers.",
        ttl_ms=FIXED_TTL_MS,
        read=_models,
    ),
    Resource(
        name="my-plans",
        title="My plans",
        description="Your earlier plans, grouped by request: how often, with which tools and models.",
        ttl_ms=PERSONAL_TTL_MS,
        is_personal=True,
        read=_my_plans,
    ),
    Resource(
        name="my-defaults",
        title="My defaults",
        description="The values that you usually give to inputs of tools.",
        ttl_ms=PERSONAL_TTL_MS,
        is_personal=True,
        read=_my_defaults,
    ),
)
