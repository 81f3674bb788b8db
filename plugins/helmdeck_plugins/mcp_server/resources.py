"""The resources of the server: budgets, models, a routing guide, and what the caller planned before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from helmdeck_core import Entry, Helmdeck, HelmdeckError, Pack
from helmdeck_plugins.mcp_server.entries import wire_name
from helmdeck_plugins.mcp_server.facade import first_sentence

SCHEME = "helmdeck://"

FIXED_TTL_MS = 300_000
"""Milliseconds for which clients may keep what only a new configuration changes."""

CATALOG_TTL_MS = 60_000
"""Milliseconds for which clients may keep what follows the catalog."""

PERSONAL_TTL_MS = 5_000
"""Milliseconds for which clients may keep what follows the calls of the caller."""


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


SHARED: tuple[Resource, ...] = (
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
)
