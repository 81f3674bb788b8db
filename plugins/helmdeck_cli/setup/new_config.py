"""The configuration file that ``helmdeck init`` writes: as few settings as the chosen model needs, and never an API key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import msgspec

from helmdeck_core import ModelId, ProviderSpec
from helmdeck_core.cli import UsageError

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

HEAD = """\
# Written by `helmdeck init`. `helmdeck config sample` shows more settings, `helmdeck config check` finds mistakes.
"""


@attrs.frozen(kw_only=True)
class Choices:
    """What the user chose.

    :ivar model: ``provider/model``.
    :ivar base_url: the URL of the provider's server; empty for that of the provider, or of its variable.
    :ivar api_key: a reference, ``env:NAME`` or ``file:PATH``; empty for the provider's default.
    :ivar catalog: the path of a catalog file; empty for the example catalog.
    """

    model: str
    base_url: str = ""
    api_key: str = ""
    catalog: str = ""


def key_reference(text: str) -> str:
    """Return a reference to an API key, for which the name of a variable is enough.

    :raises UsageError: it is neither; it may be the key itself, so the message does not repeat it.
    """
    text = text.strip()
    kind, colon, target = text.partition(":")
    if not colon and _VARIABLE.fullmatch(text) and text == text.upper():
        return f"env:{text}"
    if (kind == "env" and _VARIABLE.fullmatch(target)) or (kind == "file" and target):
        return text
    raise UsageError(
        "the API key is not written to the configuration: give the name of the environment variable that holds it, such as "
        "OPENAI_API_KEY, or file:PATH"
    )


def needs_url(deck: Helmdeck, model: str) -> bool:
    """Whether the provider of a model has no URL of its own."""
    provider = ModelId.provider_of(model)
    spec = _specs(deck).get(provider)
    configured = deck.runtime.config.providers.get(provider)
    if configured is not None and configured.base_url:
        return False
    return spec is None or (spec.base_url is None and spec.api_key is not None)


def missing_key(deck: Helmdeck, model: str) -> str:
    """Return the variable of the API key that the provider of a model expects and that is not set; empty for none."""
    from helmdeck_cli.checks.configured_providers import all_providers

    name = ModelId.provider_of(model)
    provider = next((each for each in all_providers(deck) if each.name == name), None)
    return provider.key.removeprefix("env:") if provider is not None and provider.key_problem else ""


def plans_only(deck: Helmdeck, model: str) -> bool:
    """Whether the provider of a model serves only some tasks, as the embedded planner does."""
    spec = _specs(deck).get(ModelId.provider_of(model))
    return spec is not None and spec.tasks is not None


def render(deck: Helmdeck, choices: Choices) -> str:
    """Return the text of the file."""
    return HEAD + "\n".join(_lines(deck, choices)) + "\n"


def _lines(deck: Helmdeck, choices: Choices) -> Iterator[str]:
    yield ""
    yield f"model = {_string(choices.model)}"
    provider = ModelId.provider_of(choices.model)
    generic = next((name for name, spec in _specs(deck).items() if spec.is_generic), "")
    # What variables set is written too, since the file is to work without them.
    own = deck.runtime.config.providers.get(provider)
    kind = (own.kind if own else None) or ("" if provider in _specs(deck) else generic)
    base_url = choices.base_url or (own.base_url if own else None) or ""
    api_key = choices.api_key or (str(own.api_key) if own and own.api_key else "")
    settings = {"kind": kind, "base_url": base_url, "api_key": api_key}
    if any(settings.values()):
        yield ""
        yield f"[providers.{provider if _BARE_KEY.fullmatch(provider) else _string(provider)}]"
        yield from (f"{key} = {_string(value)}" for key, value in settings.items() if value)
    if choices.catalog:
        yield ""
        yield "[catalog]"
        yield f"sources = [{_string(choices.catalog)}]"


def _specs(deck: Helmdeck) -> dict[str, ProviderSpec]:
    return {name: owned.value for name, owned in deck.runtime.contributed(ProviderSpec).items()}


def _string(text: str) -> str:
    """A TOML string; basic strings of TOML are those of JSON."""
    return msgspec.json.encode(text).decode()
