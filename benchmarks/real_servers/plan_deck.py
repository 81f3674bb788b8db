"""A catalog of four entries and a deck that plans over it with a tiny model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helmdeck_core import Helmdeck, PromptVariant, hookimpl
from helmdeck_testing import make_deck

CATALOG = {
    "packs": [
        {"name": "web.read", "input_schema": {"properties": {"deep": {"type": "boolean"}}, "required": ["deep"]}},
        {"name": "image.make", "input_schema": {"properties": {"size": {"enum": ["s", "l"]}}, "required": ["size"]}},
        {"name": "clock.now"},
    ],
    "pipelines": [{"id": "read-draw", "metadata": {"inputs": {"width": {"type": "integer"}}}}],
}
IDS = frozenset({"web.read", "image.make", "clock.now", "read-draw"})
CONTEXT = 2048


class Brief:
    """Short prompts that leave room for the response in a small context window."""

    @hookimpl
    def helmdeck_prompt_variants(self) -> Iterable[PromptVariant]:
        """One variant per task."""
        return [
            PromptVariant(task=name, variant="single_pick", instructions="Answer.", render=lambda task: task.request)
            for name in ("plan", "route")
        ]


def planning_deck(
    url: str, folder: Path, *, is_strict: bool = True, output_tokens: int = 1_500, **config: Any
) -> Helmdeck:
    """Return a deck that plans with one request to a model with a context window of ``CONTEXT`` tokens.

    :param folder: directory for the catalog file.
    :param is_strict: decoding is constrained to the schema of a plan.
    """
    source = folder / "catalog.json"
    source.write_text(json.dumps(CATALOG), encoding="utf-8")
    budget: Mapping[str, Any] = {
        "tier": "B",
        "wants_strict_json": is_strict,
        "prompt_variant": "single_pick",
        "input_tokens": 4_000,
        "output_tokens": output_tokens,
        "allows_llm_filter": False,
    }
    settings = {
        "catalog": {"sources": [str(source)]},
        "providers": {"llamacpp": {"base_url": url, "timeout_s": 300}},
        "budgets": {"llamacpp/": budget},
        "agent": {"continuation_max_attempts": 0},
        "recovery": {"max_attempts": 1},
    }
    return make_deck(Brief(), config={**settings, **config})
