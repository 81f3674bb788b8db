"""Budgets of known models, as data: tier, token limits, catalog limit and prices by the prefix of the model id.

Figures are from field reports of 2026 and from public boards as they stood in June 2026: BFCL (function calling) and
Aider polyglot (edit-format adherence). Prices are US dollars per million tokens of the same month. A tier rates how reliably
a model follows a structure under load; a deployment with other measurements overrides the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """One row of the table; flags are keys of ``FLAGS``, sizes are tokens and bytes."""

    prefix: str
    tier: str
    input_tokens: int
    output_tokens: int
    cap: int | None
    flags: str
    cached_usd: float | None
    evidence: str


ROWS = (
    Row("local/lexical", "A", 1_000_000, 4_000, None, "", 0.0, "the embedded planner: no model, no network, reads any catalog"),
    Row("scripted/", "A", 1_000_000, 4_000, None, "", 0.0, "scripted replies for tests"),
    Row("anthropic/claude-opus-", "A", 200_000, 8_000, None, "strict cache", 7.5, "flagship; holds structured output under load"),
    Row("anthropic/claude-sonnet-", "A", 200_000, 8_000, None, "strict cache", 1.5, "main working class; holds structured output under load"),
    Row("anthropic/claude-3.7-sonnet", "A", 200_000, 8_000, None, "hybrid strict cache", 1.5, "BFCL 73.24 %, Aider polyglot 84.2 %; its thinking mode emits reasoning blocks"),
    Row("anthropic/claude-haiku-", "A", 200_000, 4_000, None, "strict cache", 0.3, "fastest of its family; fit for the filter pass"),
    Row("anthropic/claude-3.5-sonnet", "A", 200_000, 8_000, None, "strict cache", None, "the sonnet class before 3.7, with 8,192 tokens of output"),
    Row("anthropic/claude-3.5-haiku", "A", 200_000, 4_000, None, "strict cache", None, "the haiku class before 4"),
    Row("anthropic/claude-3-", "A", 200_000, 4_000, None, "strict cache", None, "first releases of the three classes, with 4,096 tokens of output"),
    Row("openai/gpt-4o", "A", 100_000, 4_000, None, "strict cache", 1.25, "BFCL 83.88 %; answers with HTTP errors where others drop silently"),
    Row("openai/gpt-5", "A", 1_050_000, 4_000, None, "strict cache", 0.46, "BFCL 72.92 %, Aider 88.0 %, 91.6 % diff-format adherence"),
    Row("openai/gpt-5-nano", "B", 400_000, 2_000, 22_000, "strict cache filter", None, "policy: the smallest size of a family is one tier below it until measured"),
    Row("openai/o3-mini", "A", 200_000, 4_400, None, "hybrid strict cache", 0.55, "BFCL 84.00 %; reasoning model"),
    Row("openai/gpt-4.1", "A", 1_000_000, 4_000, None, "strict cache", None, "successor of gpt-4o with the same interface; window of the vendor's documentation"),
    Row("openai/gpt-4.1-nano", "B", 1_000_000, 2_000, 22_000, "strict cache filter", None, "policy: the smallest size of a family is one tier below it until measured"),
    Row("openai/gpt-4-turbo", "A", 100_000, 4_000, None, "cache", None, "predecessor of gpt-4o: JSON mode, no schemas"),
    Row("openai/gpt-4", "B", 8_000, 1_500, 12_000, "", None, "predecessor with a window of 8,192 tokens and no JSON mode"),
    Row("openai/gpt-3.5", "B", 16_000, 2_000, 12_000, "", None, "predecessor with a window of 16,385 tokens"),
    Row("openai/gpt-oss-", "C", 128_000, 1_500, 10_000, "hybrid filter", None, "policy: open weights on servers of any quality; conservative until measured"),
    Row("openai/o1", "A", 200_000, 4_400, None, "hybrid strict cache", None, "reasoning model before o3-mini, with the same interface"),
    Row("openai/o1-mini", "B", 128_000, 4_000, 22_000, "hybrid", None, "preview: no JSON mode, no system message"),
    Row("openai/o1-preview", "B", 128_000, 4_000, 22_000, "hybrid", None, "preview: no JSON mode, no system message"),
    Row("openai/o3", "A", 200_000, 4_400, None, "hybrid strict cache", None, "the larger size of o3-mini"),
    Row("openai/o4-mini", "A", 200_000, 4_400, None, "hybrid strict cache", None, "successor of o3-mini with the same interface"),
    Row("google/gemini-2.5-pro", "A", 1_050_000, 4_000, None, "strict cache", 0.125, "BFCL 85.04 %, Aider 99.6 % edit format"),
    Row("google/gemini-2.5-flash", "A", 1_050_000, 2_500, None, "strict cache", 0.075, "BFCL 75.58 %; silent safety drops seen on prompts about running code"),
    Row("google/gemini-2.5-flash-lite", "B", 1_050_000, 2_000, 22_000, "strict cache filter", None, "policy: the smallest size of a family is one tier below it until measured"),
    Row("google/gemini-3", "A", 1_050_000, 4_000, None, "strict cache", None, "successor of 2.5 with the same interface"),
    Row("google/gemini-2.0-flash", "B", 1_000_000, 2_000, 22_000, "strict cache", None, "predecessor of 2.5 flash"),
    Row("google/gemini-1.5-", "B", 1_000_000, 2_000, 22_000, "strict", None, "predecessor of 2.0"),
    Row("google/gemma-2-", "B", 16_000, 1_500, 12_000, "", None, "mid-tier with a small window"),
    Row("google/gemma-", "C", 16_000, 1_500, 10_000, "filter", None, "other releases of the family, from 1 billion parameters; conservative until measured"),
    Row("openrouter/anthropic/claude-", "A", 200_000, 8_000, None, "strict cache", 1.5, "relay of the family"),
    Row("openrouter/openai/gpt-4o", "A", 100_000, 4_000, None, "strict cache", 1.25, "relay of openai/gpt-4o"),
    Row("openrouter/openai/gpt-5", "A", 1_050_000, 4_000, None, "strict cache", 0.46, "relay of openai/gpt-5"),
    Row("openrouter/openai/gpt-5-nano", "B", 400_000, 2_000, 22_000, "strict cache filter", None, "relay of openai/gpt-5-nano"),
    Row("openrouter/openai/o3-mini", "A", 200_000, 4_400, None, "hybrid strict cache", 0.55, "relay of openai/o3-mini"),
    Row("openrouter/google/gemini-2.5-", "A", 1_050_000, 4_000, None, "strict cache", 0.125, "relay of pro and flash"),
    Row("openrouter/google/gemini-2.5-flash-lite", "B", 1_050_000, 2_000, 22_000, "strict cache filter", None, "relay of google/gemini-2.5-flash-lite"),
    Row("meta-llama/llama-3.1-70b", "B", 32_000, 2_000, 22_000, "", None, "mid-tier baseline"),
    Row("meta-llama/llama-3.3-70b", "B", 32_000, 2_000, 22_000, "", None, "mid-tier"),
    Row("meta-llama/llama-3.1-405b", "B", 32_000, 2_000, 22_000, "", None, "the largest size of the mid-tier baseline"),
    Row("meta-llama/llama-4-", "B", 32_000, 2_000, 22_000, "", None, "successor of the mid-tier releases"),
    Row("meta-llama/llama-3-70b", "B", 8_000, 1_500, 12_000, "", None, "the first release of the mid-tier baseline, with a window of 8,192 tokens"),
    Row("meta-llama/llama-3-", "C", 8_000, 1_500, 10_000, "filter", None, "small sizes of the first release, with a window of 8,192 tokens"),
    Row("meta-llama/llama-", "C", 16_000, 1_500, 10_000, "filter", None, "other sizes of the family, from 1 billion parameters; conservative until measured"),
    Row("mistralai/", "B", 32_000, 2_000, 22_000, "strict", None, "trailing commas at high temperature; the native API has a JSON mode"),
    Row("deepseek/deepseek-v4-pro", "B", 1_000_000, 2_000, 22_000, "hybrid cache filter", 0.0145, "BFCL proxy 71.4 %, Aider proxy 74.2 %; cache discount 30 times; serverless time-outs up to 30 minutes seen, so the filter stays on"),
    Row("deepseek/deepseek-v3.2", "B", 128_000, 2_000, 22_000, "cache", 0.0145, "Aider 74.2 %; smaller window than v4"),
    Row("deepseek/deepseek-chat", "B", 128_000, 2_000, 22_000, "cache", 0.0145, "the wider chat family"),
    Row("deepseek/", "B", 64_000, 2_000, 22_000, "cache", None, "other releases of the family, with the smallest window of its API"),
    Row("deepseek/deepseek-r1-distill-", "C", 32_000, 1_500, 10_000, "hybrid filter", None, "reasoning distilled into smaller models of other vendors; conservative until measured"),
    Row("x-ai/grok-", "B", 256_000, 2_000, 22_000, "strict", None, "BFCL proxy 61.38 %, Aider 97.3 % edit format; price step above 128,000 tokens"),
    Row("x-ai/grok-2", "B", 128_000, 2_000, 22_000, "strict", None, "predecessor with a window of 131,072 tokens"),
    Row("x-ai/grok-3", "B", 128_000, 2_000, 22_000, "strict", None, "predecessor with a window of 131,072 tokens"),
    Row("openrouter/auto", "C", 16_000, 1_500, 10_000, "filter", None, "policy: a router may pick any model, so it gets what the weakest takes; raise it where the route is known"),
    Row("openrouter/openrouter/auto", "C", 16_000, 1_500, 10_000, "filter", None, "policy: the same router under its full name"),
    Row("openrouter/openrouter/free", "C", 16_000, 1_500, 10_000, "filter", None, "empty completions on a 35 KB catalog (29.5 s)"),
    Row("nvidia/nemotron-", "C", 16_000, 1_500, 10_000, "filter", None, "2026-06-05, nemotron-3-super-120b-a12b:free: 3 of 6 multi-step plans clean; 2 cut at 600 tokens, 1 reasoning leak (423 tokens, 71 characters visible)"),
    Row("z-ai/glm-", "C", 16_000, 1_500, 10_000, "filter", None, "BFCL 70.85 %; chronic empty completions on the free route (58.0 s)"),
    Row("qwen/qwen-2.5-", "C", 16_000, 1_500, 10_000, "filter", None, "Aider 71.4 %; wraps JSON in fences even in strict mode"),
    Row("qwen/", "C", 32_000, 1_500, 10_000, "filter", None, "later releases until measured"),
    Row("moonshotai/kimi-k2", "C", 256_000, 1_500, 10_000, "hybrid filter", None, "296 s of streaming inside a reasoning block before a 5-minute cut"),
    Row("moonshotai/kimi-", "C", 256_000, 1_500, 10_000, "hybrid filter", None, "later releases until measured"),
    Row("minimax/", "C", 192_000, 1_500, 10_000, "hybrid filter", None, "policy: reasons in the text since m1; conservative until measured"),
    Row("tencent/", "C", 250_000, 1_500, 10_000, "filter", None, "conservative until measured"),
    Row("amazon/nova-", "C", 128_000, 1_500, 10_000, "filter", None, "conservative until measured"),
    Row("", "C", 16_000, 1_500, 10_000, "filter", None, "unknown is untrusted"),
)  # fmt: skip

INPUT_USD: Mapping[str, float] = {
    "anthropic/claude-sonnet-": 3.0,
    "google/gemini-2.5-pro": 1.25,
    "deepseek/deepseek-v4-pro": 0.435,
}
"""US dollars per million uncached input tokens, where a source of the same month has them; used for cache savings."""

FREE_OF_CHARGE = ("local/lexical", "scripted/")
"""Prefixes of models that run in this process."""

PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "google": ("gemini", "vertex"),
    "mistralai": ("mistral",),
    "moonshotai": ("moonshot",),
    "openai": ("openai-responses", "azure", "azure-responses", "azure-deployments"),
    "qwen": ("alibaba",),
    "x-ai": ("xai", "xai-responses"),
    "z-ai": ("zai",),
}
"""The providers that serve the models of a vendor under the vendor's own names."""

OWN_SERVERS = ("llamacpp", "lmstudio", "vllm", "sglang", "ollama", "ollama-openai")
"""Servers whose window is what they were started with, whatever the model allows."""
