"""Other names of a model, for the lookup of its budget: each router, cloud and server spells the id of the same model in its own way.

``names_of`` returns the names that an id may stand for. The rules are general, so that an unknown router is read like a
known one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

VENDORS: Mapping[str, str] = {
    "~anthropic": "anthropic",
    "deepseek-ai": "deepseek",
    "meta": "meta-llama",
    "minimaxai": "minimax",
    "mistral": "mistralai",
    "moonshot": "moonshotai",
    "xai": "x-ai",
    "zai": "z-ai",
    "zai-org": "z-ai",
    "zhipuai": "z-ai",
}
"""Other spellings of vendors."""

FAMILIES: Mapping[str, str] = {
    r"claude-": "anthropic",
    r"(?:chat)?gpt-|o[134](?:-|$)": "openai",
    r"gemini-|gemma-": "google",
    r"llama-": "meta-llama",
    r"(?:mi|mag|mini|code)stral|mixtral|devstral|pixtral": "mistralai",
    r"deepseek-": "deepseek",
    r"qwen-|qwq": "qwen",
    r"kimi-": "moonshotai",
    r"glm-": "z-ai",
    r"grok-": "x-ai",
    r"minimax-": "minimax",
    r"nemotron-": "nvidia",
    r"nova-": "amazon",
    r"hunyuan|hy\d": "tencent",
}
"""The vendor by the start of a model's name, for ids that do not name the vendor."""

_FAMILIES = tuple((re.compile(pattern), vendor) for pattern, vendor in FAMILIES.items())

_CLOUD = re.compile(r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?([a-z][a-z0-9-]*)\.([a-z].*)$")
"""A cloud's id with the vendor, and optionally a region before it: ``us.anthropic.claude-3-haiku-20240307-v1:0``."""

_SPELLINGS = (
    (re.compile(r"(?<=\d)p(?=\d)"), "."),  # v3p3: some URLs allow no dot
    (re.compile(r"^(?:meta-)?llama-?v?(?=\d)"), "llama-"),
    (re.compile(r"^([a-z]{3,})(?=\d)"), r"\1-"),  # qwen2.5, gemma2
    (re.compile(r"(?<=\d)-(?=\d(?:[^\db]|$))"), "."),  # 3-5, but neither a date nor a size such as 8b
    (re.compile(r"(?<=\d):(?=\d)"), "-"),  # a tag with the size, such as :70b
)


def names_of(model_id: str) -> Iterator[tuple[str, ...]]:
    """Return the names that an id in lower case may stand for, the most specific first; each with its other spelling.

    After the id itself come the models behind a route: ``x/vendor/model`` stands for ``vendor/model``, as does
    ``x/us.vendor.model``, and ``x/model`` stands for the model of the vendor whose family has that name.
    """
    parts = model_id.split("/")
    yield _spelled(parts[0], "/".join(parts[1:]))
    for start in range(len(parts) - 1):
        yield _spelled(VENDORS.get(parts[start], parts[start]), "/".join(parts[start + 1 :]))
    name = parts[-1]
    if (match := _CLOUD.match(name)) is not None:
        vendor, name = match.groups()
        yield _spelled(VENDORS.get(vendor, vendor), name)
    respelled = respell(name)
    for pattern, vendor in _FAMILIES:
        if pattern.match(respelled):
            yield _spelled(vendor, name)


def respell(name: str) -> str:
    """Return the name of a model with a dash before its version and a dot in it, such as ``llama-3.3-70b``."""
    for pattern, replacement in _SPELLINGS:
        name = pattern.sub(replacement, name)
    return name


def _spelled(vendor: str, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((f"{vendor}/{name}", f"{vendor}/{respell(name)}")))
