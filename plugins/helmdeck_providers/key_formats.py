"""Key formats of known services, as data; keys are redacted in every quotation of a provider or a model."""

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
"""Key prefix to service names; a hyphen or underscore follows, and masked keys may contain asterisks."""


_NO_KEY = r"responses\b"
"""The provider ``xai-responses`` looks like a key."""


@hookimpl
def helmdeck_secret_patterns() -> Sequence[SecretPattern]:
    """Services whose keys have a recognisable format."""
    prefixed = [
        SecretPattern(name=prefix, pattern=rf"\b{prefix}[-_](?!{_NO_KEY})[\w*.\-]{{6,}}", order=number)
        for number, prefix in enumerate(_PREFIXES)
    ]
    return [*prefixed, SecretPattern(name="google", pattern=r"\bAIza[\w\-]{10,}", order=len(prefixed))]
