"""How the keys of known services look, as data: they are redacted wherever text of a provider or a model is quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helmdeck_core import SecretPattern, hookimpl

_PREFIXES: Mapping[str, str] = {
    "sk": "OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot, and Stripe's secret keys",
    "pk": "publishable and project keys",
    "rk": "restricted keys",
    "gsk": "Groq",
    "xai": "xAI",
    "nvapi": "NVIDIA",
    "hf": "Hugging Face",
    "r8": "Replicate",
    "fw": "Fireworks",
}
"""Prefix to the services that use it; a hyphen or an underscore follows, and asterisks where a part is masked."""


@hookimpl
def helmdeck_secret_patterns() -> Sequence[SecretPattern]:
    """The services whose keys have a shape of their own."""
    prefixed = [
        SecretPattern(name=prefix, pattern=rf"\b{prefix}[-_][\w*.\-]{{6,}}", order=number)
        for number, prefix in enumerate(_PREFIXES)
    ]
    return [*prefixed, SecretPattern(name="google", pattern=r"\bAIza[\w\-]{10,}", order=len(prefixed))]
