"""OpenAI's models, for both of its formats: the model list, and the names of the reasoning models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import ModelInfo
from helmdeck_providers.http.bodies import count, rows, string, table

REASONING_MODELS = ("o1", "o3", "o4-", "gpt-5")
"""OpenAI models that answer 400 to max_tokens, to any temperature and to stop sequences. Sources: the chat completions
reference at platform.openai.com, and the tests of NVIDIA's NeMo Guardrails."""


def read_models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    """Read a model list; each server has its own names for the limits."""
    models = []
    for model in rows(page.get("data")):
        top, meta = table(model.get("top_provider")), table(model.get("meta"))  # OpenRouter; llama.cpp
        limit = count(
            model, "context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"
        ) or count(meta, "n_ctx", "n_ctx_train")
        output = count(model, "max_completion_tokens", "max_output_tokens") or count(top, "max_completion_tokens")
        info = ModelInfo(id=string(model.get("id")), input_tokens=limit or None, output_tokens=output or None)
        models += [info] if info.id else []
    return models, ""
