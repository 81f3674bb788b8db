"""Helmdeck's configuration of the model: what the product itself proposes for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLAIN: Mapping[str, Any] = {
    "tier": "B",
    "wants_strict_json": True,
    "prompt_variant": "single_pick",
    "max_catalog_bytes": 4_000,
    "output_tokens": 400,
    "input_tokens": 6_000,
}
"""The row of a small model whose server takes a JSON Schema."""
