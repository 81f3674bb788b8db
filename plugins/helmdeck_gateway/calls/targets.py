"""The models behind a client's model name, and the fields of a request that they take."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from helmdeck_core import (
    EMPTY,
    Contribution,
    Helmdeck,
    InvalidRequest,
    Mistake,
    ProviderPool,
    ProviderSpec,
    Runtime,
    did_you_mean,
    nearest_names,
)
from helmdeck_gateway.calls.aliases import Alias, Chain

MAX_NAMES: Final = 1_024
"""Names of models whose targets are kept."""


@attrs.frozen(kw_only=True)
class Target:
    """The models that a request goes to.

    :ivar model: the model id that is called first.
    :ivar families: the plugins that provide the models of the fallback chain, such as ``openai`` or ``anthropic``.
    :ivar fallbacks: the models that are called after it fails; ``None`` for those of ``[fallback]``.
    :ivar models: all models of the fallback chain.
    """

    model: str
    families: frozenset[str]
    fallbacks: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()


class Targets:
    """Resolves model names.

    :param aliases: by the name that clients send.
    """

    def __init__(self, deck: Helmdeck, aliases: Mapping[str, Alias] = EMPTY) -> None:
        self._deck = deck
        self._aliases = dict(aliases)
        self._targets: dict[str, Target] = {}
        self._chosen: dict[Chain, Target] = {}

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The aliases by name."""
        return self._aliases

    def find(
        self, name: str, seed: Callable[[], bytes] | None = None, may_use: Callable[[str], bool] = lambda _: True
    ) -> Target:
        """Return the target for a client's model name; other unknown names fail later, with suggestions.

        :param seed: returns what chooses among models with weights, so that a conversation keeps its model; random by default.
        :param may_use: whether the client sees an alias.
        :raises InvalidRequest: the name is that of no model, and an alias is similar.
        """
        found = self._targets.get(name)
        if found is not None:
            return found
        alias = self._aliases.get(name)
        model = name or self._deck.runtime.config.model
        if alias is None and "/" not in model:  # such as the names that coding agents insist on
            alias = self._aliases.get("*")
            if alias is None:
                self._suggest(model, [each for each in self._aliases if may_use(each)])
        if alias is None or len(alias.chains) == 1:
            found = self._target(Chain(model=model) if alias is None else alias.chains[0])
            if len(self._targets) < MAX_NAMES:  # names come from clients
                self._targets[name] = found
            return found
        chain = alias.choose(_share_of(seed()) if seed is not None else random.random())  # noqa: S311 - no secret
        if chain not in self._chosen:
            self._chosen[chain] = self._target(chain)
        return self._chosen[chain]

    def _suggest(self, name: str, aliases: Sequence[str]) -> None:
        """Raise the failure for a misspelt alias; a model that is named without its provider is not one."""
        if did_you_mean(name, aliases) and "/" not in ProviderPool(self._deck.runtime).registry.full_id(name):
            raise InvalidRequest(
                f"there is no model {name!r}{did_you_mean(name, aliases)}",
                sub_cause="unknown_model",
                detail=f"models with a short name: {nearest_names(name, aliases)}",
            )

    def _target(self, chain: Chain) -> Target:
        models = self._deck.runtime.chain(chain.model, chain.fallbacks)
        families = frozenset(self.family(each) for each in models)
        return Target(model=chain.model, families=families, fallbacks=chain.fallbacks, models=tuple(models))

    def family(self, model: str) -> str:
        """The plugin that provides a model; every wire format is one plugin."""
        spec = self._spec(model)
        return spec.plugin if spec is not None else ""

    def rerank_path(self, model: str) -> str:
        """Return the path of the endpoint that ranks documents; empty for a provider without one."""
        spec = self._spec(model)
        return spec.value.rerank_path if spec is not None else ""

    def _spec(self, model: str) -> Contribution[ProviderSpec] | None:
        provider = model.partition("/")[0].strip()
        runtime = self._deck.runtime
        specs = runtime.contributed(ProviderSpec)
        config = runtime.config.providers.get(provider)
        kind = (config.kind if config else None) or provider
        if kind not in specs and config is not None and config.base_url:
            kind = next((name for name, each in specs.items() if each.value.is_generic), kind)
        return specs.get(kind)


def alias_mistakes(runtime: Runtime, aliases: Mapping[str, Alias]) -> Iterator[Mistake]:
    """Yield a mistake for each model of an alias whose provider does not exist."""
    registry = ProviderPool(runtime).registry
    for name, alias in aliases.items():
        for model in alias.models:
            try:
                registry.check(model)
            except InvalidRequest as exc:
                allowed = f"a model of {', '.join(registry.names)}"
                yield Mistake(f"gateway.models.{name}", exc.headline, repr(model), allowed)


def _share_of(seed: bytes) -> float:
    """A number from 0 to below 1 that depends on the seed alone."""
    return int.from_bytes(hashlib.blake2b(seed, digest_size=6).digest()) / 2**48


def listed(names: Sequence[str]) -> str:
    """Return names as the value of a header."""
    text = ", ".join(dict.fromkeys(names))
    return text.encode("ascii", "backslashreplace").decode()[:2_000].replace("\n", " ").replace("\r", " ")
